"""Texts to words, and words to character ids, inside the TensorFlow graph."""

import tensorflow as tf

from zoo.checks.counts import whole_number
from zoo.text.vocabulary import Vocabulary, lookup
from zoo.text.words.splitting import SENTENCE_BEGIN, SENTENCE_END, WordSplitter

# The bytes of the first and of the last word of a sentence.
BEGIN, END = 256, 257
BEGIN_WORD, END_WORD, PAD = 258, 259, 260
UNKNOWN = "<UNK>"
FIRST_WORDS = (SENTENCE_BEGIN, SENTENCE_END, UNKNOWN)


class CharacterTokenizer(WordSplitter):
    """Splits texts into words, and spells each word as the ids of its bytes, for ELMo.

    The ids of a word with the bytes b are `[258, b..., 259, 260, 260, ...] + 1`. The
    word `<S>` is spelled with the single byte 256, and `</S>` with 257. Positions
    without a word have the id 0. A word is truncated to `max_characters`, even in the
    middle of a character of several bytes.

    Source: Peters et al. 2018; released code `bilm/data.py`. Case and accents are kept.
    The texts of the authors are already tokenized, so words are split on white space
    only.

    Args:
        max_characters: int, limit for the length of a word, both markers included; at
            least 3.
        vocabulary: path of a file with one word per line, or a sequence of str; None
            for no vocabulary. It holds the words that a language model predicts, whose
            ids `word_ids` returns. The first three are `<S>`, `</S>` and `<UNK>`. A
            sampled softmax expects the most frequent words first. Spelling does not
            depend on the vocabulary.
        punctuation: bool, whether punctuation is split from the ends of words, see
            `zoo.text.split_punctuation`. If False, it is kept as a part of the word.

    Attributes:
        vocabulary: tuple of str, or None.

    Returns:
        string words, see `Tokenizer`.

    Raises:
        FileNotFoundError: if the vocabulary file does not exist.
        ValueError: if `max_characters` is less than 3; or if the vocabulary has another
            beginning, an empty word or a repeated word.

    Example:
        >>> tokenizer = CharacterTokenizer()
        >>> tokenizer.spell(tokenizer("The")).numpy().tolist()
        [[259, 85, 105, 102, 260]]
    """

    # The number of character ids, padding (0) included.
    vocabulary_size = 262
    files = {"vocabulary": "vocabulary.txt"}
    _markers = (BEGIN_WORD, END_WORD, PAD)

    def __init__(self, max_characters=50, vocabulary=None, punctuation=False):
        super().__init__()
        way = "Two of them are the markers of a word."
        whole_number(max_characters, "max_characters", 3, way)
        self.max_characters = max_characters
        self.punctuation = punctuation
        self.vocabulary = self._words = None
        if vocabulary is not None:
            self.vocabulary = Vocabulary(vocabulary, FIRST_WORDS).tokens
            if self.vocabulary[:3] != FIRST_WORDS:
                raise ValueError(
                    f"`vocabulary` must begin with {', '.join(FIRST_WORDS)}. Received: "
                    f"{', '.join(self.vocabulary[:3])}."
                )
            self._words = lookup(self.vocabulary, FIRST_WORDS.index(UNKNOWN))

    def spell(self, words, mask=None):
        """Returns the character ids of words, int32 (..., C), for the longest word.

        C is at most `max_characters`. The mask is bool (...), True = word; by default,
        it is True where strings are not empty.
        """
        words = tf.convert_to_tensor(words, tf.string)
        mask = words != self.pad_id if mask is None else tf.convert_to_tensor(mask)
        ids, lengths = self._letters(words)
        begin, end, pad = self._markers
        edges = [[0, 0]] * (words.shape.rank or 0) + [[1, 1]]
        ids = tf.pad(ids, edges, constant_values=begin)
        column, last = tf.range(tf.shape(ids)[-1]), lengths[..., None] + 1
        ids = tf.where(column == last, end, tf.where(column > last, pad, ids))
        return tf.where(mask[..., None], ids + 1, 0)

    def _letters(self, words):
        """Returns the ids between the markers, int32 (..., C), and their number."""
        marker = tf.where(words == SENTENCE_BEGIN, BEGIN, 0)
        marker = tf.where(words == SENTENCE_END, END, marker)
        room = self.max_characters - 2
        lengths = tf.where(marker > 0, 1, tf.minimum(tf.strings.length(words), room))
        raw = tf.io.decode_raw(words, tf.uint8, fixed_length=longest(lengths))
        ids = tf.cast(raw, tf.int32)
        return tf.where(marker[..., None] > 0, marker[..., None], ids), lengths

    def word_ids(self, words):
        """Returns the ids of words in the vocabulary, or that of `<UNK>`, int32."""
        if self._words is None:
            raise ValueError(
                "Word ids need a vocabulary. Received: a "
                f"{type(self).__name__} without one. Give it a `vocabulary`."
            )
        if not isinstance(words, tf.RaggedTensor):
            words = tf.convert_to_tensor(words, tf.string)
        return self._words.lookup(words)

    def inputs(self, features):
        """Returns character_ids (B, L, C) and padding_mask; see `Tokenizer.inputs`."""
        mask = features["padding_mask"]
        ids = self.spell(features["tokens"], mask > 0)
        return {"character_ids": ids, "padding_mask": mask}

    def get_config(self):
        """Returns the constructor's arguments, with the content of the vocabulary."""
        config = {"max_characters": self.max_characters}
        if self.vocabulary:
            config["vocabulary"] = list(self.vocabulary)
        if self.punctuation:
            config["punctuation"] = True
        return config


def longest(lengths):
    """Returns the maximum of int32 (...), at least 1."""
    return tf.reduce_max(tf.pad(tf.reshape(lengths, [-1]), [[1, 0]], constant_values=1))
