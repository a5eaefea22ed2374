"""Losses and metrics that weigh every token alike.

Keras' means first average a row, and so weigh a token less in a batch of longer rows.
"""

import keras
from keras import ops

from zoo.tasks.label_smoothing import label_logits


@keras.saving.register_keras_serializable(package="zoo")
class TokenAccuracy(keras.metrics.SparseCategoricalAccuracy):
    """The share of tokens whose likeliest class is the right one.

    Inputs:
        y_true int (B, L); y_pred (B, L, V); sample_weight (B, L).
    """

    def update_state(self, y_true, y_pred, sample_weight=None):
        """Adds a batch."""
        super().update_state(*flat(y_true, y_pred, sample_weight))


@keras.saving.register_keras_serializable(package="zoo")
class TokenCrossentropy(keras.metrics.Mean):
    """The mean cross-entropy of tokens in nats, from logits.

    Inputs:
        as `TokenAccuracy`.
    """

    def __init__(self, name="loss", **kwargs):
        super().__init__(name=name, **kwargs)

    def update_state(self, y_true, y_pred, sample_weight=None):
        """Adds a batch."""
        y_true, y_pred, weight = flat(y_true, y_pred, sample_weight)
        logits = ops.cast(y_pred, "float32")
        label = label_logits(logits, ops.cast(y_true, "int32"))
        super().update_state(ops.logsumexp(logits, axis=-1) - label, weight)

    @classmethod
    def from_config(cls, config):
        """Rebuilds the metric. Earlier files have arguments that it no longer takes."""
        return cls(**{key: config[key] for key in ("name", "dtype") if key in config})


def flat(y_true, y_pred, weight):
    """Targets, outputs and weights of all rows in one."""
    if weight is not None:
        weight = ops.reshape(ops.broadcast_to(weight, ops.shape(y_true)), (-1,))
    classes = y_pred.shape[-1]
    return ops.reshape(y_true, (-1,)), ops.reshape(y_pred, (-1, classes)), weight


@keras.saving.register_keras_serializable(package="zoo")
class TokenPerplexity(keras.metrics.Mean):
    """The exponential of the mean cross-entropy of tokens in nats, from logits.

    Inputs:
        as `TokenAccuracy`.
    """

    def __init__(self, name="perplexity", **kwargs):
        super().__init__(name=name, **kwargs)

    def update_state(self, y_true, y_pred, sample_weight=None):
        """Adds a batch."""
        # The same operations as those of the loss, which TensorFlow then runs once.
        logits = ops.cast(y_pred, "float32")
        label = label_logits(logits, ops.cast(y_true, "int32"))
        losses = ops.reshape(ops.logsumexp(logits, axis=-1) - label, (-1,))
        if sample_weight is not None:
            weight = ops.broadcast_to(sample_weight, ops.shape(y_true))
            sample_weight = ops.reshape(weight, (-1,))
        super().update_state(losses, sample_weight)

    def result(self):
        """The exponential of the mean."""
        return ops.exp(super().result())


@keras.saving.register_keras_serializable(package="zoo")
class Likelihood(keras.losses.Loss):
    """The mean of the negative log-likelihoods that a language model gives.

    Inputs:
        y_true: ignored, the model knows its targets; y_pred float32 (B, 2, L).
    """

    def call(self, y_true, y_pred):
        """The predictions."""
        return y_pred


@keras.saving.register_keras_serializable(package="zoo")
class Perplexity(keras.metrics.Mean):
    """The exponential of the mean negative log-likelihood of a word, in nats.

    With a sampled softmax that of training is an estimate, mostly too low.
    """

    def __init__(self, name="perplexity", **kwargs):
        super().__init__(name=name, **kwargs)

    def update_state(self, y_true, y_pred, sample_weight=None):
        """Adds a batch."""
        if sample_weight is not None:
            sample_weight = ops.reshape(sample_weight, (-1,))
        super().update_state(ops.reshape(y_pred, (-1,)), sample_weight)

    def result(self):
        """The exponential of the mean."""
        return ops.exp(super().result())
