"""The hidden layers of ULMFiT's classifier."""

import functools

import keras
import tensorflow as tf

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
    # The moments of all replicas together. Without replicas, those are less exact.
    several = tf.distribute.get_strategy().num_replicas_in_sync > 1
    norm = functools.partial(
        keras.layers.BatchNormalization, **NORM, synchronized=several, **options
    )
    x = norm(name="pooled_norm")(x)
    x = keras.layers.Dropout(dropout, name="head_dropout", **options)(x)
    dense = keras.layers.Dense(
        HIDDEN_DIM, "relu", use_bias=False, name="hidden", **options
    )
    x = norm(name="hidden_norm")(dense(x))
    return keras.layers.Dropout(HIDDEN_DROPOUT, name="hidden_dropout", **options)(x)
