"""Results that are written while they are computed, and continued after a stop."""

import contextlib
import hashlib
import itertools
import os

from zoo.files.buckets import send
from zoo.files.state_files import read_state
from zoo.files.whole_files import ADVICE, FULL_DISK, write_json

RECORD = {"model": str, "rows": int, "bytes": int, "texts": str}


class WrittenPart:
    """What is written so far, in a file and a record beside the output.

    The file is called OUTPUT.part, and the record OUTPUT.part.json. Texts whose results
    are written already are skipped.

    Args:
        output: pathlib.Path of the result.
        what: str, what the file has, such as "vectors".
        model: str that identifies the model, such as a hash of its weights.
        texts: iterator of str, all texts.
        header: bytes at the beginning of the file.

    Attributes:
        state: dict of model, rows (int, how many texts are done), bytes and texts.

    Raises:
        ValueError: if there is a part of other texts or of another model.
    """

    def __init__(self, output, what, model, texts, header=b""):
        output.parent.mkdir(parents=True, exist_ok=True)
        self.output, self.what = output, what
        self.path = output.with_name(f"{output.name}.part")
        self.record = output.with_name(f"{output.name}.part.json")
        self.digest = hashlib.sha256()
        self.state = {"model": model, "rows": 0, "bytes": len(header)}
        if not (self.record.exists() and self.path.is_file()):
            self.record.unlink(missing_ok=True)  # before there are no results for it
            self.path.write_bytes(header)
            return
        advice = "Remove it to start again."
        stored = read_state(self.record, f"a record of {what}", RECORD, advice)
        size = stored["bytes"]
        complete = len(header) <= size <= self.path.stat().st_size
        complete = complete and 0 <= stored["rows"] <= size  # a result has a byte
        if complete:
            self._count(itertools.islice(texts, stored["rows"]))
            self.state["bytes"] = size
        if not complete or stored != self.state:
            raise ValueError(
                f"{self.path} has {what} of other texts or of another model, or is "
                f"damaged. Received: {stored['rows']} {what}. Remove {self.record} to "
                "start again."
            )
        os.truncate(self.path, size)

    def add(self, texts, content):
        """Writes the results of texts as bytes, and then what is needed to continue."""
        self.check_size()
        with self.path.open("ab") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        self._count(texts)
        self.state["bytes"] += len(content)
        write_json(self.record, self.state)

    def check_size(self):
        """Raises ValueError if the file does not have exactly what was written."""
        size = self.path.stat().st_size if self.path.exists() else 0
        if size != self.state["bytes"]:
            raise ValueError(
                "Only one program may write a file. Received: another one that writes "
                f"{self.path}. Stop one of them, remove {self.record}, and start again."
            )

    def complete(self):
        """Makes the file the output, and sends it to the bucket if it is in one."""
        send(self.path, self.output)
        os.replace(self.path, self.output)
        self.remove()

    def remove(self):
        """Removes both files, once the output is complete."""
        self.path.unlink(missing_ok=True)
        self.record.unlink(missing_ok=True)

    def _count(self, texts):
        """Adds texts to the state."""
        for text in texts:
            encoded = text.encode("utf-8", "surrogatepass")
            self.digest.update(len(encoded).to_bytes(8) + encoded)
            self.state["rows"] += 1
        self.state["texts"] = self.digest.hexdigest()


@contextlib.contextmanager
def full_disk_explained(output, what):
    """Adds to the error of a full disk that the results so far are kept."""
    try:
        yield
    except OSError as error:
        if error.errno not in FULL_DISK:
            raise
        raise OSError(
            error.errno,
            f"{os.strerror(error.errno)} while writing {output}. {output}.part keeps "
            f"the {what} so far, and the same call continues. {ADVICE[error.errno]}",
        ) from error
