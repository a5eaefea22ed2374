"""Converts published Transformers to our configuration and weights."""

import functools
import pathlib
import re

import numpy as np

from zoo.checkpoint import Converted, convert, read_ctranslate2
from zoo.family import Layout, check_size, only_layout
from zoo.models.transformer.model import TransformerConfig
from zoo.models.transformer.shapes import weight_shapes
from zoo.models.transformer.tables import FUSED, NAMINGS

__all__ = ["layouts", "read", "recognise"]

# CTranslate2's codes of activations, from `ops/activation.h`.
ACTIVATIONS = {0: "relu", 1: "gelu_tanh", 2: "silu", 3: "gelu", 5: "tanh"}
CTRANSLATE2_OPTIONS = {
    "activation",
    "alignment_heads",
    "alignment_layer",
    "embeddings_merge",
    "layernorm_embedding",
    "multi_query_attention",
    "num_heads",
    "pre_norm",
    "scale_embeddings",
    "scale_outputs",
    "start_from_zero_embedding",
}


def layouts():
    """Returns the layouts that can be read, tuple of `Layout`."""
    return tuple(
        Layout(
            name,
            lambda directory, name=name: name in find_layouts(directory),
            functools.partial(read, layout=name),
        )
        for name in READERS
    )


def recognise(directory):
    """Returns the layout of the Transformer in a directory, or None.

    Raises:
        ValueError: if there is more than one.
    """
    return only_layout(find_layouts(directory), directory)


def find_layouts(directory):
    """Returns the names of all layouts of Transformers in a directory."""
    directory = pathlib.Path(directory)
    return [name for name, (_, files) in READERS.items() if files(directory)]


def read(directory, layout=None):
    """Reads a published model; every array in it must be accounted for.

    Args:
        directory: str or `pathlib.Path`.
        layout: str, see `recognise`, by which it is found if it is not given.

    Returns:
        `zoo.checkpoint.Converted`.

    Raises:
        ValueError: if there is no such model, it is damaged, or it has an option that
            is not known here.
    """
    directory = pathlib.Path(directory)
    layout = layout or recognise(directory)
    if layout not in READERS:
        raise ValueError(
            f"`{directory}` must hold a Transformer of one of the layouts "
            f"{', '.join(READERS)}. Received: {layout!r}."
        )
    config, arrays, others = READERS[layout][0](directory)
    expected = dict(weight_shapes(config, head=True))
    stored = sum(array.size for array in arrays.values())
    check_size(weight_shapes(config, head=True), f"`{directory}`", stored)
    weights = convert(arrays, NAMINGS[layout].rows(config, expected), expected)
    return Converted(layout, config, weights, heads=("token_logits",), **others)


def _read_ctranslate2(directory):
    """Config, arrays and tokenizer of a CTranslate2 directory.

    What the file does not say is as in OpenNMT-tf: an epsilon of 1e-5, which is that of
    CTranslate2, and sinusoids from position 1.
    """
    _, arrays = read_ctranslate2(directory / "model.bin")
    arrays = split_fused(arrays)
    options = {k: arrays.pop(k) for k in [*arrays] if _leaf(k) in CTRANSLATE2_OPTIONS}
    if "decoder/projection/weight" not in arrays:
        raise ValueError(
            f"`{directory}` must hold an encoder and a decoder. Received: the arrays "
            f"{sorted(arrays)[:5]} and others."
        )
    shared = np.array_equal(
        arrays["encoder/embeddings/weight"], arrays["decoder/embeddings/weight"]
    )
    if shared:
        arrays.pop("decoder/embeddings/weight")
    return _ctranslate2_config(arrays, options, shared), arrays, {}


def _ctranslate2_config(arrays, options, shared):
    """The config of a CTranslate2 model, from the shapes of its arrays."""

    def option(name, default):
        found = {int(np.squeeze(v)) for k, v in options.items() if _leaf(k) == name}
        if len(found) > 1:
            raise ValueError(
                f"Both sides must have the same `{name}`. Received: {sorted(found)}."
            )
        return found.pop() if found else default

    def blocks(side):
        names = {name.split("/")[1] for name in arrays if name.startswith(f"{side}/")}
        return sum(name.startswith("layer_") for name in names - {"layer_norm"})

    size, width = arrays["encoder/embeddings/weight"].shape
    return TransformerConfig(
        vocabulary_size=size,
        target_vocabulary_size=None
        if shared
        else len(arrays["decoder/projection/weight"]),
        hidden_dim=width,
        num_encoder_layers=blocks("encoder"),
        num_decoder_layers=blocks("decoder"),
        num_heads=option("num_heads", 8),  # of "TransformerBase", which has no option
        intermediate_dim=len(arrays["encoder/layer_0/ffn/linear_0/weight"]),
        activation=ACTIVATIONS[option("activation", 0)],
        norm_first=bool(option("pre_norm", 1)),
        attention_bias="encoder/layer_0/self_attention/query/bias" in arrays,
        positions="tensor2tensor",
        first_position=1,
        scale_embeddings=bool(option("scale_embeddings", 1)),
        embeddings_layer_norm=bool(option("layernorm_embedding", 0)),
        tied_output=False,
        output_bias="decoder/projection/bias" in arrays,
        layer_norm_epsilon=1e-5,
    )


def _leaf(name):
    """The last part of a name."""
    return name.rsplit("/", 1)[-1]


def split_fused(arrays):
    """Divides arrays that hold several of ours, one below the other, see `FUSED`."""
    found = {}
    for name, array in arrays.items():
        match = re.fullmatch(r"(.*/)((?:self_)?attention/linear_\d)/(\w+)", name)
        parts = FUSED.get(match[2]) if match else None
        if parts is None or len(array) % len(parts):
            found[name] = array
            continue
        begin = match[1] + match[2].split("/")[0]
        for part, piece in zip(parts, np.split(array, len(parts)), strict=True):
            found[f"{begin}/{part}/{match[3]}"] = piece
    return found


READERS = {
    "ctranslate2": (
        _read_ctranslate2,
        lambda directory: (directory / "model.bin").is_file(),
    ),
}
