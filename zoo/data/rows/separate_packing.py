"""Texts of several columns to rows, one for each column."""

import tensorflow as tf

from zoo.data.rows.packing import Packer

COLUMN_PREFIXES = ("", "pair_")  # of the features of the first and of the second column


class SeparatePacker(Packer):
    """Packs each column into a row of its own, as if it were a single text.

    The features of the second column have names with "pair_" before them, such as
    pair_token_ids and pair_padding_mask. `sequence_length` is the limit of each column.

    Args:
        tokenizer, sequence_length: see `Packer`.
    """

    def pack(self, texts):
        """See `Packer.pack`; the features of each text have its prefix."""
        if len(texts) > len(COLUMN_PREFIXES):
            raise ValueError(
                f"There must be one column of texts or two. Received: {len(texts)} "
                "columns."
            )
        parts = [self.packed((text,)) for text in texts]
        cut = tf.reduce_any([cut for _, cut in parts], axis=0)
        rows = _joined([rows for rows, _ in parts])
        return rows, tf.reduce_sum(tf.cast(cut, tf.int32))

    def lengths(self, rows):
        """Returns the lengths of the longer texts, int64 (N,)."""
        count = super().lengths
        return tf.reduce_max([count(part) for part in _parts(rows)], axis=0)

    def dense(self, rows, length=None):
        """Pads the rows of each column to a common length; see `Packer.dense`."""
        pad = super().dense
        return _joined([pad(part, length) for part in _parts(rows)])

    def selector(self, rows, bucketed=False):
        """Makes a function that selects and pads rows; see `Packer.selector`."""
        make = super().selector
        selectors = [make(part, bucketed) for part in _parts(rows)]
        return lambda index: _joined([select(index) for select in selectors])


def features_of(features, prefix):
    """The features of one column, without its prefix of `COLUMN_PREFIXES`."""
    second = COLUMN_PREFIXES[1]
    if prefix:
        return {
            name.removeprefix(prefix): value
            for name, value in features.items()
            if name.startswith(prefix)
        }
    return {k: value for k, value in features.items() if not k.startswith(second)}


def _parts(rows):
    """The rows of each column, a list of one dict or two."""
    parts = [features_of(rows, prefix) for prefix in COLUMN_PREFIXES]
    return [part for part in parts if part]


def _joined(parts):
    """The features of all columns with their prefixes, a dict."""
    return {
        prefix + name: value
        for prefix, part in zip(COLUMN_PREFIXES, parts, strict=False)
        for name, value in part.items()
    }
