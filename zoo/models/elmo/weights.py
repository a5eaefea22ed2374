"""Converts published ELMo weights to our configuration and weights, and back."""

import functools
from pathlib import Path

import numpy as np

from zoo.checkpoint import Converted, save_checkpoint
from zoo.family import Layout, only_layout
from zoo.files import filling
from zoo.models.elmo import bilm, many_langs
from zoo.models.elmo.model import ELMoConfig
from zoo.models.elmo.tables import new_mix, shapes, table

__all__ = ["layouts", "new_mix", "read", "recognise", "shapes", "write"]

# The authors' names begin with the sizes.
OPTIONS = "*options.json"
WORDS = "vocab*.txt"


def layouts():
    """Returns the layouts that can be read or written, tuple of `Layout`."""
    return tuple(
        Layout(
            name,
            lambda directory, name=name: name in find_layouts(directory),
            functools.partial(read, layout=name),
            write_contents if name == "hdf5" else None,
        )
        for name in READERS
    )


def write_contents(directory, contents):
    """Writes a `Converted`; see `write`."""
    write(directory, "hdf5", contents.config, contents.weights)


def recognise(directory):
    """Returns the layout of the ELMo weights in a directory.

    Args:
        directory: str or `Path`.

    Returns:
        "hdf5", the published layout; "tf1", a training checkpoint of bilm-tf;
        "many_langs", ELMoForManyLangs; or None if there is no ELMo.

    Raises:
        ValueError: if there is more than one layout.
    """
    return only_layout(find_layouts(directory), directory)


def find_layouts(directory):
    """Returns the names of all ELMo layouts in a directory, list of str."""
    directory, found = Path(directory), []
    if any(directory.glob(OPTIONS)):
        if any(directory.glob("*.hdf5")):
            found.append("hdf5")
        if any(directory.glob("*.index")) or (directory / "checkpoint").is_file():
            found.append("tf1")
    if any((directory / name).is_file() for name in many_langs.STATES):
        found.append("many_langs")
    return found


def read(directory, layout=None):
    """Reads published weights. No array is ignored silently.

    Args:
        directory: str or `Path`, in one of three layouts. "hdf5": options.json and one
            .hdf5 file. "tf1": options.json, a training checkpoint of bilm-tf and,
            optionally, its vocabulary vocab*.txt. "many_langs": ELMoForManyLangs.
        layout: str, see `recognise`; by default, the layout is recognised.

    Returns:
        `Converted`. The weights of a training checkpoint include the head "softmax".

    Raises:
        FileNotFoundError: if a file is missing.
        ValueError: if a file is damaged, if files do not agree, or if the layout is
            unknown.
    """
    directory = Path(directory)
    layout = layout or recognise(directory) or "hdf5"
    if layout not in READERS:
        raise ValueError(
            f"`layout` must be one of {sorted(READERS)}. Received: {layout!r}."
        )
    config, weights, tokenizer = READERS[layout](directory)
    return Converted(
        layout=layout,
        config=config,
        weights={**weights, **new_mix(config)},
        heads=("softmax",) if "softmax/kernel" in weights else (),
        tokenizer={"max_characters": config.max_characters, **tokenizer},
    )


def _read_published(directory):
    """Reads config, weights and arguments of the tokenizer in the published layout."""
    files = sorted(directory.glob(OPTIONS)) + sorted(directory.glob("*.hdf5"))
    if [path.suffix for path in files] != [".json", ".hdf5"]:
        raise FileNotFoundError(
            "ELMo's weights must be a directory with one options.json and one .hdf5 "
            f"file. Received: `{directory}` with {[path.name for path in files]}."
        )
    config = ELMoConfig(**bilm.read_options(files[0]))
    return config, bilm.read_hdf5(files[1], config), {}


def _read_training(directory):
    """Reads config, weights and arguments of the tokenizer in a training checkpoint."""
    options, words = (sorted(directory.glob(name)) for name in (OPTIONS, WORDS))
    if len(options) != 1:
        raise FileNotFoundError(
            "A training checkpoint of ELMo needs one options.json beside it. Received: "
            f"`{directory}` with {[path.name for path in options]}."
        )
    if len(words) > 1:
        raise ValueError(
            "A training checkpoint must have one vocabulary beside it, or none. "
            f"Received: {[path.name for path in words]} in `{directory}`."
        )
    config = ELMoConfig(**bilm.read_options(options[0]))
    weights = bilm.read_training(directory, config)
    if not words:
        return config, weights, {}
    vocabulary = bilm.read_words(words[0], len(weights["softmax/bias"]))
    return config, weights, {"vocabulary": vocabulary}


READERS = {
    "hdf5": _read_published,
    "tf1": _read_training,
    "many_langs": many_langs.read,
}


def write(directory, layout, config, arrays):
    """Writes options.json and weights.hdf5, for bilm-tf and AllenNLP.

    bilm-tf writes its trained models in this layout. It does not have the softmax over
    words, nor these words; the layout "zoo" of a preset has both.

    Args:
        directory: path, missing or empty.
        layout: "hdf5".
        config: `ELMoConfig` with the published characters and without a table of words.
        arrays: dict of our path to array. Arrays under "softmax/" are ignored. The
            files have no place for a trained mix and for the head of a task. The mix
            must have its initial values.

    Raises:
        ValueError: if the layout is unknown or cannot hold this model, or if an array
            would be lost.
    """
    if layout != "hdf5":
        raise ValueError(f'`layout` must be "zoo" or "hdf5". Received: {layout!r}.')
    if config.vocabulary_size != 262 or config.word_vocabulary_size:
        raise ValueError(
            "The published layout holds an ELMo of bytes, with 262 characters and no "
            f"table of words. Received: {config.vocabulary_size} characters and "
            f'{config.word_vocabulary_size} words. Save the preset in layout "zoo".'
        )
    targets = {row.target for row in table(config)}
    mix = new_mix(config)
    lost = [
        path
        for path, array in arrays.items()
        if path not in targets
        and not path.startswith("softmax/")
        and not np.array_equal(array, mix.get(path))
    ]
    if lost:
        raise ValueError(
            "The published layout holds the language model only. Received: "
            f"{', '.join(sorted(lost))}. Save the preset in layout "
            '"zoo", or save only its backbone, without a trained mix.'
        )
    with filling(directory) as temporary:
        save_checkpoint(temporary / "weights.hdf5", bilm.as_hdf5(arrays, config))
        bilm.write_options(temporary / "options.json", config)
