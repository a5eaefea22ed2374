"""Positions of tokens in the original texts, in bytes or in characters."""

import tensorflow as tf

from zoo.ragged_rows import row_ids

_SPANS = tf.RaggedTensorSpec([None, None], tf.int64)
_TEXTS = tf.TensorSpec([None], tf.string)


# The functions are compiled: eager ops on ragged tensors take milliseconds each.
@tf.function(input_signature=[_SPANS, _SPANS, _SPANS], autograph=False)
def to_source(starts, ends, sources):
    """Maps spans of normalized texts to spans of the originals, ragged (B, None)."""
    # `sources` has the original byte of each normalized byte, and of the end of the
    # text. A token begins at its first kept character, and ends where the next kept
    # character begins. Accents and invisible characters that normalization deletes
    # therefore belong to the token before them.
    rows = row_ids(starts)
    row_starts = tf.gather(sources.row_starts(), rows)
    first = tf.gather(sources.values, row_starts + starts.values)
    last = tf.gather(sources.values, row_starts + ends.values - 1)
    # The first larger source in the row. All rows are joined to one sorted sequence,
    # so that one search is enough.
    sizes = tf.gather(sources.values, sources.row_limits() - 1)
    shifts = tf.cumsum(sizes, exclusive=True)
    ladder = sources.values + tf.gather(shifts, row_ids(sources))
    last += tf.gather(shifts, rows)
    following = tf.searchsorted(ladder, last, side="right", out_type=tf.int64)
    return starts.with_values(first), ends.with_values(
        tf.gather(sources.values, following)
    )


@tf.function(input_signature=[_SPANS, _TEXTS], autograph=False)
def to_characters(spans, texts):
    """Converts positions in bytes to positions in characters, ragged (B, None)."""
    joined = tf.io.decode_raw(tf.strings.reduce_join(texts), tf.uint8)
    # A character begins at every byte that is not a continuation byte.
    begins = tf.bitwise.bitwise_and(joined, 0xC0) != 0x80
    before = tf.concat([[0], tf.cumsum(tf.cast(begins, tf.int64))], 0)
    shifts = tf.cumsum(tf.strings.length(texts), exclusive=True)
    shifts = tf.gather(tf.cast(shifts, tf.int64), row_ids(spans))
    counts = tf.gather(before, spans.values + shifts) - tf.gather(before, shifts)
    return spans.with_values(counts)


def from_lengths(lengths):
    """Where pieces begin and end in their rows, (M,), from ragged lengths."""
    sizes = tf.cast(lengths.values, tf.int64)
    ends = tf.cumsum(sizes)
    before = tf.gather(tf.concat([[0], ends], 0), lengths.row_starts())
    ends -= tf.gather(before, row_ids(lengths))
    return ends - sizes, ends


@tf.function(input_signature=[_SPANS, _SPANS, _TEXTS], autograph=False)
def to_whole_characters(starts, ends, texts):
    """Extends spans in bytes, ragged (B, None), whose ends are inside of characters."""
    joined = tf.io.decode_raw(tf.strings.reduce_join(texts), tf.uint8)
    inside = tf.bitwise.bitwise_and(joined, 0xC0) == 0x80
    inside = tf.cast(tf.concat([inside, [False] * 4], 0), tf.int64)
    sizes = tf.cast(tf.strings.length(texts), tf.int64)
    rows = row_ids(starts)
    shifts = tf.gather(tf.cumsum(sizes, exclusive=True), rows)
    sizes = tf.gather(sizes, rows)
    first = tf.minimum(starts.values, sizes)
    last = tf.minimum(ends.values, sizes)
    for _ in range(3):  # a character has at most four bytes
        first = tf.maximum(first - tf.gather(inside, first + shifts), 0)
        last = tf.minimum(last + tf.gather(inside, last + shifts), sizes)
    return starts.with_values(first), ends.with_values(last)


@tf.function(input_signature=[_SPANS, _TEXTS, _TEXTS], autograph=False)
def to_original(spans, repaired, texts):
    """Converts positions in repaired texts to positions in the original texts."""

    def original():
        characters = to_characters(spans, repaired).values
        _, begins = tf.strings.unicode_decode_with_offsets(texts, "UTF-8")
        sizes = tf.cast(tf.strings.length(texts), tf.int64)
        places = tf.concat([begins, sizes[:, None]], axis=1)
        rows = tf.gather(places.row_starts(), row_ids(spans))
        return tf.gather(places.values, rows + characters)

    same = tf.reduce_all(tf.equal(repaired, texts))
    return spans.with_values(tf.cond(same, lambda: spans.values, original))
