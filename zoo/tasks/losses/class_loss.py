"""Loss and metric of one of several classes, given as a number or as probabilities."""

import keras
from keras import ops

from zoo.checks.ranges import Probability, check_value
from zoo.keras_internals import set_mask


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
        padded: bool, whether targets have padding, which has no loss: the number -1, or
            a row of zeros.
        reduction, name, dtype: as of `keras.losses.Loss`.

    Inputs:
        y_true int (...) or (..., 1), or float (..., C); y_pred float (..., C), logits.

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
        padded=False,
        reduction="mean_with_sample_weight",
        name="class_loss",
        **kwargs,
    ):
        super().__init__(name=name, reduction=reduction, **kwargs)
        self.padded = padded
        self.label_smoothing = check_value(
            "label_smoothing", label_smoothing, Probability
        )

    def call(self, y_true, y_pred):
        """The loss of each row or word, (...)."""
        count, share = y_pred.shape[-1], self.label_smoothing
        soft = holds_probabilities(y_true, y_pred)
        numbers = likeliest_classes(y_true, y_pred)
        known = ops.maximum(numbers, 0) if self.padded else numbers
        if soft or share:
            rows = y_true if soft else ops.one_hot(known, count)
            rows = (1 - share) * ops.cast(rows, y_pred.dtype) + share / count
            loss = ops.categorical_crossentropy(rows, y_pred, from_logits=True)
        else:
            loss = ops.sparse_categorical_crossentropy(known, y_pred, from_logits=True)
        if self.padded:
            loss = ops.where(numbers >= 0, loss, 0.0)
            set_mask(loss, numbers >= 0)
        return loss

    def get_config(self):
        """Adds the arguments."""
        known = {"label_smoothing": self.label_smoothing, "padded": self.padded}
        return {**super().get_config(), **known}


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
    found = ops.cast(ops.argmax(y_pred, axis=-1), "int32")
    return ops.cast(likeliest_classes(y_true, y_pred) == found, "float32")


def holds_probabilities(y_true, y_pred):
    """Whether targets are rows of probabilities, bool."""
    return len(y_true.shape) == len(y_pred.shape) and y_true.shape[-1] != 1


def likeliest_classes(y_true, y_pred):
    """Class numbers int32 (...) of targets; of a row of zeros, which is padding, -1."""
    if holds_probabilities(y_true, y_pred):
        found = ops.cast(ops.argmax(y_true, axis=-1), "int32")
        return ops.where(ops.any(y_true > 0, axis=-1), found, -1)
    y_true = ops.cast(y_true, "int32")
    alike = len(y_true.shape) == len(y_pred.shape)
    return ops.squeeze(y_true, -1) if alike else y_true
