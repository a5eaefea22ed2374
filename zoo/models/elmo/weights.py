"""Published ELMo weights to our configuration and weights, and back."""

import json
from pathlib import Path

import numpy as np

from zoo.checkpoint import (
    Converted,
    Row,
    convert,
    expand,
    open_checkpoint,
    revert,
    save_checkpoint,
)
from zoo.files import filling
from zoo.models.elmo.model import ELMoConfig

OPTIONS = "*options.json"  # the authors put the sizes before it

INPUT, RECURRENT = "/input", "/recurrent"  # the parts of an LSTM's one matrix
CELL = "RNN_{d}/RNN/MultiRNNCell/Cell{{i}}/LSTMCell"
LSTM_ROWS = [
    row
    for d, direction in enumerate(("forward", "backward"))
    for cell in [CELL.format(d=d)]
    for row in (
        Row(f"{direction}_{{i}}/kernel", f"{cell}/W_0{INPUT}", "swap_gates"),
        Row(
            f"{direction}_{{i}}/recurrent_kernel",
            f"{cell}/W_0{RECURRENT}",
            "swap_gates",
        ),
        Row(f"{direction}_{{i}}/bias", f"{cell}/B", "swap_gates"),
        Row(f"{direction}_{{i}}/projection_kernel", f"{cell}/W_P_0"),
    )
]
FILTER_ROWS = [
    Row("token_encoder/convolution_{i}/kernel", "CNN/W_cnn_{i}", "first"),
    Row("token_encoder/convolution_{i}/bias", "CNN/b_cnn_{i}"),
]
# In bilm-tf the gate on what is transformed is called "carry".
HIGHWAY_ROWS = [
    Row(
        f"token_encoder/highway_{{i}}/{ours}/{kind}",
        f"CNN_high_{{i}}/{letter}_{theirs}",
    )
    for ours, theirs in (("gate", "carry"), ("transform", "transform"))
    for kind, letter in (("kernel", "W"), ("bias", "b"))
]
PROJECTION_ROWS = [
    Row("token_encoder/projection/kernel", "CNN_proj/W_proj"),
    Row("token_encoder/projection/bias", "CNN_proj/b_proj"),
]
# Key in options.json: our field, in its section.
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
REQUIRED = ("dim", "projection_dim", "n_layers", "filters", "n_highway")


def table(config):
    """The rows between the published HDF5 file and a config's weights."""
    rows = [Row("token_encoder/embeddings", "char_embed")]
    rows += expand(FILTER_ROWS, len(config.filters))
    rows += expand(HIGHWAY_ROWS, config.num_highways)
    if sum(number for _, number in config.filters) != config.projection_dim:
        rows += PROJECTION_ROWS
    lstms = LSTM_ROWS
    if config.lstm_dim == config.projection_dim:
        lstms = [row for row in lstms if "projection" not in row.target]
    return rows + expand(lstms, config.num_layers)


def shapes(config):
    """Path to shape of every weight that the files hold."""
    width = sum(number for _, number in config.filters)
    inner, outer, gates = config.lstm_dim, config.projection_dim, 4 * config.lstm_dim
    found = {"embeddings": (config.vocabulary_size - 1, config.embedding_dim)}
    for i, (size, number) in enumerate(config.filters):
        found[f"convolution_{i}/kernel"] = (size, config.embedding_dim, number)
        found[f"convolution_{i}/bias"] = (number,)
    for i in range(config.num_highways):
        for name in ("gate", "transform"):
            found[f"highway_{i}/{name}/kernel"] = (width, width)
            found[f"highway_{i}/{name}/bias"] = (width,)
    found |= {"projection/kernel": (width, outer), "projection/bias": (outer,)}
    found = {f"token_encoder/{path}": shape for path, shape in found.items()}
    for layer in range(config.num_layers):
        for direction in ("forward", "backward"):
            found |= {
                f"{direction}_{layer}/kernel": (outer, gates),
                f"{direction}_{layer}/recurrent_kernel": (outer, gates),
                f"{direction}_{layer}/bias": (gates,),
                f"{direction}_{layer}/projection_kernel": (inner, outer),
            }
    targets = {row.target for row in table(config)}
    return {path: shape for path, shape in found.items() if path in targets}


def read_options(path):
    """The config that an options.json describes.

    `n_characters` is 262 in files for use and 261 in files for training, which count
    the id that stands where no word is or do not; the weights are the same.

    Args:
        path: `Path`.

    Returns:
        dict of arguments of `ELMoConfig`.

    Raises:
        ValueError: if the file is no JSON, lacks a size, or describes a model that is
            not of characters.
    """
    try:
        options = json.loads(path.read_text("utf-8"))
        lstm, cnn = options["lstm"], options["char_cnn"]
        missing = [key for key in REQUIRED if key not in {**lstm, **cnn}]
        if missing:
            raise KeyError(", ".join(missing))
        fields = {ours: lstm[key] for key, ours in LSTM_OPTIONS.items() if key in lstm}
        fields |= {ours: cnn[key] for key, ours in CNN_OPTIONS.items() if key in cnn}
        fields["embedding_dim"] = cnn["embedding"]["dim"]
        characters = cnn.get("n_characters", 262)
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"`{path}` must hold the options of a character ELMo, with `lstm` and "
            f"`char_cnn`. Received: {type(error).__name__}: {error}."
        ) from error
    if characters not in (261, 262):
        raise ValueError(
            f"`n_characters` in `{path}` must be 262, or 261 in a file for training. "
            f"Received: {characters}."
        )
    for name in ("cell_clip", "projection_clip"):
        fields[name] = fields.get(name) or None  # 0 is no clipping
    fields["filters"] = tuple(map(tuple, fields["filters"]))
    return {"residual": False, **fields}


