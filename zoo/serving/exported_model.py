"""Answers of an export, without Keras and without TensorFlow for Python."""

import hashlib
import re
import threading

import numpy as np

from zoo.checks.number_rules import numbers_checked
from zoo.checks.ranges import Positive, check_values
from zoo.serving.answer_rows import join_rows
from zoo.serving.answers import advise
from zoo.serving.changes import read_facts
from zoo.serving.graph import SavedGraph
from zoo.serving.lint import DEFAULT_SIGNATURE
from zoo.serving.session import Loader, Request
from zoo.serving.versions import find_version

BATCH_SIZE = 32
TIMEOUT = 300
SURROGATES = re.compile("[\ud800-\udfff]")  # halves of pairs, which have no UTF-8
WRITTEN_LATER = "assets.extra"  # the folder whose files change no answer


class ExportedModel:
    """A version of an export, which a process of TensorFlow's C library answers.

    The process loads the model as TensorFlow Serving does, and uses the CPU. It starts
    with the first request. It ends with `close`, or at the end of a `with` block.
    Threads may share an object; their requests wait for each other.

    Args:
        directory: path of a version directory, or of a directory of versions. In the
            second case the newest version answers.
        signature: str, the name of the signature.
        timeout: int or float, seconds for loading, and for each request.

    Attributes:
        version: pathlib.Path of the version.
        columns: tuple of str, the inputs, in the order of the task that was exported.
            Those of other exports are sorted.
        outputs: tuple of str, the names of the answers.
        padded: tuple of str, the outputs (B, W) whose rows end in padding.
        facts: dict, see `zoo.serving.changes.facts_file`; empty for other exports.

    Raises:
        FileNotFoundError: if there is no SavedModel, or TensorFlow is not installed.
        ValueError: if there is no such signature, or saved_model.pb is damaged.

    Example:
        with zoo.serving.ExportedModel("exports/sentiment") as model:
            model.answer(["what a film"])["label"]
    """

    def __init__(self, directory, signature=DEFAULT_SIGNATURE, timeout=TIMEOUT):
        check_values(Positive, timeout=timeout)
        self.version = find_version(directory)
        self._graph = SavedGraph(self.version)
        signatures = self._graph.signatures
        if signature not in signatures:
            raise ValueError(
                f"{self.version} has the signatures {sorted(signatures)}. "
                f"Received: {signature!r}. Use one of these names."
            )
        self.signature, self._ends = signature, signatures[signature]
        self.facts = read_facts(self.version)
        columns = self.facts.get("columns", ())
        if {*columns} != {*self._ends.inputs}:
            columns = sorted(self._ends.inputs)
        self.columns, self.outputs = tuple(columns), tuple(self._ends.outputs)
        shapes = {name: end.shape for name, end in self._ends.outputs.items()}
        padded = self.facts.get("padded", ())
        self.padded = tuple(n for n in padded if len(shapes.get(n) or ()) == 2)
        self._timeout, self._loader = timeout, None
        self._lock = threading.Lock()  # one request at a time

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def close(self):
        """Ends the process, if it has started."""
        if self._loader:
            self._loader.close()
            self._loader = None

    @numbers_checked()
    def answer(self, texts, batch_size=None):
        """The answers to texts; see `zoo.tasks.Task.answer`.

        Args:
            texts: list, array or series of str or bytes; or for several inputs a tuple
                of them, in the order of `columns`. An empty list has no rows.
            batch_size: int, the number of texts of a request, 32 by default. Texts of
                similar length are sent together.

        Returns:
            dict of numpy arrays (B, ...); strings as str objects.

        Raises:
            TypeError: if `texts` is one string, or not text.
            ValueError: if the number of columns or their lengths are wrong, or the
                model does not answer.
        """
        self.check_takes_texts()
        columns = read_columns(texts, self.columns)
        lengths = [-sum(map(len, row)) for row in zip(*columns, strict=True)]
        order = np.argsort(lengths, kind="stable")
        size, parts = batch_size or BATCH_SIZE, []
        for start in range(0, max(len(order), 1), size):
            rows = order[start : start + size].tolist()
            named = zip(self.columns, columns, strict=True)
            parts.append(self.request({n: [c[row] for row in rows] for n, c in named}))
            for name, array in parts[-1].items():
                self._check_rows(name, array, len(rows), parts[0][name])
        return join_rows(parts, np.argsort(order))

    def request(self, inputs):
        """The answer to one request.

        Args:
            inputs: dict of the name of an input to its array. Strings have dtype
                object, or are a list.

        Returns:
            dict from output name to numpy array. Strings are str objects.

        Raises:
            ValueError: if the inputs are unknown, or the model does not answer.
        """
        if {*inputs} != {*self._ends.inputs}:
            raise ValueError(
                f"Signature {self.signature!r} takes {sorted(self._ends.inputs)}. "
                f"Received: {sorted(inputs)}. Give exactly these inputs."
            )
        arrays = {
            name: np.array(value, object) if isinstance(value, list) else value
            for name, value in inputs.items()
        }
        with self._lock:
            if self._loader is None:
                self._loader = Loader(self.version, self._graph, self._timeout)
            answer = self._loader.run(Request(self._ends, arrays))
        if answer is None or answer.error:
            reason = advise(answer.error if answer else self._loader.error)
            raise ValueError(
                f"The model must answer the request. Received: no answer from "
                f"{self.version}: {reason}. `zoo.serving.diagnose` may say more."
            )
        return {name: decoded(array) for name, array in answer.outputs.items()}

    def check_takes_texts(self):
        """Raises ValueError unless all inputs of the signature are strings."""
        types = {name: end.dtype for name, end in self._ends.inputs.items()}
        if {*types.values()} != {"string"}:
            raise ValueError(
                "A signature that answers texts must take strings only. Received: "
                f"{self.signature!r}, which takes {types}. Use {DEFAULT_SIGNATURE!r}, "
                "or `ExportedModel.request` with arrays."
            )

    def fingerprint(self):
        """A hash of all that the answers depend on, str."""
        digest = hashlib.sha256(self.signature.encode())
        for path in sorted(self.version.rglob("*")):
            name = path.relative_to(self.version)
            if path.is_file() and name.parts[0] != WRITTEN_LATER:
                content = hashlib.sha256(path.read_bytes()).hexdigest()
                digest.update(f"{name.as_posix()} {content}\n".encode())
        return digest.hexdigest()

    def _check_rows(self, name, array, count, first):
        """Raises ValueError unless an output has rows that can be joined."""
        fits = array.ndim > 0 and len(array) == count
        if not fits or name not in self.padded and array.shape[1:] != first.shape[1:]:
            raise ValueError(
                "Every output must have a row for each text, and rows of one shape. "
                f"Received: {name!r} of the shape {array.shape} for {count} texts, and "
                f"{first.shape} before. Use `request`, which sends all texts at once."
            )


