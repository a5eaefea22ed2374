"""Texts that are read one after another, as `tf.data`.

A stream is a generator, a `keras.utils.PyDataset`, or another object that can be
iterated and has no length, such as an `IterableDataset` of Hugging Face. It gives
batches, or single rows, of which batches are made. As in Keras, a tuple is texts,
targets and weights. Targets may also be a stream of their own.
"""

import itertools
import types
from collections.abc import Iterator

import keras
import tensorflow as tf

from zoo.data.read_ahead import Replay
from zoo.tasks.inputs.target_reading import read_targets
from zoo.tasks.inputs.text_input import holds_text
from zoo.tasks.inputs.text_sources import plain_column

ROWS_IN_BATCH = 32  # of a batch that is made of single rows
END_OF_STREAM = object()


def is_stream(x):
    """Whether `x`, or each part of a tuple, is read one row or batch after another."""
    if isinstance(x, tuple):
        return bool(x) and all(map(is_stream, x))
    if isinstance(x, (types.GeneratorType, keras.utils.PyDataset)):
        return True
    known = isinstance(x, (Iterator, tf.distribute.DistributedDataset))
    sized = hasattr(x, "__len__") or hasattr(x, "shape")
    return hasattr(x, "__iter__") and not (known or sized)


def text_stream(task, x, targets=None, run=None):
    """A stream of texts as a dataset; other data do not change.

    Args:
        task: `zoo.tasks.Task`.
        x: any value. A tuple of streams has columns of texts.
        targets: tuple of `y` and `sample_weight`, iterables; may be empty. None to
            ignore the targets that the stream holds.
        run: `zoo.tasks.fitting.epochs.Run`, or None. Its `batch_size`, by default 32,
            is that of batches that are made of single rows, and its `permutation` the
            order of the batches of a `PyDataset`.

    Returns:
        tf.data.Dataset of batches (texts,), (texts, y) or (texts, y, weights), with
        encoded targets, see `read_targets`; of a generator without texts, a new
        generator of the same batches.

    Raises:
        ValueError: if there are targets both in the stream and beside it.
    """
    if not is_stream(x):
        return x
    stream = _Stream(x, targets or (), run and run.permutation)
    size = run.batch_size if run and run.batch_size else ROWS_IN_BATCH
    if not all(map(_is_text, stream.firsts)):
        column = stream.columns[0]
        return (batch for batch in column) if isinstance(column, Replay) else x

    def read():
        for texts, *values in stream.batches(size):
            columns, values = task.text_columns(texts), map(plain_column, values)
            found = [] if targets is None else read_targets(task, columns, *values)
            yield columns[0] if len(columns) == 1 else tuple(columns), *found

    spec = tf.nest.map_structure(
        lambda part: tf.TensorSpec([None, *part.shape[1:]], part.dtype), next(read())
    )
    found = tf.data.Dataset.from_generator(read, output_signature=spec)
    if not isinstance(x, keras.utils.PyDataset) or stream.of_rows:
        return found
    count = count_batches(x)
    count = tf.data.INFINITE_CARDINALITY if count is None else count
    return found.apply(tf.data.experimental.assert_cardinality(count))


def keep_batches(generator):
    """A generator as `KeptBatches`, unless it has too many batches."""
    ahead = Replay(generator)
    if ahead.count() is None:
        return (batch for batch in ahead)
    return KeptBatches(ahead.batches)


class KeptBatches(keras.utils.PyDataset):
    """Batches in memory, of a generator that can be read only once."""

    def __init__(self, batches):
        super().__init__()
        self.batches = batches

    def __len__(self):
        """The number of batches."""
        return len(self.batches)

    def __getitem__(self, index):
        """One batch."""
        return self.batches[index]


def count_batches(x):
    """The number of batches of a `PyDataset`, int, or None if it has no end."""
    try:
        return x.num_batches
    except NotImplementedError:
        return None


class _Stream:
    """Texts and targets that are read together.

    Args:
        x, targets, order: see `text_stream`.

    Attributes:
        columns: list of iterables, the columns of texts.
        firsts: list, the first item of each column.
        of_rows: bool, whether an item is a row, or else a batch.
    """

    def __init__(self, x, targets, order):
        self.order, self.single = order, not isinstance(x, tuple)
        self.columns = [*map(_replayed, [x] if self.single else x)]
        self.targets = [*map(_replayed, targets)]
        self.firsts = [next(self._in_order(column), None) for column in self.columns]
        self.of_rows = all(map(_is_row, self.firsts))
        if targets and any(isinstance(first, tuple) for first in self.firsts):
            raise ValueError(
                "A stream of tuples holds its own targets. Received: also `y` or "
                "`sample_weight`. Leave them out, or give a stream of texts only."
            )

    def batches(self, size):
        """Yields tuples of texts, targets and weights of a batch of `size` rows."""
        items = self._items()
        if not self.of_rows:
            yield from items
        while self.of_rows and (rows := list(itertools.islice(items, size))):
            texts, *target_columns = zip(*rows, strict=True)
            yield _joined(texts), *map(list, target_columns)

    def _items(self):
        """Yields tuples of texts, targets and weights, of a row or a batch."""
        columns = map(self._in_order, self.columns)
        for parts in itertools.zip_longest(
            *columns, *self.targets, fillvalue=END_OF_STREAM
        ):
            if any(part is END_OF_STREAM for part in parts):
                raise ValueError(
                    "`x`, `y` and `sample_weight` must have the same length. Received: "
                    "streams of which one ends before another."
                )
            count = len(self.columns)
            texts = parts[0] if self.single else parts[:count]
            complete = self.single and isinstance(texts, tuple)
            yield texts if complete else (texts, *parts[count:])

    def _in_order(self, column):
        """An iterator of the items; those of a `PyDataset` may have another order."""
        if not isinstance(column, keras.utils.PyDataset):
            return iter(column)
        return self._read(column)

    def _read(self, data):
        data.on_epoch_begin()
        count = count_batches(data)
        if count is None:
            numbers = itertools.count()
        else:
            numbers = self.order(count) if self.order else range(count)
        for number in numbers:
            yield data[number]
        data.on_epoch_end()


def _replayed(part):
    """A generator in a form that can be read again."""
    return Replay(part) if isinstance(part, types.GeneratorType) else part


def _texts_of(item):
    """The parts of the texts of an item, list of columns."""
    texts = item[0] if isinstance(item, tuple) and item else item
    parts = texts.values() if isinstance(texts, dict) else texts
    parts = parts if isinstance(texts, (dict, tuple)) else [texts]
    return [*map(plain_column, parts)]


def _is_text(item):
    return item is not None and any(map(holds_text, _texts_of(item)))


def _is_row(item):
    """Whether the texts of an item are strings, and not lists of strings."""
    return all(isinstance(part, (str, bytes)) for part in _texts_of(item))


def _joined(rows):
    """The texts of rows as columns of a batch."""
    if isinstance(rows[0], dict):
        return {name: [row[name] for row in rows] for name in rows[0]}
    if isinstance(rows[0], tuple):
        return tuple(map(list, zip(*rows, strict=True)))
    return list(rows)
