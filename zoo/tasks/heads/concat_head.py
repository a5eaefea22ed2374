"""The hidden layers of ULMFiT's classifier."""

import dataclasses
import functools

import keras
import tensorflow as tf
from keras import ops

from zoo.layers import ConcatPooling, output_layer
from zoo.tasks.heads.head import Head, register_head

HIDDEN_DIM, HIDDEN_DROPOUT = 50, 0.1
NORM_OPTIONS = {"momentum": 0.9, "epsilon": 1e-5}  # those of torch


@keras.saving.register_keras_serializable(package="zoo")
class BatchNormalization(keras.layers.BatchNormalization):
    """Keras' layer, but a batch of one row is normalized by the stored moments.

    Its own variance is 0, so that the text would be lost. torch refuses such a batch.
    With several replicas, the layer is Keras' own. Rows whose `mask` is 0 do not count.

    Example:
        >>> layer = BatchNormalization(epsilon=0.0)
        >>> layer(ops.array([[3.0, 5.0]]), training=True).numpy().tolist()
        [[3.0, 5.0]]
    """

    def call(self, inputs, training=None, mask=None):
        """Normalizes the rows."""
        call = functools.partial(super().call, inputs, mask=mask)
        if mask is not None and training:
            return self._normalize_masked(call, ops.sum(ops.cast(mask, "int32")) > 1)
        rows = inputs.shape[0]
        if not training or self.synchronized or (rows or 0) > 1:
            return call(training=training)
        if rows is not None:
            return call(training=False)
        several = ops.shape(inputs)[0] > 1
        return ops.cond(several, lambda: call(training=True), lambda: call())

    def _normalize_masked(self, call, several):
        """The rows by their own moments if they are several, and else by the stored."""
        stored, moments = call(training=False), (self.moving_mean, self.moving_variance)
        before = [ops.convert_to_tensor(moment) for moment in moments]
        outputs = ops.where(several, call(training=True), stored)
        for moment, value in zip(moments, before, strict=True):
            moment.assign(ops.where(several, ops.convert_to_tensor(moment), value))
        return outputs


@register_head
@dataclasses.dataclass(frozen=True, kw_only=True)
class ConcatPoolingHead(Head):
    """The head of ULMFiT, the option `head="concat_pooling"`.

    The last vector, the maximum and the mean over all tokens, then batch norm, dropout,
    a dense layer of 50 units with ReLU, batch norm, dropout of 0.1, and a dense layer.

    Source: Howard and Ruder 2018, section 3.3; fastai 2 `PoolingLinearClassifier`.

    Args:
        dropout: see `Head`. ULMFiT's code has 0.4.
    """

    name = "concat_pooling"
    joins = True

    def outputs(self, backbone, inputs, units):
        """See `Head`."""
        options = {"dtype": backbone.dtype_policy}
        pooling = ConcatPooling(backbone.reverse, name="pooling", **options)
        x = pooling(backbone(inputs)["sequence_output"], inputs["padding_mask"])
        # The moments of all replicas together. Without replicas, those are less exact.
        several = tf.distribute.get_strategy().num_replicas_in_sync > 1
        norm = functools.partial(
            BatchNormalization, **NORM_OPTIONS, synchronized=several, **options
        )
        dense = keras.layers.Dense(
            HIDDEN_DIM, "relu", use_bias=False, name="hidden", **options
        )
        # With a distribution of JAX, a batch may have rows without tokens, which are 0.
        distributed = keras.distribution.distribution() is not None
        mask = ops.any(ops.not_equal(x, 0), axis=1) if distributed else None
        x = norm(name="pooled_norm")(x, mask=mask)
        x = keras.layers.Dropout(self.dropout, name="head_dropout", **options)(x)
        x = norm(name="hidden_norm")(dense(x), mask=mask)
        x = keras.layers.Dropout(HIDDEN_DROPOUT, name="hidden_dropout", **options)(x)
        return output_layer(units, backbone, "classifier")(x)

    def reads_windows(self, backbone):
        """See `Head`."""
        return backbone.carries_states
