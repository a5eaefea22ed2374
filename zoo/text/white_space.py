"""Texts to words that are separated by white space."""

import tensorflow as tf
import tensorflow_text as tf_text

from zoo.text import offsets

# What `str.isspace`, `str.split` and `\s` of Python's `re` call white space. RE2 and
# `tf.strings` have other definitions.
SPACES = "".join(filter(str.isspace, map(chr, range(0x3001))))
SPACE = "[" + "".join(rf"\x{{{ord(space):x}}}" for space in SPACES) + "]"  # for RE2

# White space that TensorFlow Text does not split on, or splits in the middle (2.20),
# and as many spaces.
OTHER_SPACES = (
    ("[\x1c-\x1f]", " "),
    ("[\u0085\u00a0]", "  "),
    ("[\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]", "   "),
)


def is_blank(texts):
    """Whether texts have nothing but white space, bool of the shape of `texts`."""
    return tf.strings.regex_full_match(texts, f"{SPACE}*")


def strip(texts):
    """Texts without white space at both ends, as `str.strip`."""
    return tf.strings.regex_replace(texts, f"^{SPACE}+|{SPACE}+$", "")


def split_words(texts, unit="bytes"):
    """Splits texts on white space, as `str.split`.

    Args:
        texts: string (B,).
        unit: "bytes" of UTF-8, or "characters" as Python counts them.

    Returns:
        words: tf.RaggedTensor string (B, None).
        starts, ends: tf.RaggedTensor int32 (B, None). A word is `text[start:end]`.
    """
    plain = texts
    for pattern, spaces in OTHER_SPACES:
        plain = tf.strings.regex_replace(plain, pattern, spaces)
    words, *spans = tf_text.WhitespaceTokenizer().tokenize_with_offsets(plain)
    spans = [tf.cast(span, tf.int64) for span in spans]
    if unit == "characters":
        spans = [offsets.to_characters(span, texts) for span in spans]
    starts, ends = (tf.cast(span, tf.int32) for span in spans)
    return words, starts, ends
