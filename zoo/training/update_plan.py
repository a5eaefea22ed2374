"""Plans the learning rates of a call of `fit`."""

import keras

from zoo.keras_internals import batches_of, learning_rate_of
from zoo.training.schedules import PlannedSchedule


class PlanUpdates(keras.callbacks.Callback):
    """Gives a `PlannedSchedule` the number of updates that `fit` will make.

    The plan has `epochs` x `steps` updates, divided by the optimizer's
    `gradient_accumulation_steps`. It begins `initial_epoch` x `steps` batches before
    the present one. So a run that was stopped after epoch k, and continues with
    `initial_epoch=k` and the same `epochs`, has the rates of an uninterrupted run.

    If neither Keras nor `steps` says the number of steps of an epoch, such as for an
    endless generator, the first epoch has no plan. The steps are counted, and the plan
    is made when the second epoch begins, as if it had begun with the first one.

    Nothing is planned if the optimizer has another schedule. A rate that was set by
    `optimizer.learning_rate = x` stays.

    Args:
        steps: int, the batches of an epoch where Keras does not know them, or None.
    """

    def __init__(self, steps=None):
        super().__init__()
        self.steps = steps

    def on_train_begin(self, logs=None):
        """Starts without a plan for this `fit`."""
        self.planned, self.first = False, None

    def on_epoch_begin(self, epoch, logs=None):
        """Makes the plan before the first update, or once the steps are counted."""
        optimizer = unwrapped(self.model.optimizer)
        schedule = learning_rate_of(optimizer)
        if self.planned or not awaits_plan(optimizer):
            return
        per_update = optimizer.gradient_accumulation_steps or 1
        batches = int(keras.ops.convert_to_numpy(batches_of(optimizer)))
        before = schedule.planned()
        steps = self.params.get("steps") or self.steps
        first = self.first or (epoch, batches)
        self.first = first
        if not steps and epoch > first[0]:
            steps = (batches - first[1]) // (epoch - first[0])
        elif not steps and epoch:
            steps = (batches - before[0] * per_update) // epoch
        if not steps:
            schedule.plan(batches // per_update, 0)
            return
        begin = (batches - epoch * steps) // per_update
        updates = self.params["epochs"] * steps // per_update
        if epoch and updates == before[1]:
            # Updates that float16 skips are not counted: the plan began later.
            begin = max(begin, before[0])
        schedule.plan(begin, updates)
        self.planned = True


def awaits_plan(optimizer):
    """Whether an optimizer has a schedule that needs the number of updates."""
    schedule = learning_rate_of(unwrapped(optimizer))
    return isinstance(schedule, PlannedSchedule) and schedule.awaits_plan


def batches_before(optimizer, epoch, steps, epochs):
    """The batches that a model was trained on before `epoch` of a run."""
    # The number is the same for a run that continues as for one that was not
    # interrupted.
    optimizer = unwrapped(optimizer)
    batches = int(keras.ops.convert_to_numpy(batches_of(optimizer)))
    schedule = learning_rate_of(optimizer)
    if not epoch or not isinstance(schedule, PlannedSchedule):
        return max(batches - epoch * (steps or 0), 0)
    # Updates that float16 skips are not counted, but the plan knows where it began.
    per_update = optimizer.gradient_accumulation_steps or 1
    begin, updates = schedule.planned()
    same = steps is None or updates == epochs * steps // per_update
    counted = 0 if steps is None else batches - epoch * steps
    return max(counted, begin * per_update if same else 0, 0)


def unwrapped(optimizer):
    """The optimizer itself, or the one that a `LossScaleOptimizer` wraps."""
    return getattr(optimizer, "inner_optimizer", optimizer)
