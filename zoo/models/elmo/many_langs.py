"""Reads ELMoForManyLangs' files: dictionaries and two state dicts of torch."""

import re
from pathlib import PurePath

import numpy as np

from zoo.backbone.config import make_config
from zoo.checkpoint import Row, convert, expand, open_checkpoint, read_json, read_lines
from zoo.family import check_size
from zoo.models.elmo.bilm import CNN_OPTIONS, LSTM_OPTIONS
from zoo.models.elmo.model import ELMoConfig
from zoo.models.elmo.tables import shapes

STATE_FILES = ("token_embedder.pkl", "encoder.pkl")
PAD = "<pad>"

TOKEN_ROWS = [Row("token_encoder/embeddings", "char_emb_layer.embedding.weight")]
FILTER_ROWS = [
    Row("token_encoder/convolution_{i}/kernel", "convolutions.{i}.weight", "transpose"),
    Row("token_encoder/convolution_{i}/bias", "convolutions.{i}.bias"),
]
HIGHWAY_ROWS = [
    Row(
        f"token_encoder/highway_{{i}}/{name}/{ours}",
        f"highways._layers.{{i}}.{theirs}/{name}",
        operation,
    )
    for name in ("transform", "gate")
    for ours, theirs, operation in (
        ("kernel", "weight", "transpose"),
        ("bias", "bias", "copy"),
    )
]
LSTM_ROWS = [
    Row(f"{side}_{{i}}/{ours}", f"{side}_layer_{{i}}.{theirs}", operation)
    for side in ("forward", "backward")
    for ours, theirs, operation in (
        ("kernel", "input_linearity.weight", "transpose"),
        ("recurrent_kernel", "state_linearity.weight", "transpose"),
        ("bias", "state_linearity.bias", "copy"),
        ("projection_kernel", "state_projection.weight", "transpose"),
    )
]
# Key in a section of the configuration to our field.
ENCODER = {k: ours for k, ours in LSTM_OPTIONS.items() if ours != "residual"}
TOKEN_EMBEDDER = {"char_dim": "embedding_dim", **CNN_OPTIONS}
SIZES = (
    "lstm_dim",
    "projection_dim",
    "num_layers",
    "embedding_dim",
    "num_highways",
    "max_characters",
)


def recognise(directory):
    """Whether a directory holds such a model, bool."""
    return any((directory / name).is_file() for name in STATE_FILES)


