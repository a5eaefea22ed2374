"""Batches of rows of like length, reshuffled every epoch from a seed."""

import uuid

import tensorflow as tf

POOL = 64  # batches whose rows are sorted together: longer pools pad less, mix less


def bucket_length(length, maximum):
    """Rounds a length up, so that there are few distinct shapes.

    To multiples of 8 up to 64, then 16 up to 128, 32 up to 256, and so on: at most
    four shapes per octave and a quarter of padding.

    Args:
        length: int or scalar int tensor.
        maximum: int, the result is never larger.

    Returns:
        Scalar int32 tensor.
    """
    length = tf.maximum(tf.cast(length, tf.int32), 1)
    bounds = tf.constant([32, 64, 128, 256, 512, 1024, 2048, 4096])
    step = tf.maximum(tf.reduce_max(tf.where(length > bounds, bounds, 0)) // 4, 8)
    return tf.minimum((length + step - 1) // step * step, maximum)


class Epoch:
    """A number that a dataset reads whenever it is begun anew.

    A raw resource, since a `tf.Variable` made in a strategy's scope is mirrored, which
    tf.data cannot read.

    Args:
        number: int.
    """

    def __init__(self, number=0):
        self._handle = tf.raw_ops.VarHandleOp(
            dtype=tf.int64, shape=(), shared_name=f"epoch_{uuid.uuid4().hex}"
        )
        self.assign(number)

    def assign(self, number):
        """Sets the number, int."""
        value = tf.constant(number, tf.int64)
        tf.raw_ops.AssignVariableOp(resource=self._handle, value=value)

    def dataset(self):
        """A dataset of the number alone."""
        handle = self._handle
        return tf.data.Dataset.from_tensors(0).map(
            lambda _: tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.int64)
        )


def untuned():
    """Options of a dataset without tf.data's autotuning.

    Its thread sleeps longer and longer, up to a minute, and a dataset that has ended
    waits for it: `fit` and `predict` would return so much later.

    Returns:
        tf.data.Options.
    """
    options = tf.data.Options()
    options.autotune.enabled = False
    return options


def plan_batches(lengths, batch_size, shuffle=True, seed=0, epochs=(0,)):
    """Decides which rows form each batch: a function of the seed and the epoch only.

    With `shuffle`, the rows are permuted, cut into pools of 64 batches, sorted by
    length in steps of 8 within a pool, and the batches permuted; without, they are
    sorted by length, longest first, so that memory is claimed at once.

    Args:
        lengths: int (N,), of every row.
        batch_size: int, rows per batch; the last one may be shorter.
        shuffle: bool.
        seed: int.
        epochs: iterable of int, e.g. range(3); or an `Epoch`, for one epoch whose
            number is read when the dataset is begun.

    Returns:
        tf.data.Dataset of int32 (batch_size or fewer,), row numbers, epoch by epoch.

    Raises:
        ValueError: if the batch size is not positive or there are no rows.
    """
    epochs = epochs if isinstance(epochs, Epoch) else list(epochs)
    lengths = tf.cast(lengths, tf.int64)
    count = int(lengths.shape[0])
    if batch_size < 1 or count == 0:
        raise ValueError(
            "There must be at least one row and one row per batch. Received: "
            f"{count} rows, batch_size={batch_size}."
        )

    if isinstance(epochs, Epoch):
        numbers, count_epochs = epochs.dataset(), 1
    else:
        numbers = tf.data.Dataset.from_tensor_slices(tf.constant(epochs, tf.int64))
        count_epochs = len(epochs)
    if not shuffle:
        order = tf.argsort(-lengths, stable=True)
        plan = tf.data.Dataset.from_tensor_slices(order).batch(batch_size)
        return plan.repeat(count_epochs)

    def epoch_batches(epoch):
        seeds = tf.stack([tf.cast(seed, tf.int64), epoch])
        order = tf.random.experimental.stateless_shuffle(tf.range(count), seeds)
        pool = tf.range(count, dtype=tf.int64) // (batch_size * POOL)
        key = pool * 2**40 + tf.gather(lengths + 7, order) // 8
        order = tf.gather(order, tf.argsort(key, stable=True))
        starts = tf.range(0, count, batch_size)
        starts = tf.random.experimental.stateless_shuffle(starts, seeds + 1)
        batches = tf.data.Dataset.from_tensor_slices(starts)
        return batches.map(lambda start: order[start : start + batch_size])

    steps = -(-count // batch_size) * count_epochs
    return numbers.flat_map(epoch_batches).apply(
        tf.data.experimental.assert_cardinality(steps)
    )
