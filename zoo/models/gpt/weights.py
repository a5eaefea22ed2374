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

LM_HEADS = ("lm_head",)
WANTED_FILES = (
    f"A GPT is a directory with {openai_files.SHAPES_FILE} and params_0.npy; with "
    f"{openai_files.HPARAMS} and a TensorFlow checkpoint; or with config.json of "
    "model_type 'gpt2' or 'openai-gpt' or class_name 'GPT2Backbone', and "
    f"{', '.join(HUGGING_FACE_WEIGHTS)} or {KERAS_NLP_WEIGHTS}"
)


def recognise(directory):
    """The layout of the GPT in a directory, str, or None if there is none.

    "openai_gpt" is the archive of GPT-1, "openai_gpt2" a TensorFlow checkpoint of
    GPT-2, "hugging_face" either of them, and "keras_nlp" a GPT-2.

    Raises:
        ValueError: if there is more than one.
    """
    return family.recognise(LAYOUTS, directory)


def read(directory, layout=None, file=None, num_heads=None):
    """Reads a published GPT; every array in it must be accounted for.

    OpenAI's files do not say the dropouts; those of Hugging Face are assumed.

    Source: OpenAI's finetune-transformer-lm and gpt-2, transformers 5.24, keras-nlp
    0.32.

    Args:
        directory: str or `Path`.
        layout: str, see `recognise`, by which it is found if it is not given.
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
    heads, names, path = LM_HEADS, {}, directory / "config.json"
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
    return Converted(
        layout=layout,
        config=config,
        weights=weights,
        heads=heads,
        tokenizer=tokenizer,
        options=options,
    )


LAYOUTS = (
    Layout(
        "openai_gpt",
        openai_files.has_archive,
        functools.partial(read, layout="openai_gpt"),
    ),
    Layout(
        "openai_gpt2",
        openai_files.has_checkpoint,
        functools.partial(read, layout="openai_gpt2"),
        files=lambda directory: [path.name for path in find_tensorflow(directory)],
    ),
    Layout(
        "hugging_face",
        lambda directory: is_hugging_face(directory, hub_files.GPT1, hub_files.GPT2),
        functools.partial(read, layout="hugging_face"),
        gpt_writing.write_hugging_face,
        files=find_hugging_face,
    ),
    Layout(
        "keras_nlp",
        lambda directory: is_keras_nlp(directory, "GPT2Backbone"),
        functools.partial(read, layout="keras_nlp"),
        gpt_writing.write_keras_nlp,
    ),
)