def read_hdf5(path, config):
    """Weights of a published HDF5 file.

    Args:
        path: path of the file.
        config: `ELMoConfig`.

    Returns:
        dict of our path to float32 array.

    Raises:
        ValueError: naming what is missing, left over or of another shape, or that the
            file is damaged.
    """
    arrays = {}
    for name, array in open_checkpoint(path).items():
        if name.endswith("/W_0"):
            arrays[name + INPUT] = array[: config.projection_dim]
            arrays[name + RECURRENT] = array[config.projection_dim :]
        else:
            arrays[name] = array
    return convert(arrays, table(config), shapes(config))


def as_hdf5(weights, config):
    """The inverse of `read_hdf5`: dict of the file's names to arrays."""
    rows = table(config)
    targets = {row.target for row in rows}
    arrays = revert({k: v for k, v in weights.items() if k in targets}, rows)
    for name in [name for name in arrays if name.endswith(INPUT)]:
        whole = name.removesuffix(INPUT)
        parts = arrays.pop(name), arrays.pop(whole + RECURRENT)
        arrays[whole] = np.concatenate(parts)
    return arrays


def new_mix(config):
    """The mix before training, which is in no file: the mean of the layers."""
    return {
        "scalar_mix/gamma": np.ones(1, "float32"),
        "scalar_mix/scalars": np.zeros(config.num_layers + 1, "float32"),
    }


def recognise(directory):
    """Names the layout of the ELMo weights in a directory, "hdf5", or None."""
    directory = Path(directory)
    found = any(directory.glob(OPTIONS)) and any(directory.glob("*.hdf5"))
    return "hdf5" if found else None


def read(directory, layout=None):
    """Reads published weights; every array must be accounted for.

    Args:
        directory: str or `Path` with options.json and one .hdf5 file.
        layout: "hdf5" or None.

    Returns:
        `Converted`.

    Raises:
        FileNotFoundError: if a file is missing.
        ValueError: if a file is damaged, or the two do not agree.
    """
    directory = Path(directory)
    files = sorted(directory.glob(OPTIONS)) + sorted(directory.glob("*.hdf5"))
    if [path.suffix for path in files] != [".json", ".hdf5"]:
        raise FileNotFoundError(
            "ELMo's weights are a directory with one options.json and one .hdf5 file. "
            f"Received: `{directory}` with {[path.name for path in files]}."
        )
    config = ELMoConfig(**read_options(files[0]))
    return Converted(
        layout="hdf5",
        config=config,
        weights={**read_hdf5(files[1], config), **new_mix(config)},
        tokenizer={"max_characters": config.max_characters},
    )


def write(directory, layout, config, arrays, tokenizer=None, labels=None, head=None):
    """Writes options.json and weights.hdf5, as bilm-tf and AllenNLP read them.

    Args:
        directory: path; must not exist, or be empty.
        layout: "hdf5".
        config: `ELMoConfig`.
        arrays: dict of our path to array. The files have no place for the mix, which
            must be as it began, nor for a task's head.
        tokenizer, labels, head: ignored; the rest of the family's interface.

    Raises:
        ValueError: if the layout is another, or something would be lost.
    """
    if layout != "hdf5":
        raise ValueError(f'ELMo is written as "zoo" or "hdf5". Received: {layout!r}.')
    targets = {row.target for row in table(config)}
    mix = new_mix(config)
    lost = [
        path
        for path, array in arrays.items()
        if path not in targets and not np.array_equal(array, mix.get(path))
    ]
    if lost:
        raise ValueError(
            "The published layout holds the language model only. Received: "
            f"{', '.join(sorted(lost))}, too. Save the preset in layout "
            '"zoo", or only its backbone, before training a mix.'
        )
    lstm = {key: getattr(config, ours) for key, ours in LSTM_OPTIONS.items()}
    cnn = {key: getattr(config, ours) for key, ours in CNN_OPTIONS.items()}
    cnn |= {"embedding": {"dim": config.embedding_dim}, "n_characters": 262}
    with filling(directory) as temporary:
        save_checkpoint(temporary / "weights.hdf5", as_hdf5(arrays, config))
        text = json.dumps({"lstm": lstm, "char_cnn": cnn}) + "\n"
        (temporary / "options.json").write_text(text, "utf-8")
