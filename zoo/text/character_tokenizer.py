"""Words as rows of character ids, inside the TensorFlow graph."""

import tensorflow as tf

from zoo.text.splitting import SENTENCE_BEGIN, SENTENCE_END, WordSplitter
from zoo.text.vocabulary import Vocabulary, lookup

BEGIN, END = 256, 257  # a sentence's first and last word
BEGIN_WORD, END_WORD, PAD = 258, 259, 260
UNKNOWN = "<UNK>"
FIRST_WORDS = (SENTENCE_BEGIN, SENTENCE_END, UNKNOWN)


class CharacterTokenizer(WordSplitter):
    """Text to words, and words to the ids of their bytes, as ELMo reads them.

    A word of the bytes b is `[258, b..., 259, 260, 260, ...] + 1`; the words `<S>` and
    `</S>` have 256 and 257 for bytes; 0 stands where no word is. Bytes that do not fit
    are dropped, even if that cuts a character of several bytes.

    Source: Peters et al. 2018; released code `bilm/data.py`. Case and accents stay. The
    authors' texts are tokenised before, so that white space is all that parts words.

    Args:
      max_characters: int, of a word, both markers included; at least 3.
      vocabulary: None, or the words that a language model predicts, which `word_ids`
        numbers: path of a file with one word per line, or a sequence of str. The first
        three are `<S>`, `</S>`, `<UNK>`; sampled softmaxes want the most frequent
        words to come first. What is read is spelled, whether it is there or not.
      punctuation: bool, whether punctuation is taken off the ends of words, see
        `zoo.text.split_punctuation`; else it stays where it is attached.

    Attributes:
      vocabulary: tuple of str, or None.

    Inputs:
      texts: str, or a list, array or tensor (B,) of strings.

    Returns:
      tf.RaggedTensor string (B, None) of words; of one str, a tensor string (None,).

    Raises:
      FileNotFoundError: there is no such vocabulary file.
      ValueError: there is no room for a character; the vocabulary begins otherwise or
        has an empty or a repeated word.

    Example:
      >>> tokenizer = CharacterTokenizer()
      >>> tokenizer.spell(tokenizer("The")).numpy().tolist()
      [[259, 85, 105, 102, 260]]
    """

    vocabulary_size = 262  # of characters, 0 included
    files = {"vocabulary": "vocabulary.txt"}
    _markers = (BEGIN_WORD, END_WORD, PAD)

    def __init__(self, max_characters=50, vocabulary=None, punctuation=False):
        super().__init__()
        if max_characters < 3:
            raise ValueError(
                "`max_characters` must be at least 3, a character and two markers. "
                f"Received: {max_characters}."
            )
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
        """Returns the ids of words' characters.

        Args:
          words: string (...).
          mask: bool (...), where words are; by default where they are not empty.

        Returns:
          int32 (..., C), C as long as the longest word needs, `max_characters` at most.
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
        """What stands between the markers: int32 (..., C), and how many, (...)."""
        marker = tf.where(words == SENTENCE_BEGIN, BEGIN, 0)
        marker = tf.where(words == SENTENCE_END, END, marker)
        room = self.max_characters - 2
        lengths = tf.where(marker > 0, 1, tf.minimum(tf.strings.length(words), room))
        raw = tf.io.decode_raw(words, tf.uint8, fixed_length=longest(lengths))
        ids = tf.cast(raw, tf.int32)
        return tf.where(marker[..., None] > 0, marker[..., None], ids), lengths

    def word_ids(self, words):
        """Returns the numbers of words in the vocabulary.

        Args:
          words: string (...), dense or ragged.

        Returns:
          int32 (...), the number of `<UNK>` for a word that is not in it.

        Raises:
          ValueError: the tokenizer has no vocabulary.
        """
        if self._words is None:
            raise ValueError(
                f"Numbers of words need a vocabulary. Received: a {type(self).__name__}"
                " without one. Make one with `vocabulary=`."
            )
        if not isinstance(words, tf.RaggedTensor):
            words = tf.convert_to_tensor(words, tf.string)
        return self._words.lookup(words)

    def inputs(self, features):
        """Character_ids (B, L, C) and padding_mask; see `Tokenizer.inputs`."""
        mask = features["padding_mask"]
        ids = self.spell(features["tokens"], mask > 0)
        return {"character_ids": ids, "padding_mask": mask}

    def get_config(self):
        """Plain values; the vocabulary's content, where there is one."""
        config = {"max_characters": self.max_characters}
        if self.vocabulary:
            config["vocabulary"] = list(self.vocabulary)
        if self.punctuation:
            config["punctuation"] = True
        return config


def longest(lengths):
    """The largest of int32 (...), at least 1."""
    return tf.reduce_max(tf.pad(tf.reshape(lengths, [-1]), [[1, 0]], constant_values=1))
