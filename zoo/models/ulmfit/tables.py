"""Rows between the names of fastai and awd-lstm-lm and our paths.

The names are those of `torch_names.common_names`, which all versions share.
"""

from zoo.checkpoint import Row, expand
from zoo.models.ulmfit.model import ULMFiT

# Copies of the table, of which a file may hold several.
TABLE = (
    "encoder.weight",
    "encoder_dp.emb.weight",
    "encoder_with_dropout.embed.weight",
    "decoder.weight",
)
CELL_ROWS = {
    "lstm": [
        Row("rnn_{i}/kernel", "rnns.{i}.weight_ih_l0", "transpose"),
        Row("rnn_{i}/recurrent_kernel", "rnns.{i}.weight_hh_l0", "transpose"),
        Row("rnn_{i}/bias", "rnns.{i}.bias_l0"),
    ],
    "qrnn": [
        Row("rnn_{i}/kernel", "rnns.{i}.linear.weight", "transpose"),
        Row("rnn_{i}/bias", "rnns.{i}.linear.bias"),
    ],
}
NORM = {
    "gamma": "weight",
    "beta": "bias",
    "moving_mean": "running_mean",
    "moving_variance": "running_var",
}
CLASSIFIER_ROWS = [
    *(Row(f"pooled_norm/{ours}", f"norm_0.{name}") for ours, name in NORM.items()),
    Row("hidden/kernel", "linear_0.weight", "transpose"),
    *(Row(f"hidden_norm/{ours}", f"norm_1.{name}") for ours, name in NORM.items()),
    Row("classifier/kernel", "linear_1.weight", "transpose"),
    Row("classifier/bias", "linear_1.bias"),
]
HIDDEN_DIM = 50  # units of the hidden layer of a classifier, as in fastai


def table(config, heads=()):
    """The rows of a model with heads, of "lm_head" and "classifier"."""
    rows = [
        Row("token_embedding/embeddings", TABLE),
        *expand(CELL_ROWS[config.cell], config.num_layers),
    ]
    if "lm_head" in heads and config.output_bias:
        rows.append(Row("lm_head/output_bias", "decoder.bias"))
    if "classifier" in heads:
        rows += CLASSIFIER_ROWS
    return rows


def shapes(config, heads=(), num_classes=0):
    """Returns the shapes of all weights of a model, dict of our path to tuple."""
    found = ULMFiT.weight_shapes(config)
    if "lm_head" in heads and config.output_bias:
        found["lm_head/output_bias"] = (config.vocabulary_size,)
    if "classifier" in heads:
        pooled = 3 * config.embedding_dim
        found |= {f"pooled_norm/{name}": (pooled,) for name in NORM}
        found |= {f"hidden_norm/{name}": (HIDDEN_DIM,) for name in NORM}
        found["hidden/kernel"] = (pooled, HIDDEN_DIM)
        found["classifier/kernel"] = (HIDDEN_DIM, num_classes)
        found["classifier/bias"] = (num_classes,)
    return found
