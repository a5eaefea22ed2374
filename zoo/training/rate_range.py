"""The learning-rate range test: which rates lower the loss, and which raise it."""

import contextlib
import dataclasses
import math
from typing import Annotated

import keras
import numpy as np

from zoo.checks.ranges import CheckedFields, Positive, Range, check_values
from zoo.keras_internals import learning_rate_of
from zoo.training.schedules import PlannedSchedule
from zoo.training.update_plan import unwrapped

SMOOTHING = 0.9  # of the exponential average of the loss
DIVERGENCE_FACTOR = 4.0  # times the lowest smoothed loss
RATE_MARGIN = 10.0  # between the rate with the lowest loss and the suggestion


UPDATES = Annotated[int, Range("an integer of at least 2", lambda n: n >= 2)]


@dataclasses.dataclass(frozen=True)
class RateCurve(CheckedFields):
    """What a learning-rate range test measured.

    `zoo.visualize.plot_rate_curve` draws it.

    Args:
        rates: tuple of float (N,), the learning rate of each update, rising.
        losses: tuple of float (N,), of the batch before the update.
        smoothed: tuple of float (N,), exponential average of the losses, with
            `a_n = 0.9 a_(n-1) + 0.1 loss_n` divided by `1 - 0.9^n`, which corrects the
            bias of the start.

    Raises:
        ValueError: if these are not tuples of numbers, or their lengths differ.
    """

    rates: tuple[Positive, ...]
    losses: tuple[float, ...]
    smoothed: tuple[float, ...]

    def __post_init__(self):
        """Checks the fields, and that their lengths are the same."""
        super().__post_init__()
        counts = [len(self.rates), len(self.losses), len(self.smoothed)]
        if len({*counts}) > 1:
            raise ValueError(
                "Each update must have a rate, a loss and a smoothed loss. Received: "
                f"{counts} of them."
            )

    @property
    def suggestion(self):
        """A tenth of the rate with the lowest smoothed loss; None if no loss falls."""
        # At that rate the loss is about to rise. A tenth of it is in the range where
        # the loss falls, and leaves a margin for the rest of the training.
        if not self.smoothed or np.argmin(self.smoothed) == 0:
            return None
        return self.rates[int(np.argmin(self.smoothed))] / RATE_MARGIN


class RangeTest(keras.callbacks.Callback):
    """Raises the learning rate from update to update, and keeps the losses.

    Update i of n has the rate `lowest (highest / lowest)^(i / (n - 1))`. The training
    stops after the last update, or when the loss diverges: when it is not finite, or
    its exponential average is more than four times the lowest one.

    Source: Smith 2017, "Cyclical Learning Rates for Training Neural Networks", section
    3.3. The rates are exponential and the loss is smoothed, as in fastai's `lr_find`.

    Args:
        lowest, highest: float, learning rates.
        updates: int, at least 2.

    Raises:
        ValueError: if the rates are not positive and rising, or there are fewer than 2
            updates.
    """

    def __init__(self, lowest=1e-7, highest=1.0, updates=100):
        super().__init__()
        check_values(Positive, lowest=lowest, highest=highest)
        check_values(UPDATES, updates=updates)
        if lowest >= highest:
            raise ValueError(
                "`lowest` must be less than `highest`. Received: "
                f"lowest={lowest}, highest={highest}."
            )
        self.rates = np.geomspace(float(lowest), float(highest), updates).tolist()

    def on_train_begin(self, logs=None):
        """Starts without losses."""
        self.losses, self.smoothed, self.average, self.batches = [], [], 0.0, 0
        self.per_update = (
            unwrapped(self.model.optimizer).gradient_accumulation_steps or 1
        )

    def on_train_batch_begin(self, batch, logs=None):
        """Sets the rate of an update."""
        if self.batches % self.per_update == 0:
            self.model.reset_metrics()  # else the loss is the mean since the start
            self.model.optimizer.learning_rate = self.rates[len(self.losses)]

    def on_train_batch_end(self, batch, logs=None):
        """Keeps the loss of an update, and decides whether there is another one."""
        self.batches += 1
        loss = float(logs["loss"])
        if not math.isfinite(loss):
            self.model.stop_training = True
        elif self.batches % self.per_update == 0:
            self.losses.append(loss)
            self.average = SMOOTHING * self.average + (1 - SMOOTHING) * loss
            self.smoothed.append(self.average / (1 - SMOOTHING ** len(self.losses)))
            diverged = self.smoothed[-1] > DIVERGENCE_FACTOR * min(self.smoothed)
            if diverged or len(self.losses) == len(self.rates):
                self.model.stop_training = True

    def curve(self):
        """The `RateCurve` of the training."""
        rates = tuple(self.rates[: len(self.losses)])
        return RateCurve(rates, tuple(self.losses), tuple(self.smoothed))


@contextlib.contextmanager
def unchanged(model):
    """A context after which a model is as it was before, whatever trains it inside."""
    # Weights, random states, the state of the optimizer, its rate and its plan are
    # restored.
    optimizer, history = unwrapped(model.optimizer), vars(model).get("history")
    schedule, rate = learning_rate_of(optimizer), float(optimizer.learning_rate)
    was_set = getattr(optimizer, "rate_is_set", False)
    variables = [*model.variables, *model.optimizer.variables]
    if isinstance(schedule, PlannedSchedule):
        variables += [schedule.begin, schedule.updates]
    values = [keras.ops.convert_to_numpy(variable) for variable in variables]
    try:
        yield
    finally:
        if not isinstance(schedule, keras.Variable):
            optimizer.learning_rate = schedule  # in place of the rate that was set
        if was_set:
            optimizer.learning_rate = rate
        for variable, value in zip(variables, values, strict=True):
            variable.assign(value)
        model.reset_metrics()
        model.history, model.stop_training = history, False
