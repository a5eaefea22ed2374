"""Converts published Transformers to our configuration and weights."""

import functools
import pathlib

from zoo.checkpoint import Converted, convert
from zoo.family import Layout, check_size, only_layout
from zoo.models.transformer import (
    ctranslate2,
    fairseq,
    marian,
    marian_hugging_face,
    marian_writing,
    model_garden,
    opennmt_tf,
    tensor2tensor,
)
from zoo.models.transformer.shapes import weight_shapes
from zoo.models.transformer.tables import NAMINGS

__all__ = ["layouts", "read", "recognise"]

# A module for each layout. `recognise(directory)` returns whether the directory holds
# such a model. `read(directory)` returns its `TransformerConfig`, its arrays by the
# names of `NAMINGS`, and a dict of further fields of `Converted`.
READERS = {
    "ctranslate2": ctranslate2,
    "fairseq": fairseq,
    "hugging_face": marian_hugging_face,
    "marian": marian,
    "model_garden": model_garden,
    "opennmt_tf": opennmt_tf,
    "tensor2tensor": tensor2tensor,
}
# The layouts whose files may not say the languages of a model.
WITH_LANGUAGES = ("fairseq",)
# Functions of a directory and a `Converted`.
WRITERS = {"hugging_face": marian_writing.write}


def layouts():
    """Returns the layouts that can be read or written, tuple of `Layout`."""
    return tuple(
        Layout(
            name,
            lambda directory, name=name: name in find_layouts(directory),
            functools.partial(read, layout=name),
            WRITERS.get(name),
            languages=name in WITH_LANGUAGES,
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
    return [name for name, kind in READERS.items() if kind.recognise(directory)]


def read(directory, layout=None, languages=None):
    """Reads a published model; every array in it must be accounted for.

    Args:
        directory: str or `pathlib.Path`.
        layout: str, see `recognise`, by which it is found if it is not given.
        languages: pair of str, the languages of source and target, for a layout of
            `WITH_LANGUAGES`.

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
    options = {} if languages is None else {"languages": languages}
    config, arrays, others = READERS[layout].read(directory, **options)
    expected = dict(weight_shapes(config, head=True))
    stored = sum(array.size for array in arrays.values())
    check_size(weight_shapes(config, head=True), f"`{directory}`", stored)
    weights = convert(arrays, NAMINGS[layout].rows(config, expected), expected)
    return Converted(layout, config, weights, heads=("token_logits",), **others)
