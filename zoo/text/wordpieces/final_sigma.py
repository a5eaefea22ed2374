"""The two rules of WordPiece that depend on more than one character.

- A capital sigma at the end of a Greek word becomes a final sigma in lower case.
- A word of more than 200 characters is unknown.

Both rules are applied to normalized texts and do not move any byte. Few texts need
them.
"""

import functools

import numpy as np
import tensorflow as tf

from zoo.ragged_rows import row_ids
from zoo.text.wordpieces import unicode_classes

MAX_CHARACTERS = 200
_CODES = np.arange(unicode_classes.MAX_CODE + 1)
# The characters that end a word in normalized text. Other punctuation is already
# surrounded by white space.
SEPARATORS = (
    (_CODES == ord(" "))
    | (_CODES == ord(unicode_classes.ISOLATION))
    | (unicode_classes.classes() == unicode_classes.CHINESE)
    | ((unicode_classes.classes() == unicode_classes.PUNCTUATION) & (_CODES < 0x80))
)
_SEPARATOR_EDGES = unicode_classes.edges(SEPARATORS)
# Normalized texts do not contain this character. It has as many bytes as a sigma.
_MARKER = "\u00ad"


def settle(texts, lowercase):
    """Applies both rules to normalized texts, string (B,)."""

    # A word of more than 200 characters is replaced by a word of the same number of
    # bytes that is in no vocabulary.
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
    """Matches texts without long words and without excluded characters."""
    end = unicode_classes.character_class(SEPARATORS)
    inside = f"[^{end}{excluded}]{{0,{MAX_CHARACTERS}}}"
    return f"(?:{inside}[{end}])*{inside}"


def _lower_sigmas(texts):
    """Replaces capital sigmas by sigmas or, after Final_Sigma, by final sigmas."""
    # A sigma is final if a cased letter comes before it and no cased letter comes after
    # it. Only letters of the same token count; tokens are separated by white space.
    # Case-ignorable characters are skipped. The first expression marks the sigmas
    # without a cased letter after them. Its matches cannot overlap, because a sigma is
    # cased itself. The second one makes the marked sigmas with a cased letter before
    # them final.
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
    """Replaces the characters of long words by unused characters of the same size."""
    codes = tf.strings.unicode_decode(texts, "UTF-8")
    rows = row_ids(codes)
    separator = unicode_classes.inside(codes.values, _SEPARATOR_EDGES)
    row_start = tf.concat([[True], rows[1:] != rows[:-1]], 0)[: tf.size(rows)]
    word = tf.cumsum(tf.cast(separator | row_start, tf.int32))
    length = tf.math.segment_sum(tf.cast(~separator, tf.int32), word)
    too_long = ~separator & (tf.gather(length, word) > MAX_CHARACTERS)
    size = tf.searchsorted([0x80, 0x800, 0x10000], codes.values, side="right")
    void = tf.gather([0x01, 0x80, 0xFFFF, 0x10FFFF], size)
    codes = codes.with_values(tf.where(too_long, void, codes.values))
    return tf.strings.unicode_encode(codes, "UTF-8")
