"""Converts the published MT-LSTM to our configuration and weights."""

import re
from pathlib import Path

import numpy as np

from zoo.backbone.config import make_config
from zoo.checkpoint import (
    Converted,
    Row,
    add_biases,
    convert,
    expand,
    open_state_dict,
    read_vectors,
)
from zoo.family import Layout, check_size, choose_file
from zoo.files.whole_files import open_text
from zoo.models.cove.model import CoVe, CoVeConfig

LAYOUT_NAME = "mt_lstm"
WORD_TABLE = "word_embedding/embeddings"
STORED_PREFIX = r"^rnn1?\."  # how some projects store the names
FIRST_ARRAY = "weight_ih_l0_reverse"
# Files of vectors beside the state dict, and the list of the words to keep.
VECTOR_SUFFIXES, WORDS_FILE = (".txt", ".vec", ".gz", ".xz", ".bin"), "words.txt"
RESERVED = ("<unk>", "<s>", "</s>")
WANTED_FILES = (
    "A CoVe is a directory with the state dict of its MT-LSTM, such as "
    "wmtlstm-8f474287.pth"
)
WEIGHT_ROWS = [
    Row(f"{side}_{{i}}/{ours}", f"{theirs}_l{{i}}{suffix}", operation)
    for side, suffix in (("forward", ""), ("backward", "_reverse"))
    for ours, theirs, operation in (
        ("kernel", "weight_ih", "transpose"),
        ("recurrent_kernel", "weight_hh", "transpose"),
        ("bias", "bias", "copy"),
    )
]


def list_files(directory):
    """The names of the state dicts of MT-LSTMs in a directory, list of str."""
    paths = [p for p in sorted(directory.glob("*")) if p.suffix in (".pt", ".pth")]
    return [path.name for path in paths if path.is_file() and _is(path)]


def _is(path):
    try:
        names = [re.sub(STORED_PREFIX, "", name) for name in open_state_dict(path)]
    except ValueError:
        return path.name.startswith("wmtlstm")  # `read` says what is wrong
    return FIRST_ARRAY in names and all(
        re.search(r"_l\d+(_reverse)?$", n) for n in names
    )


def common_names(arrays, where):
    """The arrays without prefixes of names, and with one bias for each LSTM, dict."""
    found = {}
    for name in arrays:
        short = re.sub(STORED_PREFIX, "", name)
        if short in found:
            raise ValueError(
                f"{where} must hold every weight once. Received: {name!r}, and another "
                f"array that is {short!r}."
            )
        found[short] = arrays[name]
    return add_biases(found)


def read(directory, file=None):
    """Reads an MT-LSTM, and the word vectors that it was trained on.

    These, `glove.840B.300d.txt`, must stand beside it. The vocabulary has their words
    in lower case, and if there is a file `words.txt`, only those that it lists.

    Source: McCann et al. 2017, released code `cove/encoder.py`.

    Args:
        directory: str or `Path`.
        file: str, the name of the state dict where there are several.

    Returns:
        `Converted`, without a decoder.

    Raises:
        FileNotFoundError: if there is no state dict, or not one file of vectors.
        ValueError: if a file is damaged or holds code, or the files do not agree.
    """
    directory = Path(directory)
    path = choose_file(list_files(directory), directory, file, WANTED_FILES)
    where = f"`{path}`"
    arrays = common_names(open_state_dict(path), where)
    words, vectors = _read_words(directory)
    lstm, inputs = arrays.get("weight_hh_l0"), arrays.get("weight_ih_l0")
    numbers = {re.search(r"_l(\d+)", name).group(1) for name in arrays}
    if lstm is None or inputs is None or lstm.ndim != 2 or inputs.ndim != 2:
        raise ValueError(
            f"{where} must hold a bidirectional LSTM of PyTorch. Received: "
            f"{sorted(arrays)[:6]}."
        )
    if vectors.shape[1] != inputs.shape[1]:
        raise ValueError(
            f"{where} reads vectors of width {inputs.shape[1]}. Received: vectors of "
            f"width {vectors.shape[1]} in `{directory}`. Give those of GloVe 840B."
        )
    fields = {
        "vocabulary_size": CoVeConfig.num_zero + len(words),
        "embedding_dim": inputs.shape[1],
        "lstm_dim": lstm.shape[1],
        "num_layers": len(numbers),
    }
    config = make_config(CoVeConfig, fields, where)
    table = np.zeros((config.vocabulary_size, config.embedding_dim), "float32")
    table[config.num_zero :] = vectors
    expected = CoVe.weight_shapes(config)
    check_size(expected, where)
    expected.pop(WORD_TABLE)
    weights = convert(arrays, expand(WEIGHT_ROWS, config.num_layers), expected)
    weights = {WORD_TABLE: table, **weights}
    return Converted(LAYOUT_NAME, config, weights, tokenizer={"vocabulary": words})


def _read_words(directory):
    """The words and the vectors of the only file of vectors in a directory."""
    found = [
        path
        for path in sorted(directory.glob("*"))
        if path.suffix in VECTOR_SUFFIXES and path.name != WORDS_FILE and path.is_file()
    ]
    if len(found) != 1:
        raise FileNotFoundError(
            "An MT-LSTM has no word vectors: a file of them, such as "
            f"glove.840B.300d.txt, must be in its directory. Received: "
            f"{[path.name for path in found] or 'none'} in `{directory}`."
        )
    kept = directory / WORDS_FILE
    wanted = None
    if kept.is_file():
        with open_text(kept) as file:
            wanted = {*file.read().split("\n")}
    words, vectors = read_vectors(found[0], wanted)
    places = [  # of words that a text in lower case can have
        place
        for place, word in enumerate(words)
        if word == word.lower() and word.split() == [word] and word not in RESERVED
    ]
    return tuple(words[place] for place in places), vectors[places]


LAYOUTS = (Layout(LAYOUT_NAME, list_files, read, files=list_files),)
