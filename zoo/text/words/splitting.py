"""Tokenizers whose tokens are words, and words with their punctuation split off."""

import tensorflow as tf

from zoo.ragged_rows import keep
from zoo.text import offsets
from zoo.text.tokenizer import Framing, Tokenizer
from zoo.text.white_space import split_words

SENTENCE_BEGIN, SENTENCE_END = "<S>", "</S>"
# Dashes and ellipses, which separate words. Other punctuation is split from the ends
# of words only.
BREAKS = r"(\x{2014}|\x{2013}|\x{2015}|\x{2026}|-{2,}|\.{2,})"
MARKS = r"[\pP\pS]"


def split_punctuation(words):
    """Splits punctuation and symbols from the ends of words.

    Each mark becomes a word of its own. Dashes and ellipses also separate the words on
    both sides of them. Other marks inside a word are kept: "don't", "3.14",
    "well-known".

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
    pieces = keep(pieces, pieces.values != "")
    return parts.with_values(pieces).merge_dims(1, 2)


class WordSplitter(Tokenizer):
    """The base class of tokenizers whose tokens are the words themselves, as strings.

    Attributes:
        punctuation: bool, whether punctuation is split from the ends of words.
    """

    tokens_are_words = True
    pad_id, cls_id, sep_id = "", SENTENCE_BEGIN, SENTENCE_END
    punctuation = False

    def __call__(self, texts):
        """Returns the words of texts; see the class."""
        texts = tf.convert_to_tensor(texts, tf.string)
        words = split_words(tf.reshape(texts, [-1]))[0]
        words = words.with_values(self.pieces(words.values)).merge_dims(1, 2)
        return words if texts.shape.rank else words.values

    def pieces(self, words):
        """Returns the tokens of words (N,), ragged (N, None); at least one per word."""
        if self.punctuation:
            return split_punctuation(words)
        return tf.RaggedTensor.from_tensor(words[:, None])

    def offsets_in_words(self, pieces, sizes):
        """Returns where pieces begin and end in their words; see `Tokenizer`."""
        lengths = pieces.with_values(tf.strings.length(pieces.values))
        return offsets.from_lengths(lengths)

    @property
    def framing(self):
        """One marker before each row and one after each text."""
        return Framing((self.cls_id,), (self.sep_id,), (self.sep_id,))
