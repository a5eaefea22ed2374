"""Adagrad as ELMo uses it."""

import keras
from keras import ops

from zoo.keras_internals import accumulator_of, index_of
from zoo.training.optimizer_base import ZooOptimizer


@keras.saving.register_keras_serializable(package="zoo")
class Adagrad(ZooOptimizer, keras.optimizers.Adagrad):
    """Keras' Adagrad, clipped by the norm of the sum over replicas.

    `a = a + g^2; w = w - rate g / sqrt(a + epsilon)`. Accumulators of 16-bit weights
    are float32. Setting `learning_rate` replaces a schedule.

    ELMo's authors multiply the loss by n = 20, the number of steps in a batch. They
    train with a rate of 0.2, accumulators that start at 1.0, and gradients clipped to
    norm 10. The mean loss gives the same updates with accumulators that start at
    1 / n^2 and gradients clipped to norm 10 / n.

    Source: Duchi et al. 2011; Peters et al. 2018, released code `bilm/training.py`.

    Args:
        **kwargs: of `keras.optimizers.Adagrad`.

    Example:
        >>> weight = keras.Variable([1.0])
        >>> optimizer = Adagrad(learning_rate=0.5, initial_accumulator_value=3.0)
        >>> optimizer.apply([keras.ops.convert_to_tensor([1.0])], [weight])
        >>> weight.numpy().tolist()
        [0.75]
    """

    def update_step(self, gradient, variable, learning_rate):
        """One update of one variable."""
        accumulator = accumulator_of(self, index_of(self, variable))
        gradient = ops.cast(gradient, accumulator.dtype)
        rate = ops.cast(learning_rate, accumulator.dtype)
        self.assign_add(accumulator, ops.square(gradient))
        root = ops.sqrt(ops.add(accumulator, self.epsilon))
        self.assign_sub(variable, rate * gradient / root)
