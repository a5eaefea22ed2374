"""Texts to words at white space, with the way back."""

import tensorflow as tf
import tensorflow_text as tf_text

from zoo.text import offsets
from zoo.text.tokenizer import Framing, Tokenizer

SENTENCE_BEGIN, SENTENCE_END = "<S>", "</S>"
# White space of several bytes, which TensorFlow Text 2.20 cuts in the middle, and as
# many spaces.
WIDE_SPACES = (
    ("[\u0085\u00a0]", "  "),
    ("[\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]", "   "),
)


def split_words(texts, unit="bytes"):
    """Splits texts at Unicode's white space.

    Args:
      texts: string (B,).
      unit: "bytes" of UTF-8, or "characters" as Python counts them.

    Returns:
      words: tf.RaggedTensor string (B, None); starts and ends: the same of int32, so
      that a word is `text[start:end]`.
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


# What parts words wherever it stands; the rest of punctuation only at their ends.
BREAKS = r"(\x{2014}|\x{2013}|\x{2015}|\x{2026}|-{2,}|\.{2,})"
MARKS = r"[\pP\pS]"


def split_punctuation(words):
    """Takes punctuation and symbols off the ends of words.

    Each mark becomes a word of its own; dashes and ellipses also part what stands on
    both sides of them. What is inside of a word stays: "don't", "3.14", "well-known".

    Args:
      words: string (N,), none empty.

    Returns:
      tf.RaggedTensor string (N, None).
    """
    parts = tf.strings.split(tf.strings.regex_replace(words, BREAKS, r" \1 "))
    flat = parts.values
    breaks = tf.strings.regex_full_match(flat, BREAKS)
    front = tf.strings.regex_replace(flat, rf"^({MARKS}*)\C*$", r"\1")
    front = tf.where(breaks, "", front)
    rest = tf.strings.substr(flat, tf.strings.length(front), tf.strings.length(flat))
    back = tf.strings.regex_replace(rest, rf"^\C*?({MARKS}*)$", r"\1")
    back = tf.where(breaks, "", back)
    inside = tf.strings.substr(
        rest,
        tf.zeros_like(breaks, tf.int32),
        tf.strings.length(rest) - tf.strings.length(back),
    )
    marks = [tf.strings.unicode_split(part, "UTF-8") for part in (front, back)]
    pieces = tf.concat([marks[0], inside[:, None], marks[1]], axis=1)
    pieces = tf.ragged.boolean_mask(pieces, pieces != "")
    return tf.RaggedTensor.from_row_splits(
        pieces.values, tf.gather(pieces.row_splits, parts.row_splits)
    )


class WordSplitter(Tokenizer):
    """The base of tokenizers whose tokens are the words themselves.

    Inputs:
      texts: str, or a list, array or tensor (B,) of strings.

    Returns:
      tf.RaggedTensor string (B, None) of words; of one str, a tensor string (None,).
    """

    tokens_are_words = True
    pad_id, cls_id, sep_id = "", SENTENCE_BEGIN, SENTENCE_END
    punctuation = False  # whether it is taken off the ends of words
    split = staticmethod(split_words)

    def __call__(self, texts):
        """Returns the texts' words; see the class."""
        texts = tf.convert_to_tensor(texts, tf.string)
        words = split_words(tf.reshape(texts, [-1]))[0]
        pieces = self.pieces(words.values)
        words = tf.RaggedTensor.from_row_splits(
            pieces.values, tf.gather(pieces.row_splits, words.row_splits)
        )
        return words if texts.shape.rank else words.values

    def pieces(self, words):
        """Words (N,) as rows of tokens, ragged (N, None), at least one each."""
        if self.punctuation:
            return split_punctuation(words)
        return tf.RaggedTensor.from_tensor(words[:, None])

    @property
    def framing(self):
        """A marker before each row and after each text."""
        return Framing((self.cls_id,), (self.sep_id,), (self.sep_id,))
