"""The two rules of WordPiece that look at more than one character.

Both work on normalized text, keep every byte's place, and are needed by few texts:
the final sigma of lower-cased Greek, and the limit on a word's length.
"""

import functools

import numpy as np
import tensorflow as tf

from zoo.text import unicode_classes

MAX_CHARACTERS = 200
_CODES = np.arange(unicode_classes.MAX_CODE + 1)
# What ends a word in normalized text. Other punctuation stands between white space.
SEPARATORS = (
    (_CODES == ord(" "))
    | (_CODES == ord(unicode_classes.ISOLATION))
    | (unicode_classes.classes() == unicode_classes.CHINESE)
    | ((unicode_classes.classes() == unicode_classes.PUNCTUATION) & (_CODES < 0x80))
)
_SEPARATOR_EDGES = (np.flatnonzero(np.diff(SEPARATORS)) + 1).astype(np.int32)
_MARKER = "\u00ad"  # in no normalized text, and of a sigma's size


def settle(texts, lowercase):
    """Applies both rules to normalized texts.

    Args:
      texts: string (B,), normalized.
      lowercase: bool, whether capital sigmas are to be lowered.

    Returns:
      string (B,). A word of more than 200 characters has become one that is in no
      vocabulary, of the same size.
    """

    def finish(texts):
        texts = _lower_sigmas(texts) if lowercase else texts
        return _mend(texts, _settled_pattern(), _void_long_words)

    return _mend(texts, _settled_pattern(unicode_classes.SIGMA * lowercase), finish)


def _mend(texts, pattern, function):
    """Applies a function to the texts that do not match a pattern, if there are any."""
    sound = tf.strings.regex_full_match(texts, pattern)

    def mend_rows():
        rows = tf.where(~sound)
        return tf.tensor_scatter_nd_update(
            texts, rows, function(tf.gather_nd(texts, rows))
        )

    return tf.cond(tf.reduce_all(sound), lambda: texts, mend_rows)


@functools.cache
def _settled_pattern(excluded=""):
    """Matches texts without words over the limit and without excluded characters."""
    end = unicode_classes.character_class(SEPARATORS)
    inside = f"[^{end}{excluded}]{{0,{MAX_CHARACTERS}}}"
    return f"(?:{inside}[{end}])*{inside}"


def _lower_sigmas(texts):
    """Lowers capital sigmas, to the final form where Unicode's Final_Sigma says so.

    Final: in its white-space delimited token a cased letter comes before and none
    comes after, case-ignorable characters skipped. First the sigmas with nothing
    cased after them are marked (their matches cannot overlap, as the next sigma is
    cased), then the marked ones with something cased before are final.
    """
    after, before = _sigma_patterns()
    texts = tf.strings.regex_replace(texts, after, rf"{_MARKER}\1\2")
    texts = tf.strings.regex_replace(texts, before, "\\1\u03c2")
    left = f"[{_MARKER}{unicode_classes.SIGMA}]"
    return tf.strings.regex_replace(texts, left, "\u03c3")


@functools.cache
def _sigma_patterns():
    casing = unicode_classes.casing()
    isolation = _CODES == ord(unicode_classes.ISOLATION)
    cased = unicode_classes.character_class(casing == unicode_classes.CASED)
    ignorable = casing == unicode_classes.IGNORABLE
    skipped = unicode_classes.character_class(ignorable | isolation)
    after = f"{unicode_classes.SIGMA}([{skipped}]*)([^{cased}{skipped}]|\\z)"
    return after, f"([{cased}][{skipped}]*){_MARKER}"


def _void_long_words(texts):
    """Replaces words over the limit by characters of no vocabulary, size by size."""
    codes = tf.strings.unicode_decode(texts, "UTF-8")
    rows = codes.value_rowids()
    separator = tf.searchsorted(_SEPARATOR_EDGES, codes.values, side="right") % 2 == 1
    row_start = tf.concat([[True], rows[1:] != rows[:-1]], 0)[: tf.size(rows)]
    word = tf.cumsum(tf.cast(separator | row_start, tf.int32))
    length = tf.math.segment_sum(tf.cast(~separator, tf.int32), word)
    too_long = ~separator & (tf.gather(length, word) > MAX_CHARACTERS)
    size = tf.searchsorted([0x80, 0x800, 0x10000], codes.values, side="right")
    void = tf.gather([0x01, 0x80, 0xFFFF, 0x10FFFF], size)
    codes = codes.with_values(tf.where(too_long, void, codes.values))
    return tf.strings.unicode_encode(codes, "UTF-8")
