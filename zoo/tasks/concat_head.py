"""The hidden layers of ULMFiT's classifier."""

import keras

from zoo.layers import ConcatPooling

HIDDEN_DIM, HIDDEN_DROPOUT = 50, 0.1
NORM = {"momentum": 0.9, "epsilon": 1e-5}  # those of torch


def concat_head(backbone, inputs, dropout):
    """The vector (B, 50) that the last layer of ULMFiT's classifier takes.

    Concat pooling, then batch norm, dropout, a dense layer of 50 units with ReLU, batch
    norm, and dropout of 0.1.

    Source: Howard and Ruder 2018, section 3.3; fastai 2 `PoolingLinearClassifier`.

    Args:
        backbone: `zoo.backbone.Backbone`.
        inputs: symbolic inputs of the backbone.
        dropout: float in [0, 1), of the pooled vector.
    """
    options = {"dtype": backbone.dtype_policy}
    pooling = ConcatPooling(backbone.reverse, name="pooling", **options)
    x = pooling(backbone(inputs)["sequence_output"], inputs["padding_mask"])
    norm = keras.layers.BatchNormalization
    x = norm(**NORM, name="pooled_norm", **options)(x)
    x = keras.layers.Dropout(dropout, name="head_dropout", **options)(x)
    dense = keras.layers.Dense(
        HIDDEN_DIM, "relu", use_bias=False, name="hidden", **options
    )
    x = norm(**NORM, name="hidden_norm", **options)(dense(x))
    return keras.layers.Dropout(HIDDEN_DROPOUT, name="hidden_dropout", **options)(x)
