"""Texts to words at white space, with the way back."""

import tensorflow as tf
import tensorflow_text as tf_text

from zoo.text import offsets

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


class WordSplitter(tf.Module):
    """The base of tokenizers whose tokens are the words themselves.

    Inputs:
      texts: str, or a list, array or tensor (B,) of strings.

    Returns:
      tf.RaggedTensor string (B, None) of words; of one str, a tensor string (None,).
    """

    pad_id, cls_id, sep_id = "", SENTENCE_BEGIN, SENTENCE_END
    split = staticmethod(split_words)

    def __call__(self, texts):
        """Returns the texts' words; see the class."""
        texts = tf.convert_to_tensor(texts, tf.string)
        words = split_words(tf.reshape(texts, [-1]))[0]
        return words if texts.shape.rank else words.values

    def pieces(self, words):
        """Words (N,) as rows of one token each, ragged (N, 1)."""
        return tf.RaggedTensor.from_tensor(words[:, None])

    @classmethod
    def from_config(cls, config):
        """Rebuilds the tokenizer."""
        return cls(**config)
