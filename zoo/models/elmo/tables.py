"""Rows between bilm-tf's names and our paths, and the shapes of all weights."""

import numpy as np

from zoo.checkpoint import Row, expand

# The two parts of an LSTM's single matrix.
INPUT, RECURRENT = "/input", "/recurrent"
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
# bilm-tf calls the gate of the transformed input "carry".
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


def table(config):
    """Returns the rows between the published HDF5 file and the weights of a config."""
    rows = [Row("token_encoder/embeddings", "char_embed")]
    rows += expand(FILTER_ROWS, len(config.filters))
    rows += expand(HIGHWAY_ROWS, config.num_highways)
    if sum(number for _, number in config.filters) != config.projection_dim:
        rows += PROJECTION_ROWS
    lstms = LSTM_ROWS
    if config.lstm_dim == config.projection_dim:
        lstms = [row for row in lstms if "projection" not in row.target]
    return rows + expand(lstms, config.num_layers)


def weight_shapes(config):
    """Yields path and shape of every weight of the language model, one by one."""
    width = sum(number for _, number in config.filters)
    inner, outer, gates = config.lstm_dim, config.projection_dim, 4 * config.lstm_dim
    size, words = config.embedding_dim, config.word_vocabulary_size
    yield "token_encoder/embeddings", (config.vocabulary_size - 1, size)
    for i, (columns, number) in enumerate(config.filters):
        yield f"token_encoder/convolution_{i}/kernel", (columns, size, number)
        yield f"token_encoder/convolution_{i}/bias", (number,)
    for i in range(config.num_highways):
        for name in ("gate", "transform"):
            yield f"token_encoder/highway_{i}/{name}/kernel", (width, width)
            yield f"token_encoder/highway_{i}/{name}/bias", (width,)
    prefix = "" if words else "token_encoder/"
    if words:
        yield "word_embedding/embeddings", (words, config.word_dim)
        width += config.word_dim
    if words or width != outer:
        yield f"{prefix}projection/kernel", (width, outer)
        yield f"{prefix}projection/bias", (outer,)
    for layer in range(config.num_layers):
        for direction in ("forward", "backward"):
            path = f"{direction}_{layer}"
            yield f"{path}/kernel", (outer, gates)
            yield f"{path}/recurrent_kernel", (outer, gates)
            yield f"{path}/bias", (gates,)
            if inner != outer:
                yield f"{path}/projection_kernel", (inner, outer)


def shapes(config):
    """Dict of path to shape of every weight of the language model."""
    return dict(weight_shapes(config))


def new_mix(config):
    """Returns the initial mix, which is in no file: the mean of the layers."""
    return {
        "scalar_mix/gamma": np.ones(1, "float32"),
        "scalar_mix/scalars": np.zeros(config.num_layers + 1, "float32"),
    }
