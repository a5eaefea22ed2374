"""A dense layer whose units are maxima."""

import math

import keras
from keras import ops

from zoo.checks.ranges import Size, check_value
from zoo.layers.quantization import CompositeLayer


@keras.saving.register_keras_serializable(package="zoo")
class Maxout(CompositeLayer):
    """Each unit is the largest of several linear functions: `max_k (x W_k + b_k)`.

    Column `u P + k` of the kernel of the inner dense layer is function k of unit u.

    Source: Goodfellow et al. 2013, section 3.

    Args:
        units: int, U.
        pool_size: int, P, linear functions for each unit; 4 as in AllenNLP's `bcn`.

    Inputs:
        (B, D).

    Returns:
        (B, U).

    Raises:
        ValueError: if a size is not positive.

    Example:
        >>> tuple(Maxout(units=3, pool_size=2)(ops.ones((2, 4))).shape)
        (2, 3)
    """

    def __init__(self, units, pool_size=4, **kwargs):
        super().__init__(**kwargs)
        self.units = check_value("units", units, Size)
        self.pool_size = check_value("pool_size", pool_size, Size)
        self.dense = keras.layers.Dense(
            self.units * self.pool_size, dtype=self.dtype_policy, name="dense"
        )

    def build(self, input_shape):
        """Builds the dense layer."""
        self.dense.build(input_shape)

    def call(self, x):
        """Computes the maxima."""
        pieces = ops.reshape(self.dense(x), (-1, self.units, self.pool_size))
        return ops.max(pieces, axis=-1, initial=-math.inf)

    def compute_output_shape(self, input_shape):
        """(B, U)."""
        return (input_shape[0], self.units)

    def get_config(self):
        """Adds the sizes."""
        sizes = {"units": self.units, "pool_size": self.pool_size}
        return {**super().get_config(), **sizes}
