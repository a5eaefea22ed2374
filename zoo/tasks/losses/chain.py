"""Loss and metric of tags along a sentence."""

import keras
from keras import ops

from zoo.layers import crf
from zoo.tasks.losses.class_loss import likeliest_classes


@keras.saving.register_keras_serializable(package="zoo")
class CRFLoss(keras.losses.Loss):
    """The negative logarithm of a path's probability, for each row.

    Inputs:
        y_true int (B, W), -1 for padding; y_pred potentials float32 (B, W, T, T).

    Example:
        >>> potentials = ops.zeros((1, 3, 2, 2))  # all 8 paths are alike
        >>> loss = CRFLoss()(ops.array([[0, 1, 0]]), potentials)
        >>> round(float(loss), 3)  # log(8)
        2.079
    """

    def call(self, y_true, y_pred):
        """Loss (B,)."""
        return crf.log_partition(y_pred) - crf.path_score(y_pred, y_true)


@keras.saving.register_keras_serializable(package="zoo")
class TagAccuracy(keras.metrics.Metric):
    """The share of words with the right tag, of logits or of potentials.

    The tags are those of the best path; a scheme does not constrain it here. Of
    targets that are probabilities (B, W, T), the likeliest tag is right.

    Example:
        >>> logits = ops.array([[[0.0, 1.0], [0.0, 1.0], [0.0, 1.0]]])
        >>> float(TagAccuracy()([[1, 0, -1]], logits))
        0.5
    """

    def __init__(self, name="accuracy", **kwargs):
        super().__init__(name=name, **kwargs)
        self.right = self.add_variable((), "zeros", name="right")
        self.words = self.add_variable((), "zeros", name="words")

    def update_state(self, y_true, y_pred, sample_weight=None):
        """Counts words, which have a tag of at least 0, by their weights or rows'."""
        y_true = likeliest_classes(ops.convert_to_tensor(y_true), y_pred)
        real = ops.cast(y_true >= 0, "float32")
        if sample_weight is not None:
            weight = ops.cast(sample_weight, "float32")
            real = real * (weight if len(weight.shape) == 2 else weight[:, None])
        if len(y_pred.shape) == 4:
            tags = crf.best_path(y_pred)[0]
        else:
            tags = ops.cast(ops.argmax(y_pred, axis=-1), "int32")
        self.right.assign_add(ops.sum(ops.cast(tags == y_true, "float32") * real))
        self.words.assign_add(ops.sum(real))

    def result(self):
        """Share in [0, 1]."""
        return ops.divide_no_nan(self.right, self.words)
