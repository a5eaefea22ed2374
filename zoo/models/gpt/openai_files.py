"""Reads OpenAI's files: the archive of GPT-1, and TensorFlow checkpoints of GPT-2."""

import math
import re
import tokenize

import numpy as np

from zoo.checkpoint import Checkpoint, check_values, open_checkpoint, read_json

SHAPES_FILE = "params_shapes.json"
# The arrays of the archive in its order, by the names of GPT-2.
FIRST_ARRAYS = ("wpe", "wte")
BLOCK_ARRAYS = (
    *("attn/c_attn/w", "attn/c_attn/b", "attn/c_proj/w", "attn/c_proj/b"),
    *("ln_1/g", "ln_1/b", "mlp/c_fc/w", "mlp/c_fc/b"),
    *("mlp/c_proj/w", "mlp/c_proj/b", "ln_2/g", "ln_2/b"),
)
HEAD_WIDTH = 64  # of every GPT that OpenAI published
# Sizes in `hparams.json`. GPT-1 has no such file; the user may write `n_head`.
HPARAMS = "hparams.json"
SIZES = {
    "vocabulary_size": "n_vocab",
    "hidden_dim": "n_embd",
    "num_layers": "n_layer",
    "num_heads": "n_head",
    "max_sequence_length": "n_ctx",
}
# What NumPy raises if a file is damaged.
READ_ERRORS = (
    *(OSError, ValueError, TypeError, EOFError, OverflowError, MemoryError),
    *(SyntaxError, tokenize.TokenError, LookupError, RecursionError),
)


def read_archive(directory, num_heads=None):
    """The fields of `GPTConfig` and the arrays of a GPT-1."""
    shapes = _read_shapes(directory / SHAPES_FILE)
    values = _read_parts(directory)
    sizes = [math.prod(shape) for shape in shapes]
    if sum(sizes) != len(values):
        raise ValueError(
            "The files params_*.npy must have as many values as "
            f"`{directory / SHAPES_FILE}` says: {sum(sizes)}. Received: {len(values)}. "
            "Download all files again."
        )
    num_layers = (len(shapes) - len(FIRST_ARRAYS)) // len(BLOCK_ARRAYS)
    names = [f"model/{name}" for name in FIRST_ARRAYS]
    names += [f"model/h{i}/{name}" for i in range(num_layers) for name in BLOCK_ARRAYS]
    parts = np.split(values, np.cumsum(sizes)[:-1])
    arrays = {
        name: without_width(part.reshape(shape))
        for name, part, shape in zip(names, parts, shapes, strict=True)
    }
    width = arrays["model/wte"].shape[1]
    fields = {
        "vocabulary_size": len(arrays["model/wte"]),
        "hidden_dim": width,
        "num_layers": num_layers,
        "intermediate_dim": arrays["model/h0/mlp/c_fc/b"].size,
        "max_sequence_length": len(arrays["model/wpe"]),
        "norm_first": False,
    }
    if num_heads is None:  # it is in no file, unless the user writes one
        num_heads = read_json(directory / HPARAMS, optional=True).get("n_head")
    if num_heads is None and width % HEAD_WIDTH:
        raise ValueError(
            "The number of heads is in no file of GPT-1. It is `hidden_dim` / "
            f"{HEAD_WIDTH} if that is an integer. Received: hidden_dim={width} in "
            f"`{directory}`. Write a file {HPARAMS} such as "
            '{"n_head": 2} beside it, or pass `num_heads=` to `zoo.models.gpt.read`.'
        )
    fields["num_heads"] = width // HEAD_WIDTH if num_heads is None else num_heads
    return fields, arrays


def _read_shapes(path):
    """The shapes of all arrays, list of list of int."""
    shapes = read_json(path, kind=list)
    for shape in shapes:
        sizes = shape if isinstance(shape, list) else [None]
        if not all(type(size) is int and size > 0 for size in sizes):
            raise ValueError(
                f"`{path}` must be a list of lists of positive integers. Received: "
                f"{shape!r:.80}."
            )
    tables = [len(shape) for shape in shapes[: len(FIRST_ARRAYS)]] == [2, 2]
    blocks, remainder = divmod(len(shapes) - len(FIRST_ARRAYS), len(BLOCK_ARRAYS))
    if not tables or blocks < 1 or remainder:
        raise ValueError(
            f"`{path}` must have the shapes of two tables, then {len(BLOCK_ARRAYS)} "
            f"shapes for each block. Received: {len(shapes)} shapes, which begin with "
            f"{shapes[:2]}."
        )
    return shapes


def _read_parts(directory):
    """The values of all files params_*.npy, float array (N,)."""
    found = {}
    for path in directory.glob("params_*.npy"):
        match = re.fullmatch(r"params_(0|[1-9]\d*)\.npy", path.name)
        if match:
            found[int(match[1])] = path
    if not found or sorted(found) != list(range(len(found))):
        raise ValueError(
            "The files params_*.npy must have the numbers 0, 1, 2 and so on. Received: "
            f"{sorted(path.name for path in found.values())} in `{directory}`."
        )
    return np.concatenate([_read_part(found[i]) for i in range(len(found))])


def _read_part(path):
    """The values of one file, float array (N,), without executing code in it."""
    try:
        # A header that promises too much must not allocate memory for it.
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except READ_ERRORS as error:
        raise ValueError(
            f"`{path}` must be a file of NumPy with an array of floats. It is damaged, "
            "or holds Python objects, which are never loaded. Received: "
            f"{type(error).__name__}. Download the file again."
        ) from error
    if not isinstance(array, np.ndarray) or array.dtype.kind != "f" or array.ndim != 1:
        kind = getattr(array, "dtype", type(array).__name__)
        raise ValueError(
            f"`{path}` must hold an array of floats with one axis. Received: {kind} of "
            f"shape {getattr(array, 'shape', None)}."
        )
    return array


def without_width(array):
    """The kernel (D, F) of a convolution of width 1, (1, D, F); others as they are."""
    return array[0] if array.ndim == 3 and len(array) == 1 else array


def read_checkpoint(directory, file=None):
    """The fields of `GPTConfig` and the arrays of a GPT-2, whose `.index` is `file`."""
    path = directory / HPARAMS
    values = read_json(path)
    check_values(values, SIZES.values(), path)
    checkpoint = open_checkpoint(directory / file if file else directory)
    readers = {
        name: lambda name=name: without_width(checkpoint[name]) for name in checkpoint
    }
    fields = {ours: values[name] for ours, name in SIZES.items()}
    inner = checkpoint.get("model/h0/mlp/c_fc/b")
    if inner is not None:
        fields["intermediate_dim"] = inner.size
    return fields, Checkpoint(checkpoint.path, readers)
