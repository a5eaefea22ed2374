"""The loss of sets of labels."""

import keras
import numpy as np
from keras import ops


@keras.saving.register_keras_serializable(package="zoo")
class LabelSetLoss(keras.losses.Loss):
    """Binary cross-entropy of each label, the mean over texts and labels.

    `loss_c = -(p_c y_c log s(x_c) + (1 - y_c) log(1 - s(x_c)))`, where s is the sigmoid
    and p_c the weight of the texts that have the label c. It is computed from logits,
    which Keras' loss with weights is not. The weights of the mean are those of texts,
    (B,), or of the labels of texts, (B, C), which `class_weight` makes.

    Source: PyTorch, `BCEWithLogitsLoss` with `pos_weight`.

    Args:
        pos_weight: list of float (C,), p, or None for 1.
        reduction, name, dtype: as of `keras.losses.Loss`.

    Inputs:
        y_true float (B, C), in [0, 1]; y_pred float (B, C), logits.

    Example:
        >>> loss = LabelSetLoss()(ops.array([[1.0, 0.0]]), ops.array([[0.0, 0.0]]))
        >>> round(float(loss), 3)  # log(2)
        0.693
    """

    def __init__(
        self,
        pos_weight=None,
        reduction="mean_with_sample_weight",
        name="label_set_loss",
        **kwargs,
    ):
        super().__init__(name=name, reduction=reduction, **kwargs)
        self.pos_weight = None if pos_weight is None else [*map(float, pos_weight)]

    def __call__(self, y_true, y_pred, sample_weight=None):
        """The mean over the weights; that of a text is the weight of all labels."""
        if sample_weight is not None and len(sample_weight.shape) == 1:
            weights = ops.expand_dims(ops.cast(sample_weight, "float32"), -1)
            sample_weight = ops.broadcast_to(weights, ops.shape(y_pred))
        return super().__call__(y_true, y_pred, sample_weight)

    def call(self, y_true, y_pred):
        """The loss of each label of each text, (B, C)."""
        y_true, logits = ops.cast(y_true, "float32"), ops.cast(y_pred, "float32")
        # -log s(x) = softplus(-x), and -log(1 - s(x)) = x + softplus(-x)
        positive = ops.softplus(-logits)
        weight = 1.0
        if self.pos_weight is not None:
            weight = ops.convert_to_tensor(np.array(self.pos_weight, "float32"))
        return weight * y_true * positive + (1 - y_true) * (logits + positive)

    def get_config(self):
        """Adds the arguments."""
        return {**super().get_config(), "pos_weight": self.pos_weight}
