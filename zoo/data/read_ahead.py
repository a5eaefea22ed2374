"""Batches that can be read only once, or whose number is not known."""

import itertools

import numpy as np
import tensorflow as tf

# What is kept of a source, so that it can be read again.
MOST_BATCHES, MOST_BYTES = 10_000, 2**28


class Replay:
    """The batches of an iterator, which can be read again from the first one.

    Keras begins to read a dataset before the first epoch, and then reads it anew. Of
    too many batches, only the first ones are kept; such a source has a single pass.

    Args:
        source: iterator of batches, which are nests of tensors or arrays.

    Attributes:
        batches: list, those that were read and are kept.
        full: bool, whether there are too many to keep.
    """

    def __init__(self, source):
        self.source, self.batches, self.size = source, [], 0
        self.full = self.ended = False

    def __iter__(self):
        """Yields the batches that were read before, and then the others."""
        if self.full and self.ended:
            return
        number = 0
        while True:
            known = number < len(self.batches)
            batch = self.batches[number] if known else self._read()
            if batch is None:
                return
            number += 1
            yield batch

    def _read(self):
        """The next batch of the source, or None at its end."""
        batch = next(self.source, None)
        self.ended = batch is None
        if not self.full and not self.ended:
            self.batches.append(batch)
            parts = tf.nest.flatten(batch, expand_composites=True)
            self.size += sum(map(_bytes, parts))
            self.full = len(self.batches) >= MOST_BATCHES or self.size >= MOST_BYTES
        return batch

    def count(self):
        """Reads ahead; returns the number of batches, int, or None if it is full."""
        while not self.full and self._read() is not None:
            pass
        return None if self.full else len(self.batches)


class ReadAhead:
    """Counts the batches of a dataset of unknown length before the first epoch.

    A dataset may have no end, and may give its batches only once. So a limited number
    of them is read, and the first epoch has what was read, and then the rest. Later
    epochs read the dataset anew. If it then has another length, they still have as
    many batches as the first one: they end earlier, or begin anew.

    Args:
        dataset: tf.data.Dataset.

    Attributes:
        count: int, the number of batches, or None if there are too many to keep.
    """

    def __init__(self, dataset):
        self.whole, self.ahead = dataset, Replay(iter(dataset))
        self.count = self.ahead.count()

    def dataset(self, in_first_epoch):
        """The same batches, with a known length if they were counted."""

        def read():
            return iter(self.ahead) if in_first_epoch() else self._later(self.ahead)

        spec = self.whole.element_spec
        found = tf.data.Dataset.from_generator(read, output_signature=spec)
        if self.count is None:
            return found
        return found.apply(tf.data.experimental.assert_cardinality(self.count))

    def _later(self, ahead):
        """Yields the batches of a later epoch."""
        number = 0
        while self.count is None or number < self.count:
            rest, before = self.count and self.count - number, number
            for batch in itertools.islice(self.whole, rest):
                number += 1
                yield batch
            if number == before:  # it can be read only once
                yield from ahead
            if number == before or self.count is None:
                return


def _bytes(part):
    """The size of a tensor or an array in bytes."""
    if getattr(part, "dtype", None) == tf.string:
        return int(tf.reduce_sum(tf.strings.length(part)))
    return np.asarray(part).nbytes
