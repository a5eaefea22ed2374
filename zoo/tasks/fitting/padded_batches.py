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


def padded_batch(x, y, sample_weight, class_weight=None):
    """The arrays of one batch as `pad_example` returns them."""
    rows = len(keras.tree.flatten(x)[0])
    options = {"batch_size": rows, "class_weight": class_weight}
    data = read_batches(pad_example, x, y, sample_weight, **options)
    return next(data.get_jax_iterator())


def pad_example(batch):
    """A tuple x, y, sample_weight of this process' part of a padded batch."""
    x, y, weights = keras.utils.unpack_x_y_sample_weight(batch)
    real, numbers = row_places(x)
    real = real[numbers].astype("float32")
    x, y, weights = (take(part, numbers) for part in (x, y, weights))
    if weights is None:
        weights = keras.tree.map_structure(lambda _: real, y)
    else:
        weights = keras.tree.map_structure(lambda part: masked(part, real), weights)
    if isinstance(x, dict):  # the added rows have no token
        masks = {name for name in x if name.endswith("padding_mask")}
        x = {**x, **{name: masked(x[name], real) for name in masks}}
    return x, y, weights


def row_places(x):
    """The rows of a padded batch.

    Returns:
        bool (S,), which of them are rows of `x`; and int (P,), the numbers in `x` of
        those that this process has.
    """
    rows, parts = len(keras.tree.flatten(x)[0]), data_parts()
    size = -(-rows // parts) * parts
    distribution, numbers = keras.distribution.distribution(), np.arange(size)
    if distribution is None:
        return numbers < rows, numbers
    each = size // min(distribution.num_processes, parts)
    return numbers < rows, numbers[distribution.data_shard_id * each :][:each]


def take(nest, numbers):
    """Rows of each array of a nest; in place of one that is not there, the last."""

    def rows(part):
        if part is None:
            return None
        return np.asarray(part)[np.minimum(numbers, len(part) - 1)]

    return keras.tree.map_structure(rows, nest)


def masked(part, real):
    """An array whose added rows are 0; `real` if there is none."""
    if part is None:
        return real
    return part * real.astype(part.dtype).reshape(-1, *[1] * (part.ndim - 1))


def on_all_devices(outputs):
    """Outputs of a step, all of which every process has."""
    distribution = keras.distribution.distribution()
    if distribution is None or distribution.num_processes == 1:
        return outputs
    mesh = distribution.device_mesh

    def copied(part):
        layout = keras.distribution.TensorLayout([None] * len(part.shape), mesh)
        return keras.distribution.distribute_tensor(part, layout)

    return keras.tree.map_structure(copied, outputs)


def predict_padded(predict, x, batch_size, steps):
    """The outputs of `predict`, a function of data, without the rows that are added."""
    kept = []

    def pad(batch):
        x, *_ = keras.utils.unpack_x_y_sample_weight(batch)
        real, numbers = row_places(x)
        kept.append(real)
        return (take(x, numbers),)

    data = read_batches(pad, x=x, batch_size=batch_size, steps_per_epoch=steps)
    outputs = predict(data)
    mask = np.concatenate(kept)
    return keras.tree.map_structure(lambda part: part[mask[: len(part)]], outputs)
