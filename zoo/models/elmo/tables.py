"""Rows between bilm-tf's names and our paths, and the shapes of all weights."""

import numpy as np

from zoo.checkpoint import Row, expand
from zoo.models.elmo.model import ELMo

# The two parts of an LSTM's single matrix.
INPUT, RECURRENT = "/input", "/recurrent"
CELL = "RNN/MultiRNNCell/Cell{i}/LSTMCell"
LSTM_ROWS = [
    Row(f"{direction}_{{i}}/{ours}", f"RNN_{number}/{CELL}/{theirs}", operation)
    for number, direction in enumerate(("forward", "backward"))
    for ours, theirs, operation in (
        ("kernel", f"W_0{INPUT}", "swap_gates"),
        ("recurrent_kernel", f"W_0{RECURRENT}", "swap_gates"),
        ("bias", "B", "swap_gates"),
        ("projection_kernel", "W_P_0", "copy"),
    )
]
FILTER_ROWS = [
    Row("token_encoder/convolution_{i}/kernel", "CNN/W_cnn_{i}", "first"),
    Row("token_encoder/convolution_{i}/bias", "CNN/b_cnn_{i}"),
]
# bilm-tf calls the gate of the transformed input "carry".
HIGHWAY_ROWS = [
    Row(f"token_encoder/highway_{{i}}/{ours}/{k}", f"CNN_high_{{i}}/{letter}_{theirs}")
    for ours, theirs in (("gate", "carry"), ("transform", "transform"))
    for k, letter in (("kernel", "W"), ("bias", "b"))
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


def shapes(config):
    """Dict of path to shape of every weight of the language model."""
    found = ELMo.weight_shapes(config).items()
    return {k: v for k, v in found if not k.startswith("scalar_mix/")}


def new_mix(config):
    """Returns the initial mix, which is in no file: the mean of the layers."""
    return {
        "scalar_mix/gamma": np.ones(1, "float32"),
        "scalar_mix/scalars": np.zeros(config.num_layers + 1, "float32"),
    }
