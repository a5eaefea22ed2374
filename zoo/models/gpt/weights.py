"""Converts published GPTs to our configuration and weights."""

import functools
from pathlib import Path

from zoo.backbone.config import make_config
from zoo.checkpoint import (
    HUGGING_FACE_WEIGHTS,
    Converted,
    convert,
    find_hugging_face,
    find_model_type,
    find_tensorflow,
    naming_absent,
    open_checkpoint,
    read_generation,
    read_json,
)
from zoo.family import Layout, check_size, only_layout
from zoo.models.gpt import gpt_writing, hub_files, openai_files
from zoo.models.gpt.bpe_files import find_end, read_tokenizer
from zoo.models.gpt.model import GPTConfig
from zoo.models.gpt.shapes import weight_shapes
from zoo.models.gpt.tables import IGNORED, table

__all__ = ["layouts", "read", "recognise"]

WRITERS = {
    "hugging_face": gpt_writing.write_hugging_face,
    "keras_nlp": gpt_writing.write_keras_nlp,
}
# The layouts that may have several checkpoints, and how to find these.
CHECKPOINTS = {
    "openai_gpt2": lambda path: [p.name for p in find_tensorflow(path)],
    "hugging_face": find_hugging_face,
}
LM_HEADS = ("lm_head",)


def layouts():
    """Returns the layouts that can be read or written, tuple of `Layout`."""
    return tuple(
        Layout(
            name,
            lambda directory, name=name: name in find_layouts(directory),
            functools.partial(read, layout=name),
            WRITERS.get(name),
            files=functools.partial(list_files, name) if name in CHECKPOINTS else None,
        )
        for name in IGNORED
    )


def list_files(layout, directory):
    """The names of the checkpoints in a directory, list of str."""
    return CHECKPOINTS[layout](Path(directory))


def recognise(directory):
    """Returns the layout of the GPT in a directory.

    Args:
        directory: str or `Path`.

    Returns:
        "openai_gpt", the archive of GPT-1; "openai_gpt2", a TensorFlow checkpoint of
        GPT-2; "hugging_face", either of them; "keras_nlp", a GPT-2; or None if there is
        no GPT.

    Raises:
        ValueError: if there is more than one.
    """
    return only_layout(find_layouts(directory), directory)


def find_layouts(directory):
    """Returns the names of all layouts of GPTs in a directory, list of str."""
    directory, found = Path(directory), []
    if openai_files.has_archive(directory):
        found.append("openai_gpt")
    if openai_files.has_checkpoint(directory):
        found.append("openai_gpt2")
    config = read_json(directory / "config.json", optional=True)
    if find_model_type(config) in (hub_files.GPT1, hub_files.GPT2):
        if list_files("hugging_face", directory):
            found.append("hugging_face")
    if config.get("class_name") == "GPT2Backbone":
        if (directory / hub_files.KERAS_WEIGHTS).is_file():
            found.append("keras_nlp")
    return found


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
    if layout not in IGNORED:
        raise ValueError(_describe(directory, layout))
    heads, names, path = LM_HEADS, {}, directory / "config.json"
    if layout == "openai_gpt":
        path = directory / openai_files.SHAPES
        fields, checkpoint = openai_files.read_archive(directory, num_heads)
    elif layout == "openai_gpt2":
        path, names = directory / openai_files.HPARAMS, openai_files.SIZES
        fields, checkpoint = openai_files.read_checkpoint(directory, file)
    elif layout == "hugging_face":
        fields, values = hub_files.read_hugging_face(path)
        found = [*find_hugging_face(directory), HUGGING_FACE_WEIGHTS[0]]
        checkpoint = open_checkpoint(directory / (file or found[0]))
        heads, names = hub_files.find_heads(values, checkpoint, path), hub_files.NAMES
    else:
        fields = hub_files.read_keras_nlp(path)
        checkpoint = open_checkpoint(directory / hub_files.KERAS_WEIGHTS)
    if num_heads is not None:
        fields["num_heads"] = num_heads
    with naming_absent(path, names.values()):
        config = make_config(GPTConfig, fields, f"`{path}`", names)
        check_size(weight_shapes(config), f"`{path}`")
        rows, expected = table(layout, config), dict(weight_shapes(config))
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


def _describe(directory, layout):
    """Returns the error message for a directory without a known layout."""
    if layout is not None:
        return f"`layout` must be one of {sorted(IGNORED)}. Received: {layout!r}."
    names = sorted(path.name for path in directory.glob("*"))[:10]
    return (
        f"A GPT is a directory with {openai_files.SHAPES} and params_0.npy; with "
        f"{openai_files.HPARAMS} and a TensorFlow checkpoint; or with config.json of "
        "model_type 'gpt2' or 'openai-gpt' or class_name 'GPT2Backbone', and "
        f"{', '.join(HUGGING_FACE_WEIGHTS)} or {hub_files.KERAS_WEIGHTS}. Received: "
        f"`{directory}` with {names}."
    )
