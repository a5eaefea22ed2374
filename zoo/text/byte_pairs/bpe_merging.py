"""Applies byte-pair encoding to words, inside the TensorFlow graph."""

import numpy as np
import tensorflow as tf

from zoo.ragged_rows import row_ids
from zoo.text.vocabulary import constant, lookup


class BytePairMerger(tf.Module):
    """Joins neighbouring symbols of words by the ranks of their pairs.

    In each word, the pair with the lowest rank is joined wherever it occurs, from left
    to right. This is repeated until no two neighbours have a rank.

    Source: Sennrich et al. 2016, and `apply_bpe` of the released code, subword-nmt.

    Args:
        merges: sequence of pairs of str, in the order of their ranks. If a pair is
            repeated, its first rank counts.
        symbols: iterable of str, further symbols that need an id.

    Attributes:
        ids: dict of symbol to id; 0 is that of unknown symbols, which are never joined.

    Inputs:
        words: tf.RaggedTensor int32 (W, None), the ids of the symbols of each word.

    Returns:
        tf.RaggedTensor int32 (W, None), the ids of the joined symbols.
    """

    def __init__(self, merges, symbols=()):
        super().__init__()
        merges = list(dict.fromkeys(merges))
        found = dict.fromkeys(symbols)
        for left, right in merges:
            found |= dict.fromkeys((left, right, left + right))
        self.ids = {symbol: i for i, symbol in enumerate(found, start=1)}
        pairs = [(self.ids[left], self.ids[right]) for left, right in merges]
        pairs = np.array(pairs, "int64").reshape(-1, 2)
        joined = [self.ids[left + right] for left, right in merges]
        self._base, self._none = len(self.ids) + 1, len(merges)
        # A table needs a key. Unknown symbols are never looked up as a pair.
        keys = np.append(pairs[:, 0] * self._base + pairs[:, 1], np.int64(0))
        self._ranks = lookup(keys, self._none)
        self._joined = constant([*joined, 0])

    def __call__(self, words):
        """Returns the joined symbols; see the class."""
        flat = words.values, tf.cast(row_ids(words), tf.int32)
        free = tf.TensorShape([None])
        flat = tf.while_loop(
            lambda symbols, rows, changed: changed,
            lambda symbols, rows, changed: self._step(symbols, rows),
            (*flat, tf.constant(True)),
            shape_invariants=(free, free, tf.TensorShape([])),
        )
        rows = tf.cast(flat[1], words.row_splits.dtype)
        return tf.RaggedTensor.from_value_rowids(
            flat[0], rows, nrows=words.nrows(), validate=False
        )

    def _step(self, symbols, rows):
        """Joins the best pair of each word; the last result is whether any was."""
        place = tf.range(tf.size(symbols))
        after = tf.concat([symbols[1:], [0]], axis=0)
        inside = tf.concat([rows[1:] == rows[:-1], [False]], axis=0)[: tf.size(rows)]
        keys = tf.cast(symbols, tf.int64) * self._base + tf.cast(after, tf.int64)
        ranks = self._ranks.lookup(tf.where(inside, keys, 0))
        best = tf.gather(tf.math.segment_min(ranks, rows), rows)
        chosen = (ranks == best) & (ranks < self._none)
        # Of "aaa", the first two are joined: in a run of chosen places, every second.
        before = tf.concat([[-1], tf.cast(tf.where(~chosen)[:, 0], tf.int32)], axis=0)
        run = tf.gather(before, tf.cumsum(tf.cast(~chosen, tf.int32)))
        chosen &= (place - run) % 2 == 1
        symbols = tf.where(chosen, tf.gather(self._joined, ranks), symbols)
        kept = tf.concat([[True], ~chosen[:-1]], axis=0)[: tf.size(rows)]
        parts = tf.boolean_mask(symbols, kept), tf.boolean_mask(rows, kept)
        return *parts, tf.reduce_any(chosen)