def read_columns(texts, names):
    """Texts as lists of str, one for each name, checked."""
    columns = texts if isinstance(texts, tuple) else (texts,)
    columns = [_read_column(column) for column in columns]
    sizes = [len(column) for column in columns]
    if len(columns) != len(names) or len({*sizes}) > 1:
        raise ValueError(
            f"There must be a text for each of {list(names)} in every row. Received: "
            f"{len(columns)} columns of the lengths {sizes}. Give a tuple of lists."
        )
    return columns


def _read_column(column):
    listed = isinstance(column, list) or hasattr(column, "tolist")
    found = column if isinstance(column, list) else listed and column.tolist()
    wrong = [text for text in found or () if not isinstance(text, (str, bytes))]
    if not isinstance(found, list) or wrong:
        received = wrong[0] if wrong else column
        raise TypeError(
            "Texts must be a list of strings, or a tuple of such lists. Received: "
            f"{received!r:.80}. Put a single text in a list."
        )
    return [
        SURROGATES.sub("\ufffd", text) if isinstance(text, str) else text
        for text in found
    ]


def decoded(array):
    """An array of UTF-8 as one of str; any other array does not change."""
    if array.dtype != object:
        return array
    texts = [value.decode("utf-8", "replace") for value in array.ravel()]
    return np.array(texts, object).reshape(array.shape)


def ask(
    directory, inputs, signature=DEFAULT_SIGNATURE, timeout=TIMEOUT, batch_size=None
):
    """Loads an export in a new process, as the server does, and asks it once.

    The new process does not import TensorFlow for Python. To ask several times, use
    `ExportedModel`.

    Args:
        directory, signature, timeout: see `ExportedModel`.
        inputs: texts, see `ExportedModel.answer`; or a dict of arrays, see
            `ExportedModel.request`.
        batch_size: see `ExportedModel.answer`.

    Returns:
        dict of numpy arrays, what `answer` of the task gives. Strings are str objects.

    Raises:
        FileNotFoundError: if there is no SavedModel.
        TypeError: if the inputs are neither texts nor a dict.
        ValueError: if the signature or an input is unknown, or the model does not
            answer.

    Example:
        zoo.serving.ask("exports/sentiment", ["what a film"])["label"]
    """
    with ExportedModel(directory, signature, timeout) as model:
        if isinstance(inputs, dict):
            return model.request(inputs)
        return model.answer(inputs, batch_size)
