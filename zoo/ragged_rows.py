"""Operations on rows of unequal length whose memory grows with their values only.

TensorFlow's `RaggedTensor.value_rowids`, and all operations that use it, such as
`tf.ragged.boolean_mask`, `tf.strings.reduce_join` and `tf.repeat`, make a matrix of all
rows with the width of the longest one. Among 10,000 words, one of 100,000 characters
would need 8 GB.
"""

import tensorflow as tf


def row_ids(ragged):
    """The row of each value.

    Args:
        ragged: tf.RaggedTensor (B, None, ...), T values in all.

    Returns:
        int (T,), as `ragged.value_rowids()`, of the type of its row splits.
    """
    return _owners(ragged.row_splits)


def owners(counts):
    """The row of each value, for rows of known sizes.

    Args:
        counts: int32 or int64 (B,), how many values a row has.

    Returns:
        int (sum of counts,), of the type of `counts`.
    """
    return _owners(tf.concat([[0], tf.cumsum(counts)], 0))


def repeat(values, counts):
    """Repeats each value.

    Args:
        values: tensor (N, ...).
        counts: int32 or int64 (N,), how many times.

    Returns:
        tensor (sum of counts, ...), as `tf.repeat(values, counts, axis=0)`.
    """
    return tf.gather(values, owners(counts))


def is_last(ragged):
    """Whether each value of a tf.RaggedTensor is the last one of its row, bool (T,)."""
    rows = row_ids(ragged)
    return tf.concat([rows[1:] != rows[:-1], [True]], axis=0)[: tf.size(rows)]


def keep(ragged, kept):
    """Removes values from rows.

    Args:
        ragged: tf.RaggedTensor (B, None, ...), T values in all.
        kept: bool (T,), whether to keep each value.

    Returns:
        tf.RaggedTensor (B, None, ...), as `tf.ragged.boolean_mask`.
    """
    before = tf.cumsum(tf.cast(kept, ragged.row_splits.dtype))
    splits = tf.gather(tf.concat([[0], before], 0), ragged.row_splits)
    values = tf.boolean_mask(ragged.values, kept)
    return tf.RaggedTensor.from_row_splits(values, splits, validate=False)


def before(rows, end):
    """The values of each row before the first `end`.

    Args:
        rows: int (B, T), dense or ragged.
        end: int.

    Returns:
        tf.RaggedTensor (B, None).
    """
    if isinstance(rows, tf.RaggedTensor):
        rows = rows.to_tensor(end)
    inside = tf.cumsum(tf.cast(rows == end, tf.int32), axis=1) == 0
    return tf.ragged.boolean_mask(rows, inside)


def join(ragged, separator=""):
    """Joins the strings of each row.

    Args:
        ragged: tf.RaggedTensor string (B, None).
        separator: str.

    Returns:
        string (B,), as `tf.strings.reduce_join(ragged, axis=1)`.
    """
    return tf.strings.unsorted_segment_join(
        ragged.values, row_ids(ragged), ragged.nrows(), separator
    )


def shifted(values, count):
    """Values (T,) moved to the right, or to the left if `count` is negative.

    What is missing is 0, False or "".
    """
    missing = tf.zeros([abs(count)], values.dtype)
    if count > 0:
        return tf.concat([missing, values], axis=0)[: tf.size(values)]
    return tf.concat([values, missing], axis=0)[-count:]


def _owners(splits):
    """The row of each value, from the row splits (B + 1,)."""
    values = tf.range(splits[-1])
    return tf.searchsorted(splits[1:], values, side="right", out_type=splits.dtype)
