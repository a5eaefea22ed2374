"""Converts published GPTs to our configuration and weights."""

import functools
from pathlib import Path

from zoo import family
from zoo.backbone.config import make_config
from zoo.checkpoint import (
    HUGGING_FACE_WEIGHTS,
    KERAS_NLP_WEIGHTS,
    Converted,
    convert,
    find_hugging_face,
    find_tensorflow,
    find_variables,
    is_hugging_face,
    is_keras_nlp,
    naming_absent,
    open_checkpoint,
    open_hugging_face,
    read_generation,
)
from zoo.family import Layout, check_layout, check_size
from zoo.models.gpt import gpt_writing, hub_files, openai_files
from zoo.models.gpt.bpe_files import find_end, read_tokenizer
from zoo.models.gpt.model import GPT, GPTConfig
from zoo.models.gpt.tables import IGNORED, table

__all__ = ["LAYOUTS", "read", "recognise"]

WANTED_FILES = (
    f"A GPT is a directory with {openai_files.SHAPES_FILE} and params_0.npy; with "
    f"{openai_files.HPARAMS} and a TensorFlow checkpoint; or with config.json of "
    "model_type 'gpt2' or 'openai-gpt' or class_name 'GPT2Backbone', and "
    f"{', '.join(HUGGING_FACE_WEIGHTS)} or {KERAS_NLP_WEIGHTS}"
)


def recognise(directory):
    """The name of the layout of the GPT in a directory; see `family.recognise`."""
    return family.recognise(LAYOUTS, directory)


def read(directory, layout=None, file=None, num_heads=None):
    """Reads a published GPT; every array in it must be accounted for.

    "openai_gpt" is the archive of GPT-1, "openai_gpt2" a TensorFlow checkpoint of
    GPT-2, "hugging_face" either of them, and "keras_nlp" a GPT-2. OpenAI's files do not
    say the dropouts; those of Hugging Face are assumed.

    Source: OpenAI's finetune-transformer-lm and gpt-2, transformers 5.24, keras-nlp
    0.32.

    Args:
        directory: str or `Path`.
        layout: str, by default the one that is recognised.
        file: str, the name of the checkpoint to read where there are several.
        num_heads: int that replaces the configuration's. The archive of GPT-1 does not
            say it; by default a head has 64 units.

    Returns:
        `Converted`. A language model has the head "lm_head", without own weights.

    Raises:
        FileNotFoundError: if a file is missing.
        ValueError: if there is no GPT, `GPT` cannot compute it, a file is damaged, or
            the files do not agree.
    """
    directory = Path(directory)
    layout = layout or recognise(directory)
    check_layout(LAYOUTS, layout, directory, WANTED_FILES)
    heads, names, path = ("lm_head",), {}, directory / "config.json"
    if layout == "openai_gpt":
        path = directory / openai_files.SHAPES_FILE
        fields, checkpoint = openai_files.read_archive(directory, num_heads)
    elif layout == "openai_gpt2":
        path, names = directory / openai_files.HPARAMS, openai_files.SIZES
        fields, checkpoint = openai_files.read_checkpoint(directory, file)
    elif layout == "hugging_face":
        fields, values = hub_files.read_hugging_face(path)
        checkpoint = open_hugging_face(directory, file)
        heads, names = hub_files.find_heads(values, checkpoint, path), hub_files.NAMES
    else:
        fields = hub_files.read_keras_nlp(path)
        checkpoint = open_checkpoint(directory / KERAS_NLP_WEIGHTS)
    if num_heads is not None:
        fields["num_heads"] = num_heads
    with naming_absent(path, names.values()):
        config = make_config(GPTConfig, fields, f"`{path}`", names)
        rows, expected = table(layout, config), GPT.weight_shapes(config)
        check_size(expected, f"`{path}`")
        weights = convert(checkpoint, rows, expected, IGNORED[layout], config.num_heads)
    tokenizer, options = read_tokenizer(directory, layout, config), {}
    if layout == "hugging_face":
        options = {"generation": read_generation(directory, find_end(tokenizer))}
    found = {"heads": heads, "tokenizer": tokenizer, "options": options}
    return Converted(layout, config, weights, **found)


def _is_archive(directory):
    """Whether a directory holds a GPT-1 as OpenAI published it."""
    shapes = directory / openai_files.SHAPES_FILE
    return shapes.is_file() and any(directory.glob("params_*.npy"))


def _is_checkpoint(directory):
    """Whether a directory holds a GPT-2 as OpenAI published it."""
    hparams = directory / openai_files.HPARAMS
    return hparams.is_file() and "model/wte" in find_variables(directory)


def _layout(name, recognise, write=None, files=None):
    """The record of a layout."""
    read_layout = functools.partial(read, layout=name)
    return Layout(name, recognise, read_layout, write, files=files)


LAYOUTS = (
    _layout("openai_gpt", _is_archive),
    _layout(
        "openai_gpt2",
        _is_checkpoint,
        files=lambda d: [path.name for path in find_tensorflow(d)],
    ),
    _layout(
        "hugging_face",
        lambda d: is_hugging_face(d, hub_files.GPT1, hub_files.GPT2),
        gpt_writing.write_hugging_face,
        find_hugging_face,
    ),
    _layout(
        "keras_nlp",
        lambda d: is_keras_nlp(d, "GPT2Backbone"),
        gpt_writing.write_keras_nlp,
    ),
)