def read(directory):
    """Config, weights and the tokenizer's arguments of a directory.

    The id of a character is its id in char.dic plus 1, that of a word its id in
    word.dic.

    Source: Che et al. 2018; released code. That code keeps the LSTMs' states from batch
    to batch and draws the order of batches; see `ELMo` about states. Results were not
    compared with a released model. Three facts are assumptions, because neither the
    files nor their description contain them: the names of kinds in the sections of the
    configuration; bilm-tf's names for its other keys; the addition of a layer's input
    to its output, from the second layer on, as in AllenNLP's LSTM, of which that of
    ELMoForManyLangs is a copy.
    """
    path = find_config(directory)
    fields, has_words = read_config(path)
    characters = read_dictionary(directory / "char.dic")
    tokenizer = {"characters": characters}
    if has_words:
        tokenizer["vocabulary"] = read_dictionary(directory / "word.dic")
    if PAD not in characters:
        raise ValueError(
            f"`{directory / 'char.dic'}` must hold {PAD}. Received: {len(characters)} "
            "characters without it."
        )
    fields |= {
        "vocabulary_size": len(characters) + 1,
        "pad_character": characters.index(PAD) + 1,
        "word_vocabulary_size": len(tokenizer.get("vocabulary", ())),
    }
    where = f"`{path}`"
    config = make_config(ELMoConfig, fields, where)
    expected = shapes(config)
    check_size(expected, where)
    arrays = {}
    for file in STATE_FILES:
        for name, array in open_checkpoint(directory / file).items():
            if name.startswith("highways.") and array.ndim and len(array) % 2 == 0:
                # Its gate is that of the input, ours that of the transformed input.
                transform, gate = np.split(array, 2)
                arrays |= {f"{name}/transform": transform, f"{name}/gate": -gate}
                continue
            if name.endswith(".state_linearity.bias") and array.size % 4 == 0:
                # Our cells add 1 to the forget gate, which the stored bias includes.
                array = array - np.repeat(np.arange(4) == 1, array.size // 4)
            arrays[name] = array
    return config, convert(arrays, table(config), expected), tokenizer


def table(config):
    """Returns the rows between both state dicts and the weights of a config."""
    rows = TOKEN_ROWS + expand(FILTER_ROWS, len(config.filters))
    rows += expand(HIGHWAY_ROWS, config.num_highways)
    prefix = "token_encoder/"
    if config.word_vocabulary_size:
        rows.append(Row("word_embedding/embeddings", "word_emb_layer.embedding.weight"))
        prefix = ""
    rows += [
        Row(f"{prefix}projection/kernel", "projection.weight", "transpose"),
        Row(f"{prefix}projection/bias", "projection.bias"),
    ]
    return rows + expand(LSTM_ROWS, config.num_layers)


def find_config(directory):
    """The path of the configuration that config.json names."""
    path = directory / "config.json"
    named = read_json(path).get("config_path")
    # It is a path on the machine of the training, of which only the last part is used.
    name = PurePath(named.replace("\\", "/")).name if isinstance(named, str) else ""
    if name in ("", ".", "..") or name == path.name:
        raise ValueError(
            f"`{path}` must name another configuration as `config_path`. Received: "
            f"{named!r}."
        )
    for place in (directory / name, directory / "configs" / name):
        if place.is_file():
            return place
    raise FileNotFoundError(
        f"`{path}` names {named!r}: there is no {name} in `{directory}`. Copy it there "
        "from the folder `configs` of ELMoForManyLangs."
    )


def read_config(path):
    """The arguments of `ELMoConfig`, and whether the model has word vectors."""
    values = read_json(path)
    try:
        encoder, embedder = values["encoder"], values["token_embedder"]
        kinds = embedder.get("name", "cnn").lower(), encoder.get("name", "elmo").lower()
        fields = {ours: encoder[key] for key, ours in ENCODER.items()}
        fields |= {ours: embedder[key] for key, ours in TOKEN_EMBEDDER.items()}
        word_dim = embedder["word_dim"]
        fields["filters"] = tuple((int(size), int(n)) for size, n in fields["filters"])
        fields["dropout"] = float(values.get("dropout", 0.1))
        sizes = {name: fields[name] for name in SIZES} | {"word_dim": word_dim}
        wrong = [name for name, size in sizes.items() if not isinstance(size, int)]
        if wrong:
            raise TypeError(f"{wrong[0]}={sizes[wrong[0]]!r}")
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise ValueError(
            f"`{path}` must hold a configuration of ELMoForManyLangs, with `encoder` "
            f"and `token_embedder`. Received: {type(error).__name__}: {error}."
        ) from error
    same = fields["lstm_dim"] == fields["projection_dim"]
    if kinds != ("cnn", "elmo") or fields["embedding_dim"] == 0 or same:
        raise ValueError(
            f"`{path}` must describe an ELMo of characters, with a `cnn` as token "
            "embedder, `char_dim`, and `dim` other than `projection_dim`. Received: "
            f"token embedder {kinds[0]!r} and encoder {kinds[1]!r}, char_dim="
            f"{fields['embedding_dim']}, dim={fields['lstm_dim']}, projection_dim="
            f"{fields['projection_dim']}."
        )
    for name in ("cell_clip", "projection_clip"):
        fields[name] = fields[name] or None  # 0 disables clipping
    return fields | ({"word_dim": word_dim} if word_dim else {}), bool(word_dim)


def read_dictionary(path):
    """The entries of a dictionary in the order of their ids, tuple of str."""
    if not path.is_file():
        raise FileNotFoundError(f"ELMoForManyLangs needs `{path}`. It does not exist.")
    found, places = {}, set()
    for number, line in enumerate(read_lines(path), start=1):
        entry, _, place = line.removesuffix("\r").rpartition("\t")
        if not re.fullmatch("[0-9]{1,9}", place):
            raise ValueError(
                f"Every line of `{path}` must be an entry, a tab and its id. Received "
                f"in line {number}: {line[:60]!r}."
            )
        entry = entry or "\u3000"  # an ideographic space that was stripped
        if entry in found or int(place) in places:
            raise ValueError(
                f"`{path}` must have every entry and every id once. Received repeated "
                f"ones in line {number}: {line[:60]!r}."
            )
        found[entry] = int(place)
        places.add(int(place))
    outside = [entry for entry, place in found.items() if place >= len(found)]
    if outside:
        raise ValueError(
            f"The ids in `{path}` must be below {len(found)}, the number of its "
            f"lines. Received: {found[outside[0]]}, of {outside[0]!r}."
        )
    return tuple(sorted(found, key=found.get))
