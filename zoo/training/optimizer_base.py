"""What the optimizers of this package add to those of Keras."""

import contextlib
import inspect
from typing import Annotated

import keras
import numpy as np
from keras import ops
from keras.optimizers.schedules import LearningRateSchedule

from zoo.checks.ranges import (
    Count,
    NotNegative,
    Positive,
    Probability,
    Range,
    Size,
    check_value,
)
from zoo.layers import is_lora

RATE = Annotated[float, Range("at least 0 and finite", lambda rate: rate >= 0)]
# The arguments of Keras' optimizers.
RANGES = {
    **dict.fromkeys(("beta_1", "beta_2"), Probability),
    "weight_decay": NotNegative | None,
    **dict.fromkeys(("clipnorm", "clipvalue", "global_clipnorm"), Positive | None),
    "epsilon": NotNegative,
    "ema_momentum": Annotated[float, Range("in [0, 1]", lambda x: 0 <= x <= 1)],
    "ema_overwrite_frequency": Size | None,
    "gradient_accumulation_steps": Count | None,
    "initial_accumulator_value": NotNegative,
    "loss_scale_factor": Positive | None,
    "use_ema": bool,
}


class SettableRate:
    """Lets `optimizer.learning_rate = x` replace a schedule."""

    _set_rate = None  # only beside a schedule; a plain rate is Keras' own variable
    _rate_is_set = False

    # Keras raises an error there, and `ReduceLROnPlateau` and `LearningRateScheduler`
    # with it. Here the rate that was set is a variable, NaN before, so that a training
    # step that is already compiled uses it. From then on, config and variables are
    # those of an optimizer that was made with this rate, and so they are in a file.
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._await_rate()

    def _await_rate(self):
        """Makes the variable that can replace the schedule."""
        self._rate_is_set = False
        if isinstance(self._learning_rate, keras.Variable):
            self._set_rate = None
        elif self._set_rate is not None:
            self._set_rate.assign(float("nan"))
        else:
            with strategy_scope(self), keras.name_scope(self.name):
                self._set_rate = keras.Variable(
                    float("nan"),
                    name="learning_rate",
                    dtype=keras.config.floatx(),
                    trainable=False,
                    aggregation="only_first_replica",
                )
            self._untrack_variable(self._set_rate)  # see `variables`

    @property
    def learning_rate(self):
        """The present rate; a number replaces the rate or the schedule for good.

        Raises:
            ValueError: if the value is a negative number, not finite, or no number.
        """
        return self._get_current_learning_rate()

    @learning_rate.setter
    def learning_rate(self, rate):
        rate = plain_rate(rate)
        if self._set_rate is not None and not callable(rate):
            self._set_rate.assign(rate)
            self._rate_is_set = True
            return
        keras.optimizers.Optimizer.learning_rate.fset(self, rate)
        self._await_rate()

    def _get_current_learning_rate(self):
        if self._set_rate is None:
            return super()._get_current_learning_rate()
        if isinstance(self._learning_rate, LearningRateSchedule):
            # Keras counts batches here, even if several are accumulated to an update.
            rate = self._learning_rate(self.iterations)
        else:
            rate = self._learning_rate()
        rate = ops.cast(rate, self._set_rate.dtype)
        own = ops.convert_to_tensor(self._set_rate)  # JAX takes no variable in `where`
        return ops.where(ops.isnan(own), rate, own)

    @property
    def variables(self):
        """The state; the second one is the rate, if it is a number."""
        variables = super().variables
        if self._rate_is_set:
            variables.insert(1, self._set_rate)
        return variables

    def load_own_variables(self, store):
        """Restores the state, with or without a rate that replaces the schedule."""
        more = len(store.keys()) - len(self.variables)
        if self._set_rate is not None and more == (-1 if self._rate_is_set else 1):
            stored = "1" in store.keys() and np.ndim(store["1"]) == 0
            if stored == (more == 1):
                self._await_rate()
                self._rate_is_set = stored
        super().load_own_variables(store)

    def get_config(self):
        """Constructor arguments; a rate that was set, in place of the schedule."""
        config = super().get_config()
        if self._rate_is_set:
            config["learning_rate"] = float(ops.convert_to_numpy(self._set_rate))
        return config


