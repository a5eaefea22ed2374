"""Batches with as many rows as the devices of `keras.distribution` can divide."""

import keras
import numpy as np

from zoo.keras_internals import read_batches

# The arguments of Keras' `fit` and `evaluate` from which it makes batches.
DATA = ("x", "y", "sample_weight", "batch_size", "class_weight", "shuffle")


def data_parts():
    """The parts into which the present distribution divides a batch, int."""
    distribution = keras.distribution.distribution()
    return distribution.num_model_replicas if distribution else 1


def padded_arguments(arguments, steps):
    """Arguments of Keras' `fit` or `evaluate`, whose batches the devices divide.

    The rows that are added have weight 0 and no tokens. A model with batch
    normalization does not count them.

    Args:
        arguments: dict.
        steps: int, the batches that are read, or None.
    """
    data = {name: arguments[name] for name in DATA if name in arguments}
    others = {name: arguments[name] for name in arguments.keys() - data.keys()}
    return {**others, "x": read_batches(pad_example, steps_per_epoch=steps, **data)}


def pad_example(batch):
    """A tuple x, y, sample_weight of this process' part of a padded batch."""
    x, y, weights = keras.utils.unpack_x_y_sample_weight(batch)
    real, places = row_places(x)
    x, y, weights = (take(part, places) for part in (x, y, weights))
    if weights is None:
        weights = keras.tree.map_structure(lambda _: real, y)
    else:
        weights = keras.tree.map_structure(lambda part: masked(part, real), weights)
    if isinstance(x, dict):  # the added rows have no token
        masks = {name for name in x if name.endswith("padding_mask")}
        x = {**x, **{name: masked(x[name], real) for name in masks}}
    return x, y, weights


def row_places(x):
    """Which rows of a padded batch this process has, and where they are in `x`.

    Returns:
        float32 (P,), 1 for a row of `x`, and int (P,), their numbers in `x`.
    """
    rows, parts = len(keras.tree.flatten(x)[0]), data_parts()
    size = -(-rows // parts) * parts
    distribution = keras.distribution.distribution()
    processes = min(distribution.num_processes, parts)
    each = size // processes
    numbers = np.arange(size)[distribution.data_shard_id * each :][:each]
    return (numbers < rows).astype("float32"), np.minimum(numbers, rows - 1)


def take(nest, places):
    """The rows of each array of a nest."""
    return keras.tree.map_structure(
        lambda part: None if part is None else np.asarray(part)[places], nest
    )


def masked(part, real):
    """An array whose added rows are 0; `real` if there is none."""
    if part is None:
        return real
    return part * real.astype(part.dtype).reshape(-1, *[1] * (part.ndim - 1))


def predict_padded(predict, x, batch_size, steps):
    """The outputs of `predict`, a function of data, without the rows that are added."""
    kept = []

    def pad(batch):
        x, *_ = keras.utils.unpack_x_y_sample_weight(batch)
        real, places = row_places(x)
        kept.append(real > 0)
        return (take(x, places),)

    data = read_batches(pad, x=x, batch_size=batch_size, steps_per_epoch=steps)
    outputs = predict(data)
    mask = np.concatenate(kept)
    return keras.tree.map_structure(lambda part: part[mask[: len(part)]], outputs)
