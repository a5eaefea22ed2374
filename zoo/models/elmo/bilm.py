"""Reads bilm-tf's files: options.json with an HDF5 file or a training checkpoint."""

import json
import re

import numpy as np

from zoo.checkpoint import Row, convert, open_checkpoint, read_lines, revert, warn_user
from zoo.models.elmo.tables import INPUT, RECURRENT, shapes, table

# Key in a section of options.json to our field.
LSTM_OPTIONS = {
    "dim": "lstm_dim",
    "projection_dim": "projection_dim",
    "n_layers": "num_layers",
    "cell_clip": "cell_clip",
    "proj_clip": "projection_clip",
    "use_skip_connections": "residual",
}
CNN_OPTIONS = {
    "filters": "filters",
    "n_highway": "num_highways",
    "max_characters_per_token": "max_characters",
    "activation": "activation",
}
REQUIRED_OPTIONS = (
    "dim",
    "projection_dim",
    "n_layers",
    "filters",
    "n_highway",
    "activation",
)
DAMAGES = (ValueError, LookupError, TypeError, AttributeError, RecursionError)
# What the authors' training leaves out if it is not set, and what AllenNLP assumes.
ASSUMED_OPTIONS = {"use_skip_connections": False, "max_characters_per_token": 50}

# The names in a training checkpoint that are not weights.
TRAINING_STATE = r"lm/.+/Adagrad|global_step|train_perplexity"
SOFTMAX_ROWS = [
    Row("softmax/kernel", "lm/softmax/W"),
    Row("softmax/bias", "lm/softmax/b"),
]
CELL_NAME = re.compile(r"(RNN_\d)/RNN/MultiRNNCell/Cell(\d+)/LSTMCell/(W_0|B|W_P_0)")
CELL_PARTS = {"W_0": "kernel", "B": "bias", "W_P_0": "projection/kernel"}


def read_options(path):
    """The arguments of `ELMoConfig` in an options.json file, dict."""
    try:
        options = json.loads(path.read_text("utf-8"))
        lstm, cnn = options["lstm"], options["char_cnn"]
        missing = [key for key in REQUIRED_OPTIONS if key not in {**lstm, **cnn}]
        if missing:
            raise KeyError(", ".join(missing))
        fields = {ours: lstm[key] for key, ours in LSTM_OPTIONS.items() if key in lstm}
        fields |= {ours: cnn[key] for key, ours in CNN_OPTIONS.items() if key in cnn}
        fields["embedding_dim"] = cnn["embedding"]["dim"]
        characters = cnn.get("n_characters", 262)  # 261 is without the id of padding
        for name in ("cell_clip", "projection_clip"):
            fields[name] = fields.get(name) or None  # 0 is no clipping
        fields["filters"] = tuple((int(w), int(n)) for w, n in fields["filters"])
    except DAMAGES as error:
        raise ValueError(
            f"`{path}` must hold the options of a character ELMo, with `lstm` and "
            f"`char_cnn`. Received: {type(error).__name__}: {error}."
        ) from error
    if characters not in (261, 262):
        raise ValueError(
            f"`n_characters` in `{path}` must be 262, or 261 in a file for training. "
            f"Received: {characters}."
        )
    absent = [key for key in ASSUMED_OPTIONS if key not in {**lstm, **cnn}]
    if absent:
        assumed = {key: ASSUMED_OPTIONS[key] for key in absent}
        warn_user(
            f"{path} must hold {', '.join(absent)}, which change what the model "
            f"computes. Received: none. Assumed: {assumed}."
        )
    known = {**LSTM_OPTIONS, **CNN_OPTIONS}
    return {**{known[key]: value for key, value in ASSUMED_OPTIONS.items()}, **fields}


def read_hdf5(path, config):
    """The weights of a published HDF5 file, dict of our path to float32 array."""
    arrays = split_kernels(open_checkpoint(path), r".*/W_0", config.projection_dim)
    return convert(arrays, table(config), shapes(config))


def split_kernels(arrays, pattern, width):
    """Splits every matrix whose name matches in two parts: for input and state."""
    found = {}
    for name, array in arrays.items():
        if re.fullmatch(pattern, name):
            found[name + INPUT], found[name + RECURRENT] = array[:width], array[width:]
        else:
            found[name] = array
    return found


def as_hdf5(weights, config):
    """The inverse of `read_hdf5`: returns a dict of the file's names to arrays."""
    rows = table(config)
    targets = {row.target for row in rows}
    arrays = revert({k: v for k, v in weights.items() if k in targets}, rows)
    for name in [name for name in arrays if name.endswith(INPUT)]:
        whole = name.removesuffix(INPUT)
        parts = arrays.pop(name), arrays.pop(whole + RECURRENT)
        arrays[whole] = np.concatenate(parts)
    return arrays


def write_options(path, config):
    """Writes options.json; the inverse of `read_options`."""
    lstm = {key: getattr(config, ours) for key, ours in LSTM_OPTIONS.items()}
    cnn = {key: getattr(config, ours) for key, ours in CNN_OPTIONS.items()}
    cnn |= {"embedding": {"dim": config.embedding_dim}, "n_characters": 262}
    path.write_text(json.dumps({"lstm": lstm, "char_cnn": cnn}) + "\n", "utf-8")


def training_name(name):
    """Returns the name of an array of the HDF5 file in a training checkpoint."""

    def rename(found):
        direction, number, part = found.groups()
        cell = f"{direction}/rnn/multi_rnn_cell/cell_{number}/lstm_cell"
        return f"{cell}/{CELL_PARTS[part]}"

    return f"lm/{CELL_NAME.sub(rename, name)}"


def read_training(path, config):
    """Weights of a training checkpoint of TensorFlow 1, by our paths, float32."""
    checkpoint = open_checkpoint(path)
    arrays = {
        n: checkpoint[n] for n in checkpoint if not re.fullmatch(TRAINING_STATE, n)
    }
    arrays = split_kernels(arrays, r".*/lstm_cell/kernel", config.projection_dim)
    rows = [
        Row(row.target, tuple(map(training_name, row.sources)), row.operation)
        for row in table(config)
    ]
    bias = arrays.get("lm/softmax/b", np.zeros(0))
    softmax = {"softmax/kernel": (bias.size, config.projection_dim)}
    softmax["softmax/bias"] = (bias.size,)
    return convert(arrays, rows + SOFTMAX_ROWS, shapes(config) | softmax)


def read_words(path, count):
    """The `count` words of the training vocabulary, one on each line, tuple of str."""
    words = tuple(word.strip() for word in read_lines(path))
    if len(words) != count:
        raise ValueError(
            f"`{path}` must have a word for each of the softmax's {count} rows. "
            f"Received: {len(words)} words. Use the file of the training, or no file."
        )
    return words
