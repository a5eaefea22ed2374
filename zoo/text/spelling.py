"""Words as rows of character ids, inside the TensorFlow graph."""

import tensorflow as tf

from zoo.text.splitting import SENTENCE_BEGIN, SENTENCE_END, WordSplitter

BEGIN, END = 256, 257  # a sentence's first and last word
BEGIN_WORD, END_WORD, PAD = 258, 259, 260


class CharacterTokenizer(WordSplitter):
    """Text to words, and words to the ids of their bytes, as ELMo reads them.

    A word of the bytes b is `[258, b..., 259, 260, 260, ...] + 1`; the words `<S>` and
    `</S>` have 256 and 257 for bytes; 0 stands where no word is. Bytes that do not fit
    are dropped, even if that cuts a character of several bytes.

    Source: Peters et al. 2018; released code `bilm/data.py`. Case and accents stay. A
    text is split at white space: text in which punctuation is attached to words
    should be tokenised before.

    Args:
      max_characters: int, of a word, both markers included; at least 3.

    Inputs:
      texts: str, or a list, array or tensor (B,) of strings.

    Returns:
      tf.RaggedTensor string (B, None) of words; of one str, a tensor string (None,).

    Raises:
      ValueError: there is no room for a character.

    Example:
      >>> tokenizer = CharacterTokenizer()
      >>> tokenizer.spell(tokenizer("The")).numpy().tolist()
      [[259, 85, 105, 102, 260]]
    """

    vocabulary_size = 262  # of characters, 0 included

    def __init__(self, max_characters=50):
        super().__init__()
        if max_characters < 3:
            raise ValueError(
                "`max_characters` must be at least 3, a character and two markers. "
                f"Received: {max_characters}."
            )
        self.max_characters = max_characters

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
        marker = tf.where(words == SENTENCE_BEGIN, BEGIN, 0)
        marker = tf.where(words == SENTENCE_END, END, marker)
        room = self.max_characters - 2
        lengths = tf.where(marker > 0, 1, tf.minimum(tf.strings.length(words), room))
        longest = tf.maximum(
            tf.reduce_max(tf.pad(tf.reshape(lengths, [-1]), [[0, 1]])), 1
        )
        raw = tf.io.decode_raw(words, tf.uint8, fixed_length=longest)
        ids = tf.cast(raw, tf.int32)
        ids = tf.where(marker[..., None] > 0, marker[..., None], ids)
        edges = [[0, 0]] * (words.shape.rank or 0) + [[1, 1]]
        ids = tf.pad(ids, edges, constant_values=BEGIN_WORD)
        column, end = tf.range(longest + 2), lengths[..., None] + 1
        ids = tf.where(column == end, END_WORD, tf.where(column > end, PAD, ids))
        return tf.where(mask[..., None], ids + 1, 0)

    def inputs(self, tokens, segment_ids, padding_mask):
        """A model's inputs, from dense rows of words; it knows no segments.

        Args:
          tokens: string (B, L).
          segment_ids: ignored.
          padding_mask: int32 (B, L).

        Returns:
          dict of int32: character_ids (B, L, C) and padding_mask (B, L).
        """
        ids = self.spell(tokens, padding_mask > 0)
        return {"character_ids": ids, "padding_mask": padding_mask}

    def get_config(self):
        """Plain values."""
        return {"max_characters": self.max_characters}
