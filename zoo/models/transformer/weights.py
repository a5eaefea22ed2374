"""Converts published Transformers to our configuration and weights."""

import functools
import pathlib

from zoo import family
from zoo.checkpoint import Converted, convert
from zoo.family import Layout, check_layout, check_size
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
from zoo.models.transformer.tables import NAMINGS, shapes

__all__ = ["LAYOUTS", "read", "recognise"]

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


def recognise(directory):
    """The layout of the Transformer in a directory; see `family.recognise`."""
    return family.recognise(LAYOUTS, directory)


def read(directory, layout=None, languages=None):
    """Reads a published model; every array in it must be accounted for.

    Args:
        directory: str or `pathlib.Path`.
        layout: str, by default the one that is recognised.
        languages: pair of str, of source and target, for `WITH_LANGUAGES`.

    Returns:
        `zoo.checkpoint.Converted`.

    Raises:
        ValueError: if there is no such model, it is damaged, or it has an option that
            is not known here.
    """
    directory = pathlib.Path(directory)
    layout = layout or recognise(directory)
    wanted = f"A Transformer is a directory of a layout of {', '.join(READERS)}"
    check_layout(LAYOUTS, layout, directory, wanted)
    options = {} if languages is None else {"languages": languages}
    config, arrays, extras = READERS[layout].read(directory, **options)
    expected = shapes(config)
    stored = sum(array.size for array in arrays.values())
    check_size(expected, f"`{directory}`", stored)
    rows = NAMINGS[layout].rows(config, expected)
    weights = convert(arrays, rows, expected, num_heads=config.num_heads)
    return Converted(layout, config, weights, heads=("token_logits",), **extras)


LAYOUTS = tuple(
    Layout(
        name,
        reader.recognise,
        functools.partial(read, layout=name),
        WRITERS.get(name),
        languages=name in WITH_LANGUAGES,
    )
    for name, reader in READERS.items()
)
