"""Losses and metrics that weigh every token alike.

Keras' means first average a row, and so weigh a token less in a batch of longer rows.
"""

import keras
from keras import ops

from zoo.tasks.losses.label_smoothing import token_losses
from zoo.tasks.losses.weighted_means import of_rank


@keras.saving.register_keras_serializable(package="zoo")
class TokenAccuracy(keras.metrics.SparseCategoricalAccuracy):
    """The share of tokens whose likeliest class is the right one.

    Inputs:
        y_true int (B, L); y_pred (B, L, V); sample_weight (B, L).

    Example:
        >>> logits = ops.array([[[0.0, 1.0], [0.0, 1.0], [0.0, 1.0]]])
        >>> float(TokenAccuracy()(ops.array([[1, 0, 0]]), logits, [[1, 1, 0]]))
        0.5
    """

    def update_state(self, y_true, y_pred, sample_weight=None):
        """Adds a batch."""
        super().update_state(*flat(y_true, y_pred, sample_weight))


@keras.saving.register_keras_serializable(package="zoo")
class TokenCrossentropy(keras.metrics.Mean):
    """The mean cross-entropy of tokens in nats, from logits.

    Inputs:
        as `TokenAccuracy`.

    Example:
        >>> loss = TokenCrossentropy()(ops.array([[0, 1]]), ops.zeros((1, 2, 4)))
        >>> round(float(loss), 3)  # log(4)
        1.386
    """

    def __init__(self, name="loss", **kwargs):
        super().__init__(name=name, **kwargs)

    def update_state(self, y_true, y_pred, sample_weight=None):
        """Adds a batch."""
        losses = ops.reshape(token_losses(y_pred, y_true), (-1,))
        super().update_state(losses, flat_weight(y_true, sample_weight))


def flat(y_true, y_pred, weight):
    """Targets, outputs and weights of all rows in one."""
    classes = y_pred.shape[-1]
    rows = ops.reshape(y_true, (-1,)), ops.reshape(y_pred, (-1, classes))
    return *rows, flat_weight(y_true, weight)


def flat_weight(y_true, weight):
    """Weights (B,) or (B, L) of targets (B, L) in one row, or None."""
    if weight is None:
        return None
    weight = of_rank(ops.convert_to_tensor(weight), y_true)
    return ops.reshape(ops.broadcast_to(weight, ops.shape(y_true)), (-1,))


@keras.saving.register_keras_serializable(package="zoo")
class TokenPerplexity(TokenCrossentropy):
    """The exponential of `TokenCrossentropy`.

    Example:
        >>> value = TokenPerplexity()(ops.array([[0, 1]]), ops.zeros((1, 2, 4)))
        >>> round(float(value), 3)
        4.0
    """

    def __init__(self, name="perplexity", **kwargs):
        super().__init__(name=name, **kwargs)

    def result(self):
        """The exponential of the mean."""
        return ops.exp(super().result())


@keras.saving.register_keras_serializable(package="zoo")
class Likelihood(keras.losses.Loss):
    """The mean of the negative log-likelihoods that a language model gives.

    Inputs:
        y_true: ignored, the model knows its targets; y_pred float32 (B, 2, L).

    Example:
        >>> y_pred = ops.array([[[1.0, 2.0], [3.0, 4.0]]])
        >>> float(Likelihood()(ops.zeros((1, 2, 2)), y_pred))
        2.5
    """

    def call(self, y_true, y_pred):
        """The predictions."""
        return y_pred


@keras.saving.register_keras_serializable(package="zoo")
class Perplexity(keras.metrics.Mean):
    """The exponential of the mean negative log-likelihood of a word, in nats.

    With a sampled softmax that of training is an estimate, mostly too low.

    Example:
        >>> value = Perplexity()(None, ops.log(ops.array([[[2.0], [8.0]]])))
        >>> round(float(value), 3)
        4.0
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
