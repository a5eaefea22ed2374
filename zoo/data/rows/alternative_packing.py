"""Texts of several columns to rows of several sequences, such as four choices."""

import tensorflow as tf

from zoo.data.rows.packing import Packer


class AlternativesPacker(Packer):
    """Packs each row into N sequences of tokens, each of them of some of the columns.

    The sequences of a multiple choice of two endings are of the columns (0, 1) and
    (0, 2). The features of a batch have the shape (B, N, L).

    Args:
        tokenizer, sequence_length, framing: see `Packer`. The limit is that of each
            sequence.
        arrangements: tuple of N tuples of one or two ints, the numbers of columns.
    """

    def __init__(self, tokenizer, sequence_length, arrangements, framing=None):
        super().__init__(tokenizer, sequence_length, framing)
        self.arrangements = arrangements

    def packed(self, texts):
        """Returns the rows of `pack`, and which of them were truncated, bool (B,).

        The N sequences of a row follow each other.
        """
        pack, count = super().packed, len(self.arrangements)
        parts = [pack(tuple(texts[i] for i in order)) for order in self.arrangements]
        cut = tf.reduce_any([cut for _, cut in parts], axis=0)
        numbers = tf.range(count * tf.size(cut))
        order = tf.reshape(tf.transpose(tf.reshape(numbers, (count, -1))), [-1])
        return {
            name: tf.gather(tf.concat([rows[name] for rows, _ in parts], 0), order)
            for name in parts[0][0]
        }, cut

    def lengths(self, rows):
        """Returns the lengths of the longest sequences, int64 (N,)."""
        lengths = super().lengths(rows)
        return tf.reduce_max(tf.reshape(lengths, (-1, len(self.arrangements))), axis=1)

    def dense(self, rows, length=None):
        """Pads the sequences to a common length; see `Packer.dense`."""
        return self._apart(super().dense(rows, length))

    def selector(self, rows, bucketed=False):
        """Makes a function that selects and pads rows; see `Packer.selector`."""
        select, count = super().selector(rows, bucketed), len(self.arrangements)

        def choose(index):
            row_numbers = index[:, None] * count + tf.range(count, dtype=index.dtype)
            return self._apart(select(tf.reshape(row_numbers, [-1])))

        return choose

    def _apart(self, features):
        """Features (B N, L, ...) as (B, N, L, ...)."""
        rows = [-1, len(self.arrangements)]
        return {
            name: tf.reshape(value, tf.concat([rows, tf.shape(value)[1:]], axis=0))
            for name, value in features.items()
        }
