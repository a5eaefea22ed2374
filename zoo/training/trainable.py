"""Optimizers whose trainable variables change between two calls of `fit`."""

import keras

from zoo.keras_internals import (
    attributes_of,
    averages_of,
    forget_build,
    trained_by,
    untrack,
)
from zoo.training.optimizer_base import strategy_scope
from zoo.training.optimizers import AdamW


def follow_trainable(optimizer, variables):
    """Makes an optimizer train exactly these variables, and keeps its state.

    Iterations, learning rate, loss scale and the slots of every variable that the
    optimizer trained before keep their values. A new variable has new slots: its
    moving average starts at its value, and `AdamW` corrects its bias from now on. The
    slots of a variable that is no longer trained are dropped.

    A training step that was compiled before must be compiled again.

    Args:
        optimizer: a Keras optimizer, also one that wraps others, built or not.
        variables: list of keras.Variable, all that it is to train.

    Returns:
        The optimizer itself.
    """
    variables = list(variables)
    with strategy_scope(optimizer):
        if not optimizer.built:
            optimizer.build(variables)
        elif not trains(optimizer, variables):
            states = [_State(part) for part in _parts(optimizer)]
            optimizer.build(variables)
            for state in states:
                state.restore()
    return optimizer


def follow_model(model):
    """Makes the optimizer of a model train what is trainable now."""
    # An optimizer that also trains other models does not change.
    known = {id(variable) for variable in model.variables}
    if all(id(v) in known for v in trained_by(model.optimizer)):
        follow_trainable(model.optimizer, model.trainable_variables)


def trains(optimizer, variables):
    """Whether a built optimizer trains exactly these variables, in this order."""
    return [id(v) for v in trained_by(optimizer)] == [id(v) for v in variables]


def _parts(optimizer):
    """An optimizer and those that it wraps."""
    inner = [getattr(optimizer, "inner_optimizer", None)]
    inner += getattr(optimizer, "optimizers", ())  # of a `MultiOptimizer`
    return [optimizer, *(part for item in inner if item for part in _parts(item))]


class _State:
    """The state of an optimizer, which is then ready to be built anew."""

    # Keras' optimizers keep their slots as attributes: lists with one slot for each
    # trainable variable, or None; and single variables.
    def __init__(self, optimizer):
        self.optimizer = optimizer
        self.trained = list(trained_by(optimizer))
        self.joined = list(getattr(optimizer, "joined", ()))
        self.attributes = {
            name: list(value) if isinstance(value, list) else value
            for name, value in attributes_of(optimizer).items()
            if isinstance(value, keras.Variable) or self._are_slots(value)
        }
        forget_build(optimizer)

    def _are_slots(self, value):
        return (
            isinstance(value, list)
            and len(value) == len(self.trained)
            and all(v is None or isinstance(v, keras.Variable) for v in value)
        )

    def restore(self):
        """Copies the values into the variables that were built."""
        optimizer, trained = self.optimizer, list(trained_by(self.optimizer))
        for name, old in self.attributes.items():
            new = getattr(optimizer, name)
            if isinstance(old, list):
                # A wrapped optimizer without variables is not built anew.
                slots = dict(zip(map(id, trained), new, strict=False))
                for variable, slot in zip(self.trained, old, strict=True):
                    self._replace(slot, slots.get(id(variable)))
            elif new is not old:
                self._replace(old, new)
        self._start(trained)

    def _replace(self, old, new):
        if old is None:
            return
        if new is not None:
            new.assign(old)
        untrack(self.optimizer, old)

    def _start(self, trained):
        """Starts the state of the variables that were not trained before."""
        optimizer, known = self.optimizer, set(map(id, self.trained))
        if optimizer.use_ema and trained:
            averages = averages_of(optimizer)
            for variable, average in zip(trained, averages, strict=True):
                if id(variable) not in known:
                    average.assign(variable)
        if isinstance(optimizer, AdamW):
            update = int(keras.ops.convert_to_numpy(optimizer.iterations))
            before = self.joined or [0] * len(self.trained)
            before = dict(zip(map(id, self.trained), before, strict=True))
            joined = [before.get(id(variable), update) for variable in trained]
            optimizer.joined = joined if any(joined) else []
