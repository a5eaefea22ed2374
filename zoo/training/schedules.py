"""Learning rate schedules of BERT, of the Transformer and of ULMFiT."""

from typing import Annotated

import keras
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
    check_values,
    fits,
    plain_value,
)

UNPLANNED_WARMUP = 50  # updates
RATIO = Annotated[float, Range("a number of at least 1", lambda ratio: ratio >= 1)]


@keras.saving.register_keras_serializable(package="zoo")
class WarmupLinearDecay(LearningRateSchedule):
    """A linear warm-up to the peak, followed by a linear decay to zero.

    The rate at update t, counted from 0, is `peak t / warmup_steps` while
    t < warmup_steps. Later it is `peak (1 - t / decay_steps)`: the decay counts from
    update 0, not from the end of the warm-up. Without a decay it stays at the peak.

    Source: Devlin et al. 2019, released code `optimization.py`.
    `keras.optimizers.schedules` has no linear warm-up before a linear decay.

    Args:
        peak: float, learning rate per update.
        warmup_steps: int, updates.
        decay_steps: int, updates until the rate is zero, or None for no decay.

    Raises:
        ValueError: if a number is out of its range, or the decay ends before the
            warm-up.

    Example:
        >>> rate = WarmupLinearDecay(peak=1.0, warmup_steps=2, decay_steps=4)
        >>> [float(rate(step)) for step in range(5)]
        [0.0, 0.5, 0.5, 0.25, 0.0]
    """

    def __init__(self, peak, warmup_steps=0, decay_steps=None):
        self.peak = check_value("peak", peak, NotNegative)
        self.warmup_steps = check_value("warmup_steps", warmup_steps, Count)
        self.decay_steps = check_value("decay_steps", decay_steps, Size | None)
        if decay_steps is not None and decay_steps < warmup_steps:
            raise ValueError(
                "`decay_steps` must be at least `warmup_steps`. Received: "
                f"decay_steps={decay_steps}, warmup_steps={warmup_steps}."
            )

    def __call__(self, step):
        """The learning rate at update `step`."""
        step = ops.cast(step, "float32")
        rate = ops.convert_to_tensor(self.peak, "float32")
        if self.decay_steps is not None:
            rate = rate * ops.maximum(1.0 - step / self.decay_steps, 0.0)
        if self.warmup_steps:
            warm = self.peak * step / self.warmup_steps
            rate = ops.where(step < self.warmup_steps, warm, rate)
        return rate

    def get_config(self):
        """Constructor arguments."""
        return {
            "peak": self.peak,
            "warmup_steps": self.warmup_steps,
            "decay_steps": self.decay_steps,
        }


@keras.saving.register_keras_serializable(package="zoo")
class InverseSquareRoot(LearningRateSchedule):
    """A linear warm-up to the peak, followed by a decay with the inverse square root.

    The rate at update t, counted from 0, is `peak min(s / w, sqrt(w / s))` with
    `s = t + 1` and w = `warmup_steps`.

    Source: Vaswani et al. 2017, equation 3, whose peak is `(D w)^-0.5`: 7.0e-4 for the
    base model (D = 512, w = 4000). tensor2tensor's second and third version have
    `2 (D w)^-0.5` with w = 8000, 9.9e-4. fairseq has a peak of 5e-4.

    Args:
        peak: float, learning rate per update.
        warmup_steps: int, updates, at least 1.

    Raises:
        ValueError: if `peak` is not positive, or `warmup_steps` is less than 1.

    Example:
        >>> rate = InverseSquareRoot(peak=1.0, warmup_steps=4)
        >>> [float(rate(step)) for step in (0, 1, 3, 15)]
        [0.25, 0.5, 1.0, 0.5]
    """

    def __init__(self, peak, warmup_steps=4000):
        self.peak = check_learning_rate(peak, "peak")
        self.warmup_steps = check_value("warmup_steps", warmup_steps, Size)

    def __call__(self, step):
        """The learning rate at update `step`."""
        share = (ops.cast(step, "float32") + 1.0) / self.warmup_steps
        return self.peak * ops.minimum(share, ops.rsqrt(share))

    def get_config(self):
        """Constructor arguments."""
        return {"peak": self.peak, "warmup_steps": self.warmup_steps}


