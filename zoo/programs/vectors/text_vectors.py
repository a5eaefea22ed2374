"""Vectors of any number of texts, written to a file while they are computed."""

import collections.abc
import contextlib
import hashlib
import io
import itertools
import json
import os
import pathlib

import keras
import numpy as np

from zoo import registry
from zoo.checks.number_rules import numbers_checked
from zoo.files.path_checks import check_readable, check_writable
from zoo.files.state_files import read_state
from zoo.files.whole_files import NOTHING_WRITTEN, WriteErrors, open_text, write_json
from zoo.tasks import TextEmbedder

TEXTS, CHARACTERS = 4096, 2**24  # after which a block ends
HEADER = 128  # bytes of the header of a .npy file
RECORD = {"model": str, "rows": int, "texts": str}


@numbers_checked()
def embed(
    texts,
    preset,
    layers=None,
    pooling=None,
    output=None,
    *,
    batch_size=None,
    verbose=1,
    **options,
):
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
    model = _embedder(preset, {k: v for k, v in options.items() if v is not None})
    bar = keras.utils.Progbar(total, unit_name="text", verbose=verbose)
    if output is None:
        found = [np.zeros((0, model.output_shape[-1]), "float32")]
        for block in _blocks(texts):
            found.append(model.predict(block, batch_size, verbose=0))
            bar.add(len(block))
        return np.concatenate(found)
    with _write_errors(output):
        part = _Part(pathlib.Path(output), model)
        remaining = part.skip(texts)
        bar.add(part.rows)
        for block in _blocks(remaining):
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
def _write_errors(output):
    """Says of a full disk that the vectors so far are kept; see `WriteErrors`."""
    try:
        with WriteErrors(output):
            yield
    except OSError as error:
        if NOTHING_WRITTEN not in str(error):
            raise
        kept = f"{output}.part keeps the vectors so far, and the same call continues."
        message = error.strerror.replace(NOTHING_WRITTEN, kept)
        raise OSError(error.errno, message) from error


def _embedder(preset, options):
    """The model of a preset, or the given model."""
    if not isinstance(preset, TextEmbedder):
        return registry.from_preset(preset, TextEmbedder.task_name, **options)
    if options:
        raise ValueError(
            "Options are used only when a preset is loaded. Received: a TextEmbedder "
            f"and {sorted(options)}. Give the name of a preset, or leave them out."
        )
    return preset


def read_strings(texts):
    """An iterator over texts.

    Args:
        texts: see `embed`, also for errors.
    """
    check_texts(texts)
    paths = paths_in(texts)
    for path in paths:
        check_readable(path)
        if not pathlib.Path(path).is_file():
            raise ValueError(
                f"{path} must be a regular file, since it may be read again. Received: "
                "a pipe or a device. Write its text to a file."
            )
    if paths:
        return itertools.chain.from_iterable(map(_lines, paths))
    return map(_checked, texts)


def check_texts(texts):
    """Raises TypeError for a string or a table, whose values are no texts."""
    if isinstance(texts, (str, bytes)):
        raise TypeError(
            "`texts` must be a list or an iterator of str, or a `pathlib.Path`. "
            "Received: one string. Use `[text]`."
        )
    if isinstance(texts, collections.abc.Mapping) or hasattr(texts, "columns"):
        raise TypeError(
            "`texts` must be a list or an iterator of str, or a `pathlib.Path`. "
            f"Received: a table, {type(texts).__name__}. Give the column of its texts."
        )


def paths_in(texts):
    """The paths of text files, a list; empty if the texts are strings."""
    paths = [texts] if isinstance(texts, os.PathLike) else texts
    listed = isinstance(paths, (list, tuple))
    if listed and any(isinstance(path, os.PathLike) for path in paths):
        return list(paths)
    return []


def _checked(text):
    if not isinstance(text, str):
        raise TypeError(
            f"Every text must be a string. Received: {text!r:.60} of type "
            f"{type(text).__name__}."
        )
    return text


def _lines(path):
    with open_text(path, newline="\n") as file:
        for line in file:
            yield line.rstrip("\r\n")


def _blocks(texts):
    """Lists of texts whose sizes are bounded."""
    block, size = [], 0
    for text in texts:
        block.append(text)
        size += len(text)
        if len(block) == TEXTS or size >= CHARACTERS:
            yield block
            block, size = [], 0
    if block:
        yield block


class _Part:
    """The vectors that are written so far.

    Args:
        output: pathlib.Path of the file to write at the end.
        model: `TextEmbedder`.
    """

    def __init__(self, output, model):
        output.parent.mkdir(parents=True, exist_ok=True)
        self.output = output
        self.path = output.with_name(f"{output.name}.part")
        self.record = output.with_name(f"{output.name}.part.json")
        self.width = model.output_shape[-1]
        self.model = _fingerprint(model)
        self.rows, self.digest = 0, hashlib.sha256()

    def skip(self, texts):
        """Skips the texts whose vectors are written already; returns the others."""
        if not (self.record.exists() and self.path.is_file()):
            self.record.unlink(missing_ok=True)  # before there are no vectors for it
            with self.path.open("wb") as file:
                file.write(_header(0, self.width))
            return texts
        advice = "Remove it to start again."
        record = read_state(self.record, "a record of vectors", RECORD, advice)
        size = HEADER + 4 * self.width * record["rows"]
        complete = HEADER <= size <= self.path.stat().st_size
        if complete:
            for text in itertools.islice(texts, record["rows"]):
                self._count(text)
        if not complete or record != self._state():
            raise ValueError(
                f"{self.path} has vectors of other texts or of another model, or is "
                f"damaged. Received: {record['rows']} vectors. Remove {self.record} to "
                "start again."
            )
        with self.path.open("r+b") as file:
            file.truncate(size)
        return texts

    def add(self, texts, vectors):
        """Writes the vectors of a block, and then what is needed to continue."""
        self._check_size()
        with self.path.open("ab") as file:
            file.write(np.ascontiguousarray(vectors, "<f4").tobytes())
            file.flush()
            os.fsync(file.fileno())
        for text in texts:
            self._count(text)
        write_json(self.record, self._state())

    def _state(self):
        """What is stored of the vectors so far, a dict."""
        digest = self.digest.hexdigest()
        return {"model": self.model, "rows": self.rows, "texts": digest}

    def _count(self, text):
        self.rows += 1
        encoded = text.encode("utf-8", "surrogatepass")
        self.digest.update(len(encoded).to_bytes(8) + encoded)

    def _check_size(self):
        """Raises ValueError if the part does not have exactly our vectors."""
        size = self.path.stat().st_size if self.path.exists() else 0
        if size != HEADER + 4 * self.width * self.rows:
            raise ValueError(
                "Only one program may write a file. Received: another one that writes "
                f"{self.path}. Stop one of them, remove {self.record}, and start again."
            )

    def finish(self):
        """Completes the header, and gives the file its name."""
        self._check_size()
        with self.path.open("r+b") as file:
            file.write(_header(self.rows, self.width))
        os.replace(self.path, self.output)
        self.record.unlink(missing_ok=True)


def _header(rows, width):
    """The header of a `.npy` file. Its length does not depend on the rows."""
    file = io.BytesIO()
    about = {"descr": "<f4", "fortran_order": False, "shape": (rows, width)}
    np.lib.format.write_array_header_1_0(file, about)
    return file.getvalue()


def _fingerprint(model):
    """A hash of all that the vectors of a model depend on, str."""
    config = {**model.get_config(), "name": None}
    digest = hashlib.sha256(json.dumps(config, sort_keys=True).encode())
    for array in model.get_weights():
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
