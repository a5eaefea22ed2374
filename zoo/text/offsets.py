"""Where a token stands in the text that was tokenized, in bytes or in characters."""

import tensorflow as tf

_SPANS = tf.RaggedTensorSpec([None, None], tf.int64)
_TEXTS = tf.TensorSpec([None], tf.string)


# Compiled, because ragged tensors cost milliseconds when each op runs by itself.
@tf.function(input_signature=[_SPANS, _SPANS, _SPANS])
def to_source(starts, ends, sources):
    """Maps spans of normalized texts back to the original texts.

    A token begins where its first kept character does, and ends where the next kept
    character begins: accents and invisible characters that normalization dropped
    belong to the token before them.

    Args:
      starts: tf.RaggedTensor int64 (B, None), where tokens begin in normalized bytes.
      ends: the same, where they end.
      sources: tf.RaggedTensor int64 (B, None), for each normalized byte and for the
        text's end the original byte it came from.

    Returns:
      starts, ends: tf.RaggedTensor int64 (B, None), spans in original bytes.
    """
    row_starts = tf.gather(sources.row_starts(), starts.value_rowids())
    first = tf.gather(sources.values, row_starts + starts.values)
    last = tf.gather(sources.values, row_starts + ends.values - 1)
    # The first larger source in the row. Rows are put one behind the other, so that
    # one search serves them all.
    sizes = tf.gather(sources.values, sources.row_limits() - 1)
    shifts = tf.cumsum(sizes, exclusive=True)
    ladder = sources.values + tf.gather(shifts, sources.value_rowids())
    last += tf.gather(shifts, starts.value_rowids())
    following = tf.searchsorted(ladder, last, side="right", out_type=tf.int64)
    return starts.with_values(first), ends.with_values(
        tf.gather(sources.values, following)
    )


@tf.function(input_signature=[_SPANS, _TEXTS])
def to_characters(spans, texts):
    """Converts positions in bytes to positions in characters.

    Args:
      spans: tf.RaggedTensor int64 (B, None), byte positions in their row's text.
      texts: string (B,).

    Returns:
      tf.RaggedTensor int64 (B, None): the number of characters that begin before.
    """
    joined = tf.io.decode_raw(tf.strings.reduce_join(texts), tf.uint8)
    begins = tf.bitwise.bitwise_and(joined, 0xC0) != 0x80  # not a continuation byte
    before = tf.concat([[0], tf.cumsum(tf.cast(begins, tf.int64))], 0)
    shifts = tf.cumsum(tf.strings.length(texts), exclusive=True)
    shifts = tf.gather(tf.cast(shifts, tf.int64), spans.value_rowids())
    counts = tf.gather(before, spans.values + shifts) - tf.gather(before, shifts)
    return spans.with_values(counts)