class PlannedSchedule(LearningRateSchedule):
    """A schedule over the updates of one `fit`, whose number is not known before.

    A plan has n updates, counted from 0. Before the first plan and after the end of a
    plan, the rate rises for 50 updates and then stays at the peak.

    `fit` of a task makes the plan, see `PlanUpdates`. The plan is held in variables, so
    a training step that is already compiled follows a new plan. A subclass defines
    `planned_rate`.

    Args:
        peak: float, learning rate per update.
        begin: int, the optimizer's number of the first update of the plan.
        updates: int, updates of the plan; 0 for no plan.

    Raises:
        ValueError: if a number is out of its range.
    """

    awaits_plan = True

    def __init__(self, peak, begin=0, updates=0):
        self.peak = check_learning_rate(peak, "peak")
        check_values(int, begin=begin)
        check_values(Count, updates=updates)
        self.begin, self.updates = (
            keras.Variable(
                float(value),
                name=name,
                dtype="float32",
                trainable=False,
                aggregation="only_first_replica",
            )
            for name, value in (("begin", begin), ("updates", updates))
        )

    @property
    def plan_variables(self):
        """The variables that hold the plan."""
        return self.begin, self.updates

    def plan(self, begin, updates):
        """Replaces the plan; see the arguments of the class."""
        self.begin.assign(float(begin))
        self.updates.assign(float(updates))

    def planned(self):
        """The first update of the plan and the number of updates, ints."""
        values = map(ops.convert_to_numpy, (self.begin, self.updates))
        return tuple(int(value) for value in values)

    def planned_rate(self, step, updates):
        """The rate at update `step` of a plan of `updates`, both float32."""
        raise NotImplementedError

    def __call__(self, step):
        """The learning rate at update `step` of the optimizer."""
        updates = ops.convert_to_tensor(self.updates)
        step = ops.maximum(ops.cast(step, "float32") - self.begin, 0.0)
        rate = self.planned_rate(step, updates)
        after = step - updates
        warm = self.peak * after / UNPLANNED_WARMUP
        after = ops.where(after < UNPLANNED_WARMUP, warm, self.peak)
        return ops.where(step < updates, rate, after)

    def get_config(self):
        """Constructor arguments."""
        begin, updates = self.planned()
        return {"peak": self.peak, "begin": begin, "updates": updates}


@keras.saving.register_keras_serializable(package="zoo")
class PlannedDecay(PlannedSchedule):
    """A linear warm-up and a linear decay to zero over the updates of one `fit`.

    At update s of a plan of n updates, the rate is that of
    `WarmupLinearDecay(peak, w, n)` with `w = floor(n warmup_share)`. For the plan and
    the rate without a plan, see `PlannedSchedule`.

    Source: Devlin et al. 2019, appendix A.3, with a share of 0.1; Radford et al. 2018,
    section 4.1, with 0.002. GPT's released code multiplies both factors during the
    warm-up.

    Args:
        peak, begin, updates: see `PlannedSchedule`.
        warmup_share: float in [0, 1), the share of the updates before the peak.

    Raises:
        ValueError: if a number is out of its range.

    Example:
        >>> rate = PlannedDecay(peak=1.0, warmup_share=0.5, begin=0, updates=4)
        >>> [float(rate(step)) for step in range(4)]
        [0.0, 0.5, 0.5, 0.25]
    """

    def __init__(self, peak, begin=0, updates=0, warmup_share=0.1):
        super().__init__(peak, begin, updates)
        self.warmup_share = check_value("warmup_share", warmup_share, Probability)

    def planned_rate(self, step, updates):
        """The rate at update `step` of a plan of `updates`, both float32."""
        rate = self.peak * (1.0 - step / ops.maximum(updates, 1.0))
        warmup = ops.floor(updates * self.warmup_share)
        warm = self.peak * step / ops.maximum(warmup, 1.0)
        return ops.where(step < warmup, warm, rate)

    def get_config(self):
        """Constructor arguments."""
        return {**super().get_config(), "warmup_share": self.warmup_share}


