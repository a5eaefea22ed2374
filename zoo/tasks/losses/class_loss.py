"""Loss and metric of one of several classes, given as a number or as probabilities."""

import keras
from keras import ops

from zoo.checks.ranges import Probability, check_value


@keras.saving.register_keras_serializable(package="zoo")
class ClassLoss(keras.losses.Loss):
    """Softmax cross-entropy against class numbers or probabilities.

    `loss = -sum_c(q_c log softmax(x)_c)`. q is 1 for the class of a number, or the
    given probability. With `label_smoothing` e and C classes, q becomes
    `(1 - e) q + e / C`.

    Source: Hinton et al. 2015 for probabilities; Szegedy et al. 2016, section 7, for
    smoothed labels. Keras has one loss for numbers and another for probabilities.

    Args:
        label_smoothing: float in [0, 1), e.
        reduction, name, dtype: as of `keras.losses.Loss`.

    Inputs:
        y_true int (B,) or (B, 1), or float (B, C); y_pred float (B, C), logits.

    Raises:
        ValueError: if e is not in [0, 1).

    Example:
        >>> logits = ops.zeros((1, 2))
        >>> numbers, shares = ops.array([1]), ops.array([[0.25, 0.75]])
        >>> [round(float(ClassLoss()(y, logits)), 3) for y in (numbers, shares)]
        [0.693, 0.693]
    """

    def __init__(
        self,
        label_smoothing=0.0,
        reduction="mean_with_sample_weight",
        name="class_loss",
        **kwargs,
    ):
        super().__init__(name=name, reduction=reduction, **kwargs)
        self.label_smoothing = check_value(
            "label_smoothing", label_smoothing, Probability
        )

    def call(self, y_true, y_pred):
        """The loss of each row, (B,)."""
        count = y_pred.shape[-1]
        if not holds_probabilities(y_true, y_pred):
            if not self.label_smoothing:
                return ops.sparse_categorical_crossentropy(
                    _numbers(y_true), y_pred, from_logits=True
                )
            y_true = ops.one_hot(_numbers(y_true), count, dtype=y_pred.dtype)
        share = self.label_smoothing
        y_true = (1 - share) * ops.cast(y_true, y_pred.dtype) + share / count
        return ops.categorical_crossentropy(y_true, y_pred, from_logits=True)

    def get_config(self):
        """Adds the arguments."""
        return {**super().get_config(), "label_smoothing": self.label_smoothing}


@keras.saving.register_keras_serializable(package="zoo")
def class_accuracy(y_true, y_pred):
    """Whether the class with the highest output is the true or the likeliest one.

    Args:
        y_true, y_pred: see `ClassLoss`.

    Returns:
        float (B,), 0 or 1.

    Example:
        >>> logits = ops.array([[0.0, 1.0], [1.0, 0.0]])
        >>> class_accuracy(ops.array([1, 1]), logits).numpy().tolist()
        [1.0, 0.0]
    """
    numbers = y_true
    if holds_probabilities(y_true, y_pred):
        numbers = ops.argmax(y_true, axis=-1)
    found = ops.argmax(y_pred, axis=-1)
    return ops.cast(_numbers(numbers) == ops.cast(found, "int32"), "float32")


def holds_probabilities(y_true, y_pred):
    """Whether targets are rows of probabilities, bool."""
    return len(y_true.shape) == len(y_pred.shape) and y_true.shape[-1] != 1


def _numbers(y_true):
    """Class numbers int32 (B,)."""
    y_true = ops.cast(y_true, "int32")
    return ops.squeeze(y_true, -1) if len(y_true.shape) > 1 else y_true
