"""The shapes of the weights of a model, without memory for their values."""

import contextvars
import random
from concurrent.futures import ThreadPoolExecutor

import keras

from zoo.backbone.saving import preset_variables

# Whether the model that is made now has no values, and is only asked for its shapes.
without_values = contextvars.ContextVar("without_values", default=False)


def find_shapes(make):
    """The shapes of the weights, by path, of a backbone that `make` makes.

    Keras keeps the variables without values, its scopes and the names of layers for
    each thread. So the backbone is made in a thread of its own, and nothing remains.
    """
    state = random.getstate()  # from which Keras draws the seeds of layers
    try:
        with ThreadPoolExecutor(1) as threads:
            return threads.submit(_find_shapes, make).result()
    finally:
        random.setstate(state)


def _find_shapes(make):
    """See `find_shapes`; the thread ends after it."""
    without_values.set(True)
    with keras.StatelessScope(initialize_variables=False):
        backbone = make()
    paths = backbone.variable_paths()
    variables = preset_variables(backbone)
    return {paths.get(id(v), v.path): tuple(v.shape) for v in variables}