@keras.saving.register_keras_serializable(package="zoo")
class SlantedTriangle(PlannedSchedule):
    """A short linear rise to the peak, followed by a long linear decay.

    At update t of T, with `cut = floor(T cut_fraction)`:
    `rate = peak (1 + p (ratio - 1)) / ratio`, `p = t / cut` while t < cut, and
    `p = 1 - (t - cut) / (T - cut)` later. So the rate is `peak / ratio` at update 0 and
    after the end, and `peak` at update `cut`. If cut is 0, there is no rise.

    Without `steps`, T is the number of updates of `fit`, which makes a plan as for
    `PlannedDecay`; see `PlannedSchedule` for the rate without a plan.

    Source: Howard and Ruder 2018, equation 3. Its denominator is
    `cut (1 / cut_fraction - 1)`, which is `T - cut` where T cut_fraction is whole. In
    other cases its rate at the end is not exactly `peak / ratio`. The released code
    has `T - cut`, as here. Its ratio and cut_fraction are 32 and 1/10 for the language
    model. For the classifier they are 8 and 1/3 in the frozen stages, then 8 and 1/8.

    Args:
        peak: float, learning rate per update.
        steps: int, updates from the first one of the optimizer, at least 1; or None
            for those of `fit`.
        cut_fraction: float in [0, 1), the share of the updates before the peak.
        ratio: float, at least 1, the peak divided by the lowest rate.
        begin, updates: the plan, see `PlannedSchedule`; ignored if `steps` is given.

    Raises:
        ValueError: if a number is out of its range.

    Example:
        >>> rate = SlantedTriangle(peak=1.0, steps=4, cut_fraction=0.5, ratio=2)
        >>> [float(rate(step)) for step in range(4)]
        [0.5, 0.75, 1.0, 0.75]
    """

    def __init__(
        self, peak, steps=None, cut_fraction=0.1, ratio=32, begin=0, updates=0
    ):
        self.steps = check_value("steps", steps, Size | None)
        self.cut_fraction = check_value("cut_fraction", cut_fraction, Probability)
        self.ratio = check_value("ratio", ratio, RATIO)
        super().__init__(peak, *((begin, updates) if steps is None else (0, steps)))
        self.awaits_plan = steps is None

    def planned_rate(self, step, updates):
        """The rate at update `step` of a plan of `updates`, both float32."""
        cut = ops.floor(updates * self.cut_fraction)
        rise = step / ops.maximum(cut, 1.0)
        fall = 1.0 - (step - cut) / ops.maximum(updates - cut, 1.0)
        share = ops.maximum(ops.where(step < cut, rise, fall), 0.0)
        return self.peak * (1.0 + share * (self.ratio - 1.0)) / self.ratio

    def __call__(self, step):
        """The learning rate at update `step` of the optimizer."""
        if self.awaits_plan:
            return super().__call__(step)
        step = ops.cast(step, "float32")
        return self.planned_rate(step, ops.convert_to_tensor(self.updates))

    def get_config(self):
        """Constructor arguments."""
        shape = {"cut_fraction": self.cut_fraction, "ratio": self.ratio}
        if self.steps is not None:
            return {"peak": self.peak, "steps": self.steps, **shape}
        return {**super().get_config(), **shape}


def check_learning_rate(rate, name="learning_rate"):
    """A learning rate as a float; ValueError if it is not a positive, finite number."""
    rate = plain_value(rate)
    if not fits(rate, Positive):
        raise ValueError(
            f"`{name}` must be a positive number. Received: {rate!r:.80}. For a "
            "schedule, compile with `zoo.training.AdamW(schedule)`."
        )
    return float(rate)
