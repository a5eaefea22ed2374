"""Texts to rows of tokens and places of words; a long text has several rows."""

import tensorflow as tf

from zoo.data.rows.packing import WordPacker, spans
from zoo.ragged_rows import owners, row_ids


class WordWindowPacker(WordPacker):
    """Packs texts into rows of tokens as `WordPacker` does, but truncates no text.

    A text that is longer than a row is split into windows. Two windows after each other
    have half of their tokens in common. A word has its position in only one window, the
    one with the most tokens on both sides of the word. There is at least a quarter of a
    row on each side, except at the ends of the text.

    Args:
        tokenizer, sequence_length: see `WordPacker`.
    """

    truncates = False

    def pack(self, texts):
        """See `WordPacker.pack`; the rows are M windows, and no text is truncated.

        The dict also has windows, int32 (B,), the number of windows of each text. They
        follow each other, and so do their words.
        """
        tokens, places = self._pieces(texts)
        room = self.limit - self._markers(1)
        stride, lengths = room // 2, tf.cast(tokens.row_lengths(), tf.int32)
        counts = 1 + tf.maximum(-((room - lengths) // stride), 0)
        owner = owners(counts)
        before = tf.ragged.range(counts).values * stride
        starts = tf.cast(tf.gather(tokens.row_starts(), owner), tf.int32)
        sizes = tf.minimum(tf.gather(lengths, owner) - before, room)
        index = spans(starts + before, sizes)
        rows = self._framed([index.with_values(tf.gather(tokens.values, index.values))])
        text_of = tf.cast(row_ids(places), tf.int32)
        window = (2 * places.values - stride) // (2 * stride)
        window = tf.clip_by_value(window, 0, tf.gather(counts, text_of) - 1)
        rows["word_positions"] = tf.RaggedTensor.from_value_rowids(
            places.values - window * stride + self._first,
            tf.gather(tf.cumsum(counts, exclusive=True), text_of) + window,
            nrows=tf.size(owner),
        )
        rows["windows"] = counts
        return rows, tf.constant(0)

    def windows(self, texts):
        """See `Packer.dense`; also the number of words of each text, int64 (B,)."""
        rows, _ = self.pack(texts)
        ends = tf.cumsum(rows["windows"])
        words = tf.gather(rows["word_positions"].row_splits, ends)
        return self.dense(rows), words - tf.concat([[0], words], 0)[:-1]
