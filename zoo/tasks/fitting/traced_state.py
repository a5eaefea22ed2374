"""Which values a traced training step holds, and when it must be traced again."""

import operator

from zoo.keras_internals import learning_rate_of
from zoo.training.trainable import follow_model


def follow_trainable(model):
    """Builds the optimizer for what is trainable now."""
    with model.distribute_strategy.scope():
        follow_model(model)


def traced_anew(model):
    """Whether a training step was traced with other values, which are then kept.

    They are the trainable variables, and the rate or the schedule.
    """
    follow_trainable(model)
    inner = getattr(model.optimizer, "inner_optimizer", model.optimizer)
    state, before = [*model.trainable_variables, learning_rate_of(inner)], model.traced
    same = len(state) == len(before.state) and all(
        map(operator.is_, state, before.state)
    )
    before.state = state
    return not same