class WideState:
    """Keeps the state of 16-bit variables in float32; Keras keeps it in 16 bits."""

    # In bfloat16, 0.999 is 1 and a second moment never falls. In float16, the square of
    # a gradient below 2e-4 is 0.
    def add_variable(self, shape, initializer="zeros", dtype=None, **kwargs):
        """Adds a variable to the state; see `keras.optimizers.Optimizer`."""
        dtype = wide_dtype(dtype or keras.config.floatx())
        return super().add_variable(shape, initializer, dtype, **kwargs)

    def _backend_apply_gradients(self, grads, trainable_variables):
        grads = [ops.cast(grad, wide_dtype(grad.dtype)) for grad in grads]
        super()._backend_apply_gradients(grads, trainable_variables)

    # Keras computes both of the following in the variable's dtype.
    def _update_model_variables_moving_average(self, trainable_variables):
        if not self.use_ema:
            return
        batches = self.gradient_accumulation_steps or 1
        if batches > 1 and self.ema_overwrite_frequency:
            raise ValueError(
                "`ema_overwrite_frequency` cannot be combined with "
                f"gradient_accumulation_steps. Received: {self.ema_overwrite_frequency}"
                f" and {batches}. Leave it out: `fit` sets the averages at its end."
            )
        # The counter of batches is raised later.
        due = ops.equal((self._iterations + 1) % batches, 0)
        averages = self._model_variables_moving_average
        for variable, average in zip(trainable_variables, averages, strict=True):
            if average is None:
                continue
            later = ops.cast(ops.not_equal(self.iterations, 0), average.dtype)
            momentum = ops.where(due, later * self.ema_momentum, 1.0)
            value = ops.cast(variable, average.dtype)
            average.assign(momentum * average + (1 - momentum) * value)

    def _overwrite_model_variables_with_average_value(self, trainable_variables):
        if keras.backend.backend() != "tensorflow":
            super()._overwrite_model_variables_with_average_value(trainable_variables)
            return
        averages = self._model_variables_moving_average
        for variable, average in zip(trainable_variables, averages, strict=True):
            if average is not None:
                self._distribution_strategy.extended.update(
                    variable.value, self.assign, args=(average.value,)
                )


class ClipsTheSum:
    """Clips the sum of the gradients of all replicas; Keras clips each replica's."""

    def _clip_gradients(self, grads):
        if keras.backend.backend() == "tensorflow":
            return grads
        return super()._clip_gradients(_of_one_dtype(grads))

    def _all_reduce_sum_gradients(self, grads_and_vars):
        pairs = list(grads_and_vars)
        # TensorFlow never releases a graph that adds up over replicas.
        if _replicas() > 1:
            pairs = super()._all_reduce_sum_gradients(pairs)
        kept = [pair for pair in pairs if pair[0] is not None]
        # A sparse gradient has a row for each time that a token occurs. They are added
        # up first: the square of their sum is not the sum of their squares.
        grads = [ops.add(grad, 0.0) for grad, _ in kept]
        grads = super()._clip_gradients(_of_one_dtype(grads))
        return list(zip(grads, (variable for _, variable in kept), strict=True))


class CheckedArguments:
    """Checks the arguments before Keras uses them. NumPy's numbers become Python's."""

    def __init__(self, *args, **kwargs):
        bound = inspect.signature(super().__init__).bind(*args, **kwargs)
        given = bound.arguments
        for name in RANGES.keys() & given.keys():
            given[name] = check_value(name, given[name], RANGES[name])
        if "learning_rate" in given:
            given["learning_rate"] = plain_rate(given["learning_rate"])
        super().__init__(*bound.args, **bound.kwargs)


class WithoutLora:
    """Leaves its state out of files if it trains LoRA, which files hold merged."""

    def save_own_variables(self, store):
        """Writes the state, or nothing if a trained variable is not in the file."""
        if not any(map(is_lora, self._trainable_variables)):
            super().save_own_variables(store)

    def load_own_variables(self, store):
        """Restores the state; without one in the file, training starts anew."""
        if store.keys():
            super().load_own_variables(store)


class ZooOptimizer(WithoutLora, SettableRate, WideState, ClipsTheSum, CheckedArguments):
    """All of the above; stands before an optimizer of Keras among the bases."""


def plain_rate(rate):
    """A rate as a checked float; schedules, functions and tensors do not change."""
    if callable(rate) or ops.is_tensor(rate) or isinstance(rate, keras.Variable):
        return rate
    return float(check_value("learning_rate", rate, RATE))


def wide_dtype(dtype):
    """The name of a dtype, "float32" for one of 16 bits."""
    name = keras.backend.standardize_dtype(dtype)
    return "float32" if name in ("float16", "bfloat16") else name


def _replicas():
    """The number of replicas of TensorFlow's present strategy."""
    import tensorflow as tf

    return tf.distribute.get_strategy().num_replicas_in_sync


def strategy_scope(optimizer):
    """The scope of the strategy that an optimizer was made in."""
    strategy = getattr(optimizer, "_distribution_strategy", None)
    return strategy.scope() if strategy else contextlib.nullcontext()


def _of_one_dtype(grads):
    """The gradients, in float64 if some of them are; a common norm needs one dtype."""
    dtypes = {keras.backend.standardize_dtype(grad.dtype) for grad in grads}
    return [ops.cast(grad, "float64") for grad in grads] if len(dtypes) > 1 else grads
