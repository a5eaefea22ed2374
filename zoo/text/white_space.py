"""Texts to words that are separated by white space."""

import tensorflow as tf
import tensorflow_text as tf_text

from zoo.text import offsets

# White space of several bytes, and as many spaces. TensorFlow Text 2.20 splits such
# characters in the middle.
WIDE_SPACES = (
    ("[\u0085\u00a0]", "  "),
    ("[\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]", "   "),
)


# All white space of Unicode, as `str.split` knows it.
SPACES = "".join(filter(str.isspace, map(chr, range(0x3001))))
BLANK = "[" + "".join(rf"\x{{{ord(space):x}}}" for space in SPACES) + "]*"


def is_blank(texts):
    """Whether texts have nothing but white space, bool (B,)."""
    return tf.strings.regex_full_match(texts, BLANK)


def split_words(texts, unit="bytes"):
    """Splits texts on Unicode white space.

    Args:
        texts: string (B,).
        unit: "bytes" of UTF-8, or "characters" as Python counts them.

    Returns:
        words: tf.RaggedTensor string (B, None).
        starts, ends: tf.RaggedTensor int32 (B, None). A word is `text[start:end]`.
    """
    plain = texts
    for pattern, spaces in WIDE_SPACES:
        plain = tf.strings.regex_replace(plain, pattern, spaces)
    words, *spans = tf_text.WhitespaceTokenizer().tokenize_with_offsets(plain)
    spans = [tf.cast(span, tf.int64) for span in spans]
    if unit == "characters":
        spans = [offsets.to_characters(span, texts) for span in spans]
    starts, ends = (tf.cast(span, tf.int32) for span in spans)
    return words, starts, ends
