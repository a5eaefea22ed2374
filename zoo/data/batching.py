"""Batches of rows of similar length, shuffled in every epoch from a seed."""

import uuid

import numpy as np
import tensorflow as tf

from zoo.checks.counts import whole_number

# The rows of this many batches are sorted by length together. A larger pool needs less
# padding and shuffles less.
BATCHES_IN_POOL = 64
XLA_SHAPES = 2  # see `bucket_length`; XLA compiles a step for each shape
# AutoGraph would rewrite every function that a dataset calls, which takes seconds.
as_written = tf.autograph.experimental.do_not_convert


def bucket_length(length, maximum, shapes=4):
    """Rounds a length up, so that there are few distinct shapes.

    With 4 shapes, lengths up to 64 are rounded up to multiples of 8, lengths up to 128
    to multiples of 16, lengths up to 256 to multiples of 32, and so on. With 2 shapes,
    lengths up to 32 are rounded up to multiples of 8, up to 64 to multiples of 16.

    Args:
        length: int or scalar int tensor.
        maximum: int, upper bound of the result.
        shapes: int, the most results between L and 2 L. Of a row of at least
            8 x `shapes` tokens, less than 1 / `shapes` is padding.

    Returns:
        Scalar int32 tensor.
    """
    length = tf.maximum(tf.cast(length, tf.int32), 1)
    bounds = tf.constant([16, 32, 64, 128, 256, 512, 1024, 2048, 4096])
    step = tf.reduce_max(tf.where(length > bounds, bounds, 0)) // shapes
    step = tf.maximum(step, 8)
    return tf.minimum((length + step - 1) // step * step, maximum)


class Epoch:
    """The number of the epoch, which a dataset reads at the start of each iteration.

    It is a raw resource. `tf.data` cannot read a `tf.Variable` that was created in the
    scope of a strategy.

    Args:
        number: int, the first epoch.
    """

    def __init__(self, number=0):
        self._handle = tf.raw_ops.VarHandleOp(
            dtype=tf.int64, shape=(), shared_name=f"epoch_{uuid.uuid4().hex}"
        )
        self.assign(number)

    def assign(self, number):
        """Assigns a number, int."""
        value = tf.constant(number, tf.int64)
        tf.raw_ops.AssignVariableOp(resource=self._handle, value=value)

    def read(self):
        """Returns the number, an int64 tensor; in a dataset, that of the iteration."""
        return tf.raw_ops.ReadVariableOp(resource=self._handle, dtype=tf.int64)

    def number(self):
        """Returns the number, int."""
        return int(self.read())

    def dataset(self):
        """Returns a `tf.data.Dataset` with the number as its only element."""
        return tf.data.Dataset.from_tensors(0).map(lambda _: self.read())


def epoch_numbers(epochs):
    """The numbers of epochs as a `tf.data.Dataset` of int64.

    Args:
        epochs: iterable of int; an `Epoch`, for one whose number is read when the
            iteration starts; or such a dataset, of known length.
    """
    epochs = check_epochs(epochs)
    if isinstance(epochs, tf.data.Dataset):
        return epochs
    if isinstance(epochs, Epoch):
        return epochs.dataset()
    if isinstance(epochs, range):
        bounds = epochs.start, epochs.stop, epochs.step
        return tf.data.Dataset.range(*bounds, output_type=tf.int64)
    return tf.data.Dataset.from_tensor_slices(tf.constant(epochs, tf.int64))


def check_epochs(epochs):
    """Checked numbers of epochs, a list for sequences of them; else ValueError."""
    if isinstance(epochs, (Epoch, range, tf.data.Dataset)):
        return epochs
    if not isinstance(epochs, (list, tuple)) and not np.ndim(epochs):
        raise ValueError(
            "`epochs` must be a list of numbers of epochs, such as `range(3)`. "
            f"Received: {epochs!r:.60}."
        )
    return [whole_number(epoch, "epochs", 0) for epoch in epochs]


def untuned():
    """The `tf.data.Options` of a dataset without autotuning, of all rows of a batch.

    The autotuning thread of `tf.data` sleeps up to a minute, and the end of a dataset
    waits for it. `fit` and `predict` would return that much later. Each of several
    workers takes a part of every batch, not of the files: the batches do not depend on
    the number of workers.
    """
    options = tf.data.Options()
    options.autotune.enabled = False
    policy = tf.data.experimental.AutoShardPolicy.DATA
    options.experimental_distribute.auto_shard_policy = policy
    return options


def plan_batches(
    lengths, batch_size, shuffle=True, seed=0, epochs=(0,), token_budget=None
):
    """Plans which rows form each batch. The plan depends on seed and epoch only.

    With `batch_size` and `shuffle`, the rows are permuted and divided into pools of 64
    batches. Each pool is sorted by length, rounded up to a multiple of 8. Then the
    batches are permuted. With `token_budget` and `shuffle`, all rows are permuted and
    sorted by length, so that every epoch has as many batches; then the batches are
    permuted. Without `shuffle`, all rows are sorted by length, longest first, so that
    the first batch needs the most memory.

    Args:
        lengths: int (N,), tokens of each row.
        batch_size: int, rows per batch; the last batch may have fewer.
        shuffle: bool.
        seed: int.
        epochs: iterable of int, e.g. range(3), or what `epoch_numbers` takes.
        token_budget: int, instead of `batch_size`: bound of rows times longest length
            in a batch. A row longer than the budget is a batch of its own.

    Returns:
        tf.data.Dataset of int32 (batch_size or fewer,), row numbers, epoch by epoch.

    Raises:
        ValueError: if not exactly one of `batch_size` and `token_budget` is given and
            positive, or there are no rows.
    """
    lengths = tf.cast(lengths, tf.int64)
    count = int(lengths.shape[0])
    _check_sizes(count, batch_size, token_budget)
    seed = whole_number(seed, "seed", 0, most=2**63 - 1)
    numbers = epoch_numbers(epochs)
    bounds = _bounds(lengths.numpy(), batch_size, token_budget)

    @as_written
    def epoch_batches(epoch):
        seeds = tf.stack([tf.cast(seed, tf.int64), epoch])
        order = _epoch_order(lengths, batch_size, shuffle, seeds)
        batches = tf.constant(bounds)
        if shuffle:
            batches = tf.random.experimental.stateless_shuffle(batches, seeds + 1)
        batches = tf.data.Dataset.from_tensor_slices(batches)
        return batches.map(lambda batch: order[batch[0] : batch[1]])

    plan = numbers.flat_map(epoch_batches)
    steps = len(bounds) * int(numbers.cardinality())
    return plan.apply(tf.data.experimental.assert_cardinality(steps))


def _check_sizes(count, batch_size, token_budget):
    for name, size in (("batch_size", batch_size), ("token_budget", token_budget)):
        if size is not None:
            whole_number(size, name)
    if (batch_size is None) == (token_budget is None):
        raise ValueError(
            "Exactly one of `batch_size` and `token_budget` must be None. Received: "
            f"batch_size={batch_size}, token_budget={token_budget}."
        )
    if count < 1 or (batch_size or token_budget or 0) < 1:
        raise ValueError(
            "There must be at least one row, and the size of a batch must be positive. "
            f"Received: {count} rows, batch_size={batch_size}, "
            f"token_budget={token_budget}."
        )


def _epoch_order(lengths, batch_size, shuffle, seeds):
    """The row numbers in the order of an epoch, int32 (N,)."""
    if not shuffle:
        return tf.cast(tf.argsort(-lengths, stable=True), tf.int32)
    order = tf.random.experimental.stateless_shuffle(tf.range(tf.size(lengths)), seeds)
    if batch_size is None:
        return tf.gather(order, tf.argsort(-tf.gather(lengths, order), stable=True))
    pool = tf.range(tf.size(lengths, tf.int64)) // (batch_size * BATCHES_IN_POOL)
    key = pool * 2**40 + (tf.gather(lengths, order) + 7) // 8
    return tf.gather(order, tf.argsort(key, stable=True))


def _bounds(lengths, batch_size, token_budget):
    """The first and the last row of each batch, int32 (M, 2)."""
    longest_first, starts = -np.sort(-lengths), [0]
    while starts[-1] < len(lengths):
        longest = max(longest_first[starts[-1]], 1)
        starts.append(starts[-1] + (batch_size or max(token_budget // longest, 1)))
    starts[-1] = len(lengths)
    return np.stack([starts[:-1], starts[1:]], axis=1).astype("int32")
