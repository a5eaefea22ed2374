"""Vectors of any number of texts, written to a file while they are computed."""

import contextlib
import hashlib
import itertools
import json
import os
import pathlib

import keras
import numpy as np

from zoo.checks.number_rules import numbers_checked
from zoo.files.path_checks import check_writable
from zoo.files.state_files import read_state
from zoo.files.whole_files import ADVICE, FULL_DISK, write_json
from zoo.programs.vectors.model_and_texts import load_model, paths_in, read_strings
from zoo.tasks import TextEmbedder

TEXTS_IN_BLOCK, CHARACTERS_IN_BLOCK = 4096, 2**24  # after which a block ends
HEADER_BYTES = 128  # bytes of the header of a .npy file
RECORD = {"model": str, "rows": int, "texts": str}


@numbers_checked()
def embed(
    texts, preset, layers=None, pooling=None, output=None, *, batch_size=None,
    verbose=1, **options,
):  # fmt: skip
    """Computes a vector for each text, for any number of texts.

    Without `output`, all vectors are in memory. With it, they are written to a file
    while they are computed, and only a block of texts is in memory. If it is stopped,
    the same call continues after the last block. Until the end, the vectors are in
    files beside `output`, whose names end in `.part` and `.part.json`.

    Args:
        texts: list or iterator of str; or a `pathlib.Path` of a text file, or a list of
            them, whose lines are the texts. Files are UTF-8, plain, `.gz` or `.xz`.
        preset: see `zoo.from_preset`; or a `zoo.TextEmbedder`.
        layers, pooling: see `zoo.TextEmbedder`; by default those of the preset.
        output: path of the `.npy` file to write, or None.
        batch_size: int, texts that the model reads together, 32 by default.
        verbose: int, 1 for a progress bar, 0 for none.
        **options: of `zoo.from_preset`, such as normalize, sequence_length and dtype.

    Returns:
        float32 (N, D), a numpy array; with `output` a `numpy.memmap` of the file.

    Raises:
        FileNotFoundError, IsADirectoryError: if there is no such text file.
        TypeError: if `texts` is one str, or a text is not a str.
        ValueError: if the output is not a `.npy` file, options are given for a model,
            or there are vectors of other texts or of another model to continue.
    """
    _check_output(output)
    listed = isinstance(texts, (list, tuple)) and not paths_in(texts)
    total = len(texts) if listed else None  # for the progress bar
    texts = read_strings(texts)
    options |= {"layers": layers, "pooling": pooling}
    options = {name: value for name, value in options.items() if value is not None}
    model = load_model(preset, options, TextEmbedder, TextEmbedder.task_name)
    bar = keras.utils.Progbar(total, unit_name="text", verbose=verbose)
    if output is None:
        found = [np.zeros((0, model.output_shape[-1]), "float32")]
        for block in _blocks(texts):
            found.append(model.predict(block, batch_size, verbose=0))
            bar.add(len(block))
        return np.concatenate(found)
    with _full_disk_explained(output):
        part = _Part(pathlib.Path(output), model, texts)
        bar.add(part.state["rows"])
        for block in _blocks(texts):
            part.add(block, model.predict(block, batch_size, verbose=0))
            bar.add(len(block))
        part.finish()
    return np.load(output, mmap_mode="r")


def _check_output(output):
    if output is not None:
        if pathlib.Path(output).suffix != ".npy":
            raise ValueError(f"`output` must end in .npy. Received: {str(output)!r}.")
        check_writable(output)


@contextlib.contextmanager
def _full_disk_explained(output):
    """Adds to the error of a full disk that the vectors so far are kept."""
    try:
        yield
    except OSError as error:
        if error.errno not in FULL_DISK:
            raise
        raise OSError(
            error.errno,
            f"{os.strerror(error.errno)} while writing {output}. {output}.part keeps "
            f"the vectors so far, and the same call continues. {ADVICE[error.errno]}",
        ) from error


def _blocks(texts):
    """Lists of texts whose sizes are bounded."""
    block, size = [], 0
    for text in texts:
        block.append(text)
        size += len(text)
        if len(block) == TEXTS_IN_BLOCK or size >= CHARACTERS_IN_BLOCK:
            yield block
            block, size = [], 0
    if block:
        yield block


class _Part:
    """The vectors that are written so far, in a file and a record beside the output.

    Texts whose vectors are written already are skipped; `texts` is an iterator.
    """

    def __init__(self, output, model, texts):
        output.parent.mkdir(parents=True, exist_ok=True)
        self.output = output
        self.path = output.with_name(f"{output.name}.part")
        self.record = output.with_name(f"{output.name}.part.json")
        self.width = model.output_shape[-1]
        self.digest = hashlib.sha256()
        self.state = {"model": _fingerprint(model), "rows": 0}
        if not (self.record.exists() and self.path.is_file()):
            self.record.unlink(missing_ok=True)  # before there are no vectors for it
            with self.path.open("wb") as file:
                self._write_header(file)
            return
        advice = "Remove it to start again."
        stored = read_state(self.record, "a record of vectors", RECORD, advice)
        size = self._size(stored["rows"])
        complete = HEADER_BYTES <= size <= self.path.stat().st_size
        if complete:
            self._count(itertools.islice(texts, stored["rows"]))
        if not complete or stored != self.state:
            raise ValueError(
                f"{self.path} has vectors of other texts or of another model, or is "
                f"damaged. Received: {stored['rows']} vectors. Remove {self.record} to "
                "start again."
            )
        os.truncate(self.path, size)

    def add(self, texts, vectors):
        """Writes the vectors of a block, and then what is needed to continue."""
        self._check_size()
        with self.path.open("ab") as file:
            file.write(np.ascontiguousarray(vectors, "<f4").tobytes())
            file.flush()
            os.fsync(file.fileno())
        self._count(texts)
        write_json(self.record, self.state)

    def finish(self):
        """Completes the header, and gives the file its name."""
        self._check_size()
        with self.path.open("r+b") as file:
            self._write_header(file)
        os.replace(self.path, self.output)
        self.record.unlink(missing_ok=True)

    def _write_header(self, file):
        """Writes a `.npy` header. Its length does not depend on the number of rows."""
        shape = self.state["rows"], self.width
        about = {"descr": "<f4", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, about)

    def _count(self, texts):
        """Adds texts to the state."""
        for text in texts:
            encoded = text.encode("utf-8", "surrogatepass")
            self.digest.update(len(encoded).to_bytes(8) + encoded)
            self.state["rows"] += 1
        self.state["texts"] = self.digest.hexdigest()

    def _size(self, rows):
        """The bytes of a file with so many vectors."""
        return HEADER_BYTES + 4 * self.width * rows

    def _check_size(self):
        """Raises ValueError if the part does not have exactly our vectors."""
        size = self.path.stat().st_size if self.path.exists() else 0
        if size != self._size(self.state["rows"]):
            raise ValueError(
                "Only one program may write a file. Received: another one that writes "
                f"{self.path}. Stop one of them, remove {self.record}, and start again."
            )


def _fingerprint(model):
    """A hash of all that the vectors of a model depend on, str."""
    config = {**model.get_config(), "name": None}
    digest = hashlib.sha256(json.dumps(config, sort_keys=True).encode())
    for array in model.get_weights():
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
