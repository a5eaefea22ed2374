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
import numpy as np
import tensorflow as tf

from zoo.data.read_ahead import Replay
from zoo.tasks.inputs.targets import as_array, row_weights
from zoo.tasks.inputs.text_input import encode_text, holds_text
from zoo.tasks.inputs.text_sources import plain_column

ROWS_IN_BATCH = 32  # of a batch that is made of single rows
WIDE = {"b": "bool", "i": "int64", "u": "int64", "f": "float64"}
END = object()


def is_stream(x):
    """Whether `x`, or each part of a tuple, is read one row or batch after another."""
    if isinstance(x, tuple):
        return bool(x) and all(map(is_stream, x))
    if isinstance(x, (types.GeneratorType, keras.utils.PyDataset)):
        return True
    known = isinstance(x, (Iterator, tf.distribute.DistributedDataset))
    sized = hasattr(x, "__len__") or hasattr(x, "shape")
    return hasattr(x, "__iter__") and not (known or sized)


def text_stream(task, x, targets=(), batch_size=None, order=None):
    """A stream of texts as a dataset; other data do not change.

    Args:
        task: `zoo.tasks.Task`, or another model with `text_columns`.
        x: any value. A tuple of streams has columns of texts.
        targets: tuple of `y` and `sample_weight`, iterables; may be empty.
        batch_size: int, of batches that are made of single rows; by default 32.
        order: function of a number of batches to their order, for a `PyDataset`.

    Returns:
        tf.data.Dataset of batches of texts, (texts, y) or (texts, y, weights); of a
        generator without texts, a new generator of the same batches.

    Raises:
        ValueError: if there are targets both in the stream and beside it.
    """
    if not is_stream(x):
        return x
    stream = _Stream(x, targets, order)
    if not all(map(_is_text, stream.firsts)):
        one = stream.columns[0]
        return (batch for batch in one) if isinstance(one, Replay) else x

    def batches():
        return stream.batches(batch_size or ROWS_IN_BATCH)

    spec = tf.nest.map_structure(_spec, _element(task, next(batches())))

    def read():
        for batch in batches():
            found = _element(task, batch)
            tf.nest.map_structure(_check_type, found, spec)
            yield found

    found = tf.data.Dataset.from_generator(read, output_signature=spec)
    if not isinstance(x, keras.utils.PyDataset) or stream.of_rows:
        return found
    size = count_batches(x)
    size = tf.data.INFINITE_CARDINALITY if size is None else size
    return found.apply(tf.data.experimental.assert_cardinality(size))


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
        """Yields tuples of texts, targets and weights of a batch.

        Args:
            size: int, of batches that are made of rows.
        """
        items = self._items()
        if not self.of_rows:
            yield from items
        while self.of_rows and (rows := list(itertools.islice(items, size))):
            texts, *others = zip(*rows, strict=True)
            yield _joined(texts), *map(list, others)

    def _items(self):
        """Yields tuples of texts, targets and weights, of a row or a batch."""
        columns = map(self._in_order, self.columns)
        for parts in itertools.zip_longest(*columns, *self.targets, fillvalue=END):
            if any(part is END for part in parts):
                raise ValueError(
                    "`x`, `y` and `sample_weight` must have the same length. Received: "
                    "streams of which one ends before another."
                )
            count = len(self.columns)
            texts = parts[0] if self.single else parts[:count]
            own = self.single and isinstance(texts, tuple)
            yield texts if own else (texts, *parts[count:])

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


def _element(task, batch):
    """A batch as arrays and tensors, checked."""
    texts, *others = batch
    columns = task.text_columns(texts)
    texts = columns[0] if len(columns) == 1 else columns
    if not others:
        return texts if len(columns) == 1 else (texts,)
    y, *weights = map(plain_column, others)
    return texts, _targets(y, task.encode_labels), *map(row_weights, weights)


def _targets(y, encode):
    """Targets as an array of strings or numbers; others are encoded by the task."""
    try:
        array = as_array(y)
    except ValueError:  # rows of different lengths
        array = np.array(None)
    if array.dtype.kind in "OSUT" and array.ndim == 1:
        if all(isinstance(value, (str, bytes)) for value in array):
            return np.array([*map(encode_text, array)], object)
    return array if array.dtype.kind in WIDE and array.ndim else np.asarray(encode(y))


def _spec(part):
    """The type and the shape of texts or targets of a batch of any size."""
    if part.dtype in (tf.string, object):
        return tf.TensorSpec([None], tf.string)
    return tf.TensorSpec([None, *part.shape[1:]], WIDE.get(part.dtype.kind, part.dtype))


def _check_type(part, spec):
    """Raises ValueError if targets have another type than those of the first batch."""
    own = _spec(part).dtype
    if own != spec.dtype:
        raise ValueError(
            "The targets of all batches must have the same type. Received: "
            f"{own.name} after {spec.dtype.name}."
        )
