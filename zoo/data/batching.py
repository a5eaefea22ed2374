"""Batches of rows of similar length, shuffled in every epoch from a seed."""

import uuid

import tensorflow as tf

# The number of batches whose rows are sorted together. Larger pools need less padding,
# but their order is less random.
POOL = 64


def bucket_length(length, maximum):
    """Rounds a length up, so that there are few different shapes.

    Lengths up to 64 become multiples of 8, lengths up to 128 multiples of 16, lengths
    up to 256 multiples of 32, and so on. There are at most four shapes per octave, with
    at most a quarter of padding.

    Args:
        length: int or scalar int tensor.
        maximum: int, limit of the result.

    Returns:
        Scalar int32 tensor.
    """
    length = tf.maximum(tf.cast(length, tf.int32), 1)
    bounds = tf.constant([32, 64, 128, 256, 512, 1024, 2048, 4096])
    step = tf.maximum(tf.reduce_max(tf.where(length > bounds, bounds, 0)) // 4, 8)
    return tf.minimum((length + step - 1) // step * step, maximum)


class Epoch:
    """A number that a dataset reads each time when its iteration begins.

    It is a raw resource. A `tf.Variable` that is created in the scope of a strategy is
    mirrored, and tf.data cannot read mirrored variables.

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
        """Returns a dataset with the number as its only element."""
        handle = self._handle
        return tf.data.Dataset.from_tensors(0).map(
            lambda _: tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.int64)
        )


def untuned():
    """Returns options for a dataset without tf.data's autotuning.

    The thread of autotuning sleeps for longer and longer times, up to a minute. A
    dataset waits for this thread at its end, so `fit` and `predict` would return late.

    Returns:
        tf.data.Options.
    """
    options = tf.data.Options()
    options.autotune.enabled = False
    return options


def plan_batches(
    lengths, batch_size, shuffle=True, seed=0, epochs=(0,), token_budget=None
):
    """Decides which rows form each batch, depending on the seed and the epoch only.

    With `shuffle`, the rows are shuffled and split into pools of 64 batches. Each pool
    is sorted by length, and then the batches are shuffled. With `batch_size`, lengths
    are rounded up to multiples of 8 before sorting. Without `shuffle`, rows are sorted
    by length. The longest rows come first, so that the first batch needs the most
    memory.

    Args:
        lengths: int (N,), the length of every row.
        batch_size: int, rows per batch; the last batch may be smaller.
        shuffle: bool.
        seed: int.
        epochs: iterable of int, e.g. range(3); or an `Epoch`, for a single epoch. Its
            number is read when the iteration begins.
        token_budget: int, instead of `batch_size`: maximum number of tokens in a batch,
            padding included. A longer row is a batch of its own.

    Returns:
        tf.data.Dataset of int32 (batch_size or fewer,), row numbers, epoch by epoch.

    Raises:
        ValueError: if both or none of `batch_size` and `token_budget` are given, if the
            given one is not positive, or if there are no rows.
    """
    lengths = tf.cast(lengths, tf.int64)
    count = int(lengths.shape[0])
    _check_sizes(count, batch_size, token_budget)
    if isinstance(epochs, Epoch):
        numbers = epochs.dataset()
    else:
        numbers = tf.constant(list(epochs), tf.int64)
        numbers = tf.data.Dataset.from_tensor_slices(numbers)
    if batch_size and not shuffle:
        order, _ = _epoch_order(lengths, batch_size, None, False, None)
        plan = tf.data.Dataset.from_tensor_slices(order).batch(batch_size)
        return plan.repeat(numbers.cardinality())

    def epoch_batches(epoch):
        seeds = tf.stack([tf.cast(seed, tf.int64), epoch])
        order, pool = _epoch_order(lengths, batch_size, token_budget, shuffle, seeds)
        if batch_size:
            starts = tf.range(0, count, batch_size)
            ends = tf.minimum(starts + batch_size, count)
        else:
            starts, ends = _cut(tf.gather(lengths, order), pool, token_budget)
        batches = tf.stack([starts, ends], axis=1)
        if shuffle:
            batches = tf.random.experimental.stateless_shuffle(batches, seeds + 1)
        batches = tf.data.Dataset.from_tensor_slices(batches)
        return batches.map(lambda batch: order[batch[0] : batch[1]])

    plan = numbers.flat_map(epoch_batches)
    if token_budget:
        return plan
    steps = -(-count // batch_size) * int(numbers.cardinality())
    return plan.apply(tf.data.experimental.assert_cardinality(steps))


def _check_sizes(count, batch_size, token_budget):
    if (batch_size is None) == (token_budget is None):
        raise ValueError(
            "Give either `batch_size` or `token_budget`, and None for the other. "
            f"Received: batch_size={batch_size}, token_budget={token_budget}."
        )
    if count < 1 or (batch_size or token_budget or 0) < 1:
        raise ValueError(
            "There must be at least one row, and one row or token per batch. Received: "
            f"{count} rows, batch_size={batch_size}, token_budget={token_budget}."
        )


def _epoch_order(lengths, batch_size, token_budget, shuffle, seeds):
    """Returns the row numbers in the order of an epoch, and their pools, int64 (N,)."""
    if not shuffle:
        order = tf.cast(tf.argsort(-lengths, stable=True), tf.int32)
        return order, tf.zeros_like(lengths)
    count = tf.size(lengths, tf.int64)
    rows, step = tf.constant(batch_size or 1, tf.int64), 8
    if token_budget:
        rows, step = tf.maximum(token_budget * count // tf.reduce_sum(lengths), 1), 1
    order = tf.random.experimental.stateless_shuffle(tf.range(tf.size(lengths)), seeds)
    pool = tf.range(count) // (rows * POOL)
    key = pool * 2**40 + (tf.gather(lengths, order) + step - 1) // step
    return tf.gather(order, tf.argsort(key, stable=True)), pool


def _cut(lengths, pool, token_budget):
    """Returns starts and ends, int32 (M,), of batches of rows sorted by length."""
    count = tf.size(lengths)
    widest = tf.cast(token_budget // tf.maximum(tf.reduce_min(lengths), 1), tf.int32)

    def following(start, ends):
        stop = tf.minimum(start + tf.maximum(widest, 1), count)
        own = lengths[start:stop]
        longest = tf.maximum(own, own[0])
        rows = tf.range(1, tf.size(own, tf.int64) + 1)
        fits = (longest * rows <= token_budget) & (pool[start:stop] == pool[start])
        end = start + tf.maximum(tf.reduce_sum(tf.cast(fits, tf.int32)), 1)
        return end, ends.write(ends.size(), end)

    ends = tf.TensorArray(tf.int32, size=0, dynamic_size=True)
    _, ends = tf.while_loop(lambda start, _: start < count, following, (0, ends))
    ends = ends.stack()
    return tf.concat([[0], ends[:-1]], 0), ends
