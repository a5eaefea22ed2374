"""Vectors of any number of texts, written to a file while they are computed."""

import io
import pathlib

import numpy as np
from tqdm import tqdm

from zoo.checks.number_rules import numbers_checked
from zoo.files.buckets import local_path
from zoo.files.path_checks import check_writable
from zoo.files.written_part import WrittenPart, full_disk_explained
from zoo.programs.vectors.model_and_texts import load_model, paths_in, read_strings
from zoo.tasks import TextEmbedder

TEXTS_IN_BLOCK, CHARACTERS_IN_BLOCK = 4096, 2**24  # after which a block ends


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
    bar = {"total": len(texts) if listed else None, "unit": " texts"}
    bar["disable"] = not verbose
    texts = read_strings(texts)
    options |= {"layers": layers, "pooling": pooling}
    options = {name: value for name, value in options.items() if value is not None}
    model = load_model(preset, options, TextEmbedder, TextEmbedder.task_name)
    if output is None:
        found = [np.zeros((0, model.output_shape[-1]), "float32")]
        with tqdm(**bar) as shown:
            for block in _blocks(texts):
                found.append(model.predict(block, batch_size, verbose=0))
                shown.update(len(block))
        return np.concatenate(found)
    output, width = local_path(output), model.output_shape[-1]
    with full_disk_explained(output, "vectors"):
        same = model.files.fingerprint(model)
        part = WrittenPart(output, "vectors", same, texts, _header(0, width))
        with tqdm(**bar, initial=part.state["rows"]) as shown:
            for block in _blocks(texts):
                vectors = model.predict(block, batch_size, verbose=0)
                part.add(block, np.ascontiguousarray(vectors, "<f4").tobytes())
                shown.update(len(block))
        part.check_size()
        with part.path.open("r+b") as file:
            file.write(_header(part.state["rows"], width))
        part.complete()
    return np.load(output, mmap_mode="r")


def _check_output(output):
    if output is not None:
        if pathlib.Path(output).suffix != ".npy":
            raise ValueError(f"`output` must end in .npy. Received: {str(output)!r}.")
        check_writable(output)


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


def _header(rows, width):
    """The header of a `.npy` file. Its length does not depend on the rows."""
    file = io.BytesIO()
    about = {"descr": "<f4", "fortran_order": False, "shape": (rows, width)}
    np.lib.format.write_array_header_1_0(file, about)
    return file.getvalue()
