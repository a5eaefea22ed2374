"""The hidden layers of ULMFiT's classifier."""

import functools

import keras
import tensorflow as tf
from keras import ops

from zoo.layers import ConcatPooling

HIDDEN_DIM, HIDDEN_DROPOUT = 50, 0.1
NORM = {"momentum": 0.9, "epsilon": 1e-5}  # those of torch


@keras.saving.register_keras_serializable(package="zoo")
class BatchNormalization(keras.layers.BatchNormalization):
    """Keras' layer, but a batch of one row is normalized by the stored moments.

    Its own variance is 0, so that the text would be lost. torch refuses such a batch.
    With several replicas, the layer is Keras' own.
    """

    def call(self, inputs, training=None, mask=None):
        """Normalizes the rows."""
        call = functools.partial(super().call, inputs, mask=mask)
        rows = inputs.shape[0]
        if not training or self.synchronized or (rows or 0) > 1:
            return call(training=training)
        if rows is not None:
            return call(training=False)
        several = ops.shape(inputs)[0] > 1
        return ops.cond(several, lambda: call(training=True), lambda: call())


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
        BatchNormalization, **NORM, synchronized=several, **options
    )
    x = norm(name="pooled_norm")(x)
    x = keras.layers.Dropout(dropout, name="head_dropout", **options)(x)
    dense = keras.layers.Dense(
        HIDDEN_DIM, "relu", use_bias=False, name="hidden", **options
    )
    x = norm(name="hidden_norm")(dense(x))
    return keras.layers.Dropout(HIDDEN_DROPOUT, name="hidden_dropout", **options)(x)
