"""Rows of several sequences, as rows of one sequence and back."""

import keras
from keras import ops

from zoo.checks.ranges import Size
from zoo.layers.checked_arguments import keep_checked


@keras.saving.register_keras_serializable(package="zoo")
class MergeRows(keras.layers.Layer):
    """The sequences of all rows as rows: (B, N, ...) to (B N, ...).

    Example:
        >>> tuple(MergeRows()(ops.ones((2, 3, 4))).shape)
        (6, 4)
    """

    def call(self, x):
        """Reshapes x."""
        return ops.reshape(x, (-1, *ops.shape(x)[2:]))

    def compute_output_spec(self, x):
        """Unknown rows."""
        return keras.KerasTensor((None, *x.shape[2:]), dtype=x.dtype)


@keras.saving.register_keras_serializable(package="zoo")
class SplitRows(keras.layers.Layer):
    """The inverse of `MergeRows`: (B N, ...) to (B, N, ...).

    Args:
        count: int, N.

    Example:
        >>> tuple(SplitRows(3)(ops.ones((6, 4))).shape)
        (2, 3, 4)
    """

    def __init__(self, count, **kwargs):
        super().__init__(**kwargs)
        keep_checked(self, Size, count=count)

    def call(self, x):
        """Reshapes x."""
        return ops.reshape(x, (-1, self.count, *ops.shape(x)[1:]))

    def compute_output_spec(self, x):
        """Unknown rows."""
        return keras.KerasTensor((None, self.count, *x.shape[1:]), dtype=x.dtype)
