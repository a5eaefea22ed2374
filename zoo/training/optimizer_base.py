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
from zoo.keras_internals import (
    OptimizerHooks,
    averages_of,
    batches_of,
    learning_rate_of,
    optimizer_strategy,
    trained_by,
    untrack,
)
from zoo.layers import is_lora

RATE = Annotated[float, Range("at least 0 and finite", lambda rate: rate >= 0)]
NO_RATE = -1.0  # no NaN: processes of JAX compare the values of variables
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
    rate_is_set = False
    _in_file = False

    # Keras raises an error there, and `ReduceLROnPlateau` and `LearningRateScheduler`
    # with it. Here the rate that was set is a variable, -1 before, so that a training
    # step that is already compiled uses it. From then on, config and variables are
    # those of an optimizer that was made with this rate, and so they are in a file.
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._await_rate()

    def _await_rate(self):
        """Makes the variable that can replace the schedule."""
        self.rate_is_set = False
        if isinstance(learning_rate_of(self), keras.Variable):
            self._set_rate = None
        elif self._set_rate is not None:
            self._set_rate.assign(NO_RATE)
        else:
            with strategy_scope(self), keras.name_scope(self.name):
                self._set_rate = keras.Variable(
                    NO_RATE,
                    name="learning_rate",
                    dtype=keras.config.floatx(),
                    trainable=False,
                    aggregation="only_first_replica",
                )
            untrack(self, self._set_rate)  # see `variables`

    @property
    def learning_rate(self):
        """The present rate; a number replaces the rate or the schedule for good.

        Raises:
            ValueError: if the value is a negative number, not finite, or no number.
        """
        if self._set_rate is None:
            return super().learning_rate
        schedule = learning_rate_of(self)
        if isinstance(schedule, LearningRateSchedule):
            # Keras counts batches here, even if several are accumulated to an update.
            rate = schedule(self.iterations)
        else:
            rate = schedule()
        rate = ops.cast(rate, self._set_rate.dtype)
        # JAX takes no variable in `where`.
        set_rate = ops.convert_to_tensor(self._set_rate)
        return ops.where(set_rate < 0, rate, set_rate)

    @learning_rate.setter
    def learning_rate(self, rate):
        rate = plain_rate(rate)
        if self._set_rate is not None and not callable(rate):
            self._set_rate.assign(rate)
            self.rate_is_set = True
            return
        keras.optimizers.Optimizer.learning_rate.fset(self, rate)
        self._await_rate()

    @property
    def variables(self):
        """The state; the second one is the rate, if it is a number.

        On JAX, a step is traced with these variables, and all others are constants. So
        the last ones are what the rate depends on. They are not in files.
        """
        variables = super().variables
        if keras.backend.backend() == "jax" and not self._in_file:
            plan = getattr(learning_rate_of(self), "plan_variables", ())
            rate = () if self._set_rate is None else (self._set_rate,)
            variables.extend([*plan, *rate])
        elif self.rate_is_set:
            variables.insert(1, self._set_rate)
        return variables

    @contextlib.contextmanager
    def _file(self):
        """A context in which `variables` are those of a file."""
        self._in_file = True
        try:
            yield
        finally:
            self._in_file = False

    def save_own_variables(self, store):
        """Writes the state."""
        with self._file():
            super().save_own_variables(store)

    def load_own_variables(self, store):
        """Restores the state, with or without a rate that replaces the schedule."""
        with self._file():
            more = len(store.keys()) - len(self.variables)
            if self._set_rate is not None and more == (-1 if self.rate_is_set else 1):
                stored = "1" in store.keys() and np.ndim(store["1"]) == 0
                if stored == (more == 1):
                    self._await_rate()
                    self.rate_is_set = stored
            super().load_own_variables(store)

    def get_config(self):
        """Constructor arguments; a rate that was set, in place of the schedule."""
        config = super().get_config()
        if self.rate_is_set:
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

    def update_variables(self, grads, variables, default):
        """Updates the variables with gradients of at least 32 bits."""
        default([ops.cast(grad, wide_dtype(grad.dtype)) for grad in grads], variables)

    # Keras computes both of the following in the variable's dtype.
    def update_averages(self, variables):
        """Moves the averages in their own dtype, once for each update."""
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
        due = ops.equal((batches_of(self) + 1) % batches, 0)
        for variable, average in zip(variables, averages_of(self), strict=True):
            if average is None:
                continue
            later = ops.cast(ops.not_equal(self.iterations, 0), average.dtype)
            momentum = ops.where(due, later * self.ema_momentum, 1.0)
            value = ops.cast(variable, average.dtype)
            average.assign(momentum * average + (1 - momentum) * value)

    def assign_averages(self, variables, default):
        """Sets the variables to their averages, on every replica."""
        if keras.backend.backend() != "tensorflow":
            default(variables)
            return
        for variable, average in zip(variables, averages_of(self), strict=True):
            if average is not None:
                optimizer_strategy(self).extended.update(
                    variable.value, self.assign, args=(average.value,)
                )


class ClipsTheSum:
    """Clips the sum of the gradients of all replicas; Keras clips each replica's."""

    def clip_each(self, grads, default):
        """The gradients as they are with TensorFlow, see `sum_gradients`."""
        if keras.backend.backend() == "tensorflow":
            return grads
        return default(_of_one_dtype(grads))

    def sum_gradients(self, pairs, default, clip):
        """The gradients of all replicas, added up and clipped, with the variables."""
        pairs = list(pairs)
        # TensorFlow never releases a graph that adds up over replicas.
        if _replicas() > 1:
            pairs = default(pairs)
        kept = [pair for pair in pairs if pair[0] is not None]
        # A sparse gradient has a row for each time that a token occurs. They are added
        # up first: the square of their sum is not the sum of their squares.
        grads = [ops.add(grad, 0.0) for grad, _ in kept]
        grads = clip(_of_one_dtype(grads))
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
        if not any(map(is_lora, trained_by(self))):
            super().save_own_variables(store)

    def load_own_variables(self, store):
        """Restores the state; without one in the file, training starts anew."""
        if store.keys():
            super().load_own_variables(store)


class ZooOptimizer(
    WithoutLora,
    SettableRate,
    WideState,
    ClipsTheSum,
    CheckedArguments,
    OptimizerHooks,
):
    """Mixin with all features above; list it before the Keras optimizer."""


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
    strategy = optimizer_strategy(optimizer)
    return strategy.scope() if strategy else contextlib.nullcontext()


def _of_one_dtype(grads):
    """The gradients, in float64 if some of them are; a common norm needs one dtype."""
    dtypes = {keras.backend.standardize_dtype(grad.dtype) for grad in grads}
    return [ops.cast(grad, "float64") for grad in grads] if len(dtypes) > 1 else grads
