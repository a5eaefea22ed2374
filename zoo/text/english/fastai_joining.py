"""Joins the tokens of fastai to readable texts, inside the TensorFlow graph."""

import tensorflow as tf

from zoo.ragged_rows import join, repeat
from zoo.text.english.fastai_splitting import (
    CAPITAL,
    CAPITALS,
    CHARACTERS,
    FILLER,
    SPECIALS,
    WORDS,
)

CLITIC = "n['’]t|['’](?:s|re|ve|ll|d|m)"
# Patterns and replacements. The first one joins pairs of quotation marks with what is
# between them. Each is applied twice, because matches share their spaces.
GLUE = (
    (r'(^| )" ([^"]*) "', r'\1"\2"'),
    (rf" ([,.;:!?…)\]}}%”»]+|(?i:{CLITIC}))( |$|\")", r"\1\2"),
    (r"(^| |\")([(\[{$£€#“«¿¡]+) ", r"\1\2"),
    (r" *\n *", "\n"),
)


def join_tokens(tokens, rows, size):
    """Joins tokens (N,) of texts, `rows` (N,), and applies the marks; (size,)."""
    # A number of repetitions has at most three digits. Otherwise the mark is dropped,
    # and the number is kept.
    values, rows = _repeat(tokens, rows)
    kept = ~tf.reduce_any(values[:, None] == tf.constant((*SPECIALS, FILLER)), axis=1)
    upper = _follows(values == CAPITALS, rows)
    title = _follows(values == CAPITAL, rows)
    # An ending in the same word is in capitals, too.
    clitic = tf.strings.regex_full_match(values, CLITIC)
    upper = upper | (clitic & _follows(upper, rows))
    values = tf.where(upper, _to_upper(values), values)
    values = tf.where(title, _capitalize(values), values)
    texts = tf.strings.unsorted_segment_join(values[kept], rows[kept], size, " ")
    texts = tf.strings.regex_replace(texts, "▁", " ")
    for pattern, replacement in GLUE:
        for _ in range(2):
            texts = tf.strings.regex_replace(texts, pattern, replacement)
    return tf.strings.strip(texts)


def _repeat(values, rows):
    """Replaces `xxrep n c` by n characters, and `xxwrep n w` by n words."""
    marks = (values == CHARACTERS) | (values == WORDS)
    number = tf.strings.regex_full_match(values, "[0-9]{1,3}")
    number = number & _follows(marks, rows)
    counted = _follows(number, rows)
    count = tf.strings.to_number(tf.where(number, values, "1"), tf.int64)
    ones = tf.ones_like(count)
    count = tf.where(counted, tf.roll(count, 1, 0), ones)
    words = counted & (tf.roll(values, 2, 0) == WORDS)
    once = tf.where(words, ones, count)
    values = join(tf.RaggedTensor.from_row_lengths(repeat(values, once), once))
    # A number is dropped only if a token follows it.
    followed = tf.concat([counted[1:], tf.zeros_like(counted[:1])], 0)
    times = tf.where(number & followed, ones - ones, tf.where(words, count, ones))
    return repeat(values, times), repeat(rows, times)


def _follows(flags, rows):
    """Whether the token before, in the same row, has the flag; boolean (N,)."""
    same = (rows[1:] == rows[:-1]) & flags[:-1]
    return tf.concat([tf.zeros_like(flags[:1]), same], 0)


def _to_upper(values):
    # The first step avoids the rule of Turkish locales for i.
    return tf.strings.upper(tf.strings.upper(values), encoding="utf-8")


def _capitalize(values):
    zero = tf.zeros_like(values, tf.int32)
    first = tf.strings.substr(values, zero, zero + 1, "UTF8_CHAR")
    size = tf.strings.length(first)
    return _to_upper(first) + tf.strings.substr(values, size, tf.strings.length(values))
