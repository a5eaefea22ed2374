"""The shapes of the weights of a model, without memory for their values."""

import contextvars
import random
from concurrent.futures import ThreadPoolExecutor

import keras

from zoo.backbone.saving import preset_variables

# Whether the model that is made now has no values, and is only asked for its shapes.
without_values = contextvars.ContextVar("without_values", default=False)


def find_shapes(make):
    """The shapes of the weights, by path, of a backbone that `make` makes."""

    def find():
        backbone = make()
        paths = backbone.variable_paths()
        variables = preset_variables(backbone)
        return {paths.get(id(v), v.path): tuple(v.shape) for v in variables}

    return call_without_values(find)


def call_without_values(function):
    """Calls a function in which the variables of new models have no values."""

    def call():
        without_values.set(True)
        with keras.StatelessScope(initialize_variables=False):
            return function()

    state = random.getstate()  # from which Keras draws the seeds of layers
    try:
        # Keras keeps variables without values, its scopes and the names of layers for
        # each thread, so nothing remains after a thread of its own.
        with ThreadPoolExecutor(1) as threads:
            return threads.submit(call).result()
    finally:
        random.setstate(state)
