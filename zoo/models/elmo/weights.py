"""Converts published ELMo weights to our configuration and weights, and back."""

import functools
from pathlib import Path

import numpy as np

from zoo import family
from zoo.backbone.config import make_config
from zoo.checkpoint import (
    Converted,
    find_tensorflow,
    find_variables,
    save_checkpoint,
    warn_user,
)
from zoo.family import Layout, check_layout, check_size, choose_file
from zoo.files.whole_files import filling
from zoo.models.elmo import bilm, many_langs
from zoo.models.elmo.model import ELMoConfig
from zoo.models.elmo.tables import new_mix, shapes, table

__all__ = ["LAYOUTS", "new_mix", "read", "recognise", "shapes", "write"]

# The authors' names begin with the sizes.
OPTION_FILES = "*options.json"
WORD_FILES = "vocab*.txt"
LSTM_PREFIX = "lm/RNN_0/"  # what names of a training checkpoint begin with
FILES = {"hdf5": "*.hdf5", "tf1": "*.index"}  # the checkpoints of a layout


def write_contents(directory, contents):
    """Writes a `Converted`; see `write`."""
    if contents.tokenizer and contents.tokenizer.get("punctuation"):
        raise ValueError(
            "The published layout has no place for the option `punctuation` of the "
            'tokenizer. Received: punctuation=True. Save the preset in layout "zoo", '
            "or set `backbone.tokenizer` to None."
        )
    write(directory, "hdf5", contents.config, contents.weights)


def recognise(directory):
    """The name of the layout of the ELMo in a directory; see `family.recognise`."""
    return family.recognise(LAYOUTS, directory)


def _is_training(directory):
    """Whether a directory holds a training checkpoint of bilm-tf, bool."""
    if any(directory.glob(OPTION_FILES)):
        named = (directory / "checkpoint").is_file()
        return named or bool(find_tensorflow(directory))
    # `read` says that the options are missing.
    return any(name.startswith(LSTM_PREFIX) for name in find_variables(directory))


def _list_files(layout, directory):
    """The names of the checkpoints of a layout in a directory, list of str."""
    return sorted(path.name for path in directory.glob(FILES[layout]))


def read(directory, layout=None, file=None):
    """Reads published weights; every array must be accounted for.

    Args:
        directory: str or `Path`: with options.json and one .hdf5 file; with
            options.json, a training checkpoint of bilm-tf and perhaps the vocabulary
            that it was trained on, vocab*.txt; or of ELMoForManyLangs.
        layout: str, "hdf5", "tf1" or "many_langs", by default the one recognised.
        file: str, the name of the checkpoint to read where there are several.

    Returns:
        `Converted`. The weights of a training checkpoint include the head "softmax".

    Raises:
        FileNotFoundError: if a file is missing.
        ValueError: if a file is damaged, files do not agree, or the layout is unknown.
    """
    directory = Path(directory)
    layout = layout or recognise(directory) or "hdf5"
    check_layout(LAYOUTS, layout)
    options = {} if file is None else {"file": file}
    config, weights, tokenizer = READERS[layout](directory, **options)
    return Converted(
        layout=layout,
        config=config,
        weights={**weights, **new_mix(config)},
        heads=("softmax",) if "softmax/kernel" in weights else (),
        tokenizer={"max_characters": config.max_characters, **tokenizer},
    )


def _read_published(directory, file=None):
    """Config, weights and the tokenizer's arguments of the published layout."""
    path = _only_file(directory, "hdf5", file)
    config = _read_config(directory, path)
    return config, bilm.read_hdf5(path, config), {}


def _read_training(directory, file=None):
    """Config, weights and the tokenizer's arguments of a training checkpoint."""
    words = sorted(directory.glob(WORD_FILES))
    if len(words) > 1:
        raise ValueError(
            "A training checkpoint must have one vocabulary beside it, or none. "
            f"Received: {[path.name for path in words]} in `{directory}`."
        )
    path = directory
    if file or not (directory / "checkpoint").is_file():
        path = _only_file(directory, "tf1", file)
    config = _read_config(directory, path)
    weights = bilm.read_training(path, config)
    if not words:
        warn_user(
            f"{directory} must hold {WORD_FILES}, the words of the softmax. Received: "
            "no such file. The model reads any word, but cannot predict words."
        )
        return config, weights, {}
    vocabulary = bilm.read_words(words[0], len(weights["softmax/bias"]))
    return config, weights, {"vocabulary": vocabulary}


def _only_file(directory, layout, file):
    """The path of the chosen checkpoint, or of the only one."""
    wanted = "ELMo's weights are a directory with one options.json and one "
    wanted += f"{FILES[layout]} file"
    return choose_file(_list_files(layout, directory), directory, file, wanted)


def _read_config(directory, path):
    """The config of a checkpoint: of the only options, or of those of its name."""
    found = sorted(directory.glob(OPTION_FILES))
    if len(found) > 1:
        # The authors call both files alike, up to these words.
        named = directory / path.name.replace("weights.hdf5", "options.json")
        found = [named] if named in found else found
    if len(found) != 1:
        raise FileNotFoundError(
            "The weights of an ELMo need one options.json beside them. Received: "
            f"`{directory}` with {[path.name for path in found]}."
        )
    where = f"`{found[0]}`"
    config = make_config(ELMoConfig, bilm.read_options(found[0]), where)
    check_size(shapes(config), where)
    return config


def write(directory, layout, config, arrays):
    """Writes options.json and weights.hdf5, for bilm-tf and AllenNLP.

    Args:
        directory: path, missing or empty.
        layout: "hdf5".
        config: `ELMoConfig` with the published characters and without a table of words.
        arrays: dict of our path to array. Arrays under "softmax/" are ignored. The
            files have no place for the head of a task or a mix but the initial one.

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
    if config.mix_top_only or config.mix_layer_norm:
        raise ValueError(
            "The published layout has no place for options of the mix. Received: "
            f"mix_top_only={config.mix_top_only}, mix_layer_norm="
            f'{config.mix_layer_norm!r}. Save the preset in layout "zoo".'
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


READERS = {
    "hdf5": _read_published,
    "tf1": _read_training,
    "many_langs": many_langs.read,
}
LAYOUTS = (
    Layout(
        "hdf5",
        lambda d: any(d.glob(OPTION_FILES)) and any(d.glob(FILES["hdf5"])),
        functools.partial(read, layout="hdf5"),
        write_contents,
        holds=lambda contents: (),
        files=functools.partial(_list_files, "hdf5"),
    ),
    Layout(
        "tf1",
        _is_training,
        functools.partial(read, layout="tf1"),
        files=functools.partial(_list_files, "tf1"),
    ),
    Layout(
        "many_langs",
        lambda d: any((d / name).is_file() for name in many_langs.STATE_FILES),
        functools.partial(read, layout="many_langs"),
    ),
)
