"""Plans the learning rates of a call of `fit`."""

import keras

from zoo.training.schedules import PlannedSchedule


class PlanUpdates(keras.callbacks.Callback):
    """Gives a `PlannedSchedule` the number of updates that `fit` will make.

    The plan has `epochs` x `steps` updates, divided by the optimizer's
    `gradient_accumulation_steps`. It begins `initial_epoch` x `steps` batches before
    the present one. So a run that was stopped after epoch k, and continues with
    `initial_epoch=k` and the same `epochs`, has the rates of an uninterrupted run.

    If Keras does not know the number of steps of an epoch, such as for a generator, the
    first epoch has no plan. The steps are counted, and the plan is made when the second
    epoch begins, as if it had begun with the first one.

    Nothing is planned if the optimizer has another schedule. A rate that was set by
    `optimizer.learning_rate = x` stays.
    """

    def on_train_begin(self, logs=None):
        """Starts without a plan for this `fit`."""
        self.planned, self.first = False, None

    def on_epoch_begin(self, epoch, logs=None):
        """Makes the plan before the first update, or once the steps are counted."""
        optimizer = unwrapped(self.model.optimizer)
        schedule = optimizer._learning_rate
        planned = isinstance(schedule, PlannedSchedule) and schedule.awaits_plan
        if self.planned or not planned:
            return
        every = optimizer.gradient_accumulation_steps or 1
        batches = int(keras.ops.convert_to_numpy(optimizer._iterations))
        before = schedule.planned()
        steps, first = self.params.get("steps"), self.first or (epoch, batches)
        self.first = first
        if not steps and epoch > first[0]:
            steps = (batches - first[1]) // (epoch - first[0])
        elif not steps and epoch:
            steps = (batches - before[0] * every) // epoch
        if not steps:
            schedule.plan(batches // every, 0)
            return
        begin = (batches - epoch * steps) // every
        updates = self.params["epochs"] * steps // every
        if epoch and updates == before[1]:
            # Updates that float16 skips are not counted: the plan began later.
            begin = max(begin, before[0])
        schedule.plan(begin, updates)
        self.planned = True
        if keras.backend.backend() == "jax":
            # A compiled step has taken the former plan for constants.
            self.model.make_train_function(force=True)


def unwrapped(optimizer):
    """The optimizer itself, or the one that a `LossScaleOptimizer` wraps."""
    return getattr(optimizer, "inner_optimizer", optimizer)
