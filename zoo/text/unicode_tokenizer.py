"""Words as rows of the ids of a language's own characters."""

import tensorflow as tf

from zoo.text.character_tokenizer import CharacterTokenizer, longest
from zoo.text.vocabulary import lookup

PAD, UNKNOWN = "<pad>", "<oov>"
SENTENCE_BEGIN, SENTENCE_END = "<bos>", "<eos>"
# The reference program calls the id of <eow> the one that begins a word, and that of
# <bow> the one that ends it, and its models were trained so.
BEGIN_WORD, END_WORD = "<eow>", "<bow>"
SPECIAL_CHARACTERS = (PAD, UNKNOWN, BEGIN_WORD, END_WORD, SENTENCE_BEGIN, SENTENCE_END)
SPECIAL_WORDS = (PAD, UNKNOWN)


class UnicodeSpeller(CharacterTokenizer):
    """Text to words, and words to the ids of their characters, for ELMoForManyLangs.

    With ids as places in `characters`, a word of the characters c is
    `[<eow>, c..., <bow>, <pad>, <pad>, ...] + 1`, both markers being swapped as in the
    reference program; the words `<bos>` and `<eos>` are one character each, the one of
    that name; 0 stands where no word is.

    Source: Che et al. 2018; released code, `create_one_batch`. Characters are code
    points. Bytes that are not UTF-8 are dropped. Case and accents stay.

    What was not seen in that code but assumed: that `<bos>` and `<eos>` are spelled so,
    and that a word that is cut is also looked up as cut.

    Args:
      characters: sequence of str, each once, <pad>, <oov>, <bow>, <eow>, <bos> and
        <eos> among them; the order is that of the ids.
      vocabulary: sequence of str, each once, <pad> and <oov> among them: the words
        that have an id of their own. None for a model of characters alone.
      max_characters: int, of a word, both markers included; at least 3.

    Attributes:
      characters: tuple of str. vocabulary: tuple of str, or None.

    Inputs:
      texts: str, or a list, array or tensor (B,) of strings.

    Returns:
      tf.RaggedTensor string (B, None) of words; of one str, a tensor string (None,).

    Raises:
      TypeError: characters or words are no sequence of str.
      ValueError: there is no room for a character; a special character or word is
        missing, or one is there twice.

    Example:
      >>> characters = ["a", "b", *SPECIAL_CHARACTERS]
      >>> tokenizer = UnicodeSpeller(characters, ["<pad>", "<oov>", "ab"])
      >>> tokenizer.spell(["ab", "é"]).numpy().tolist()
      [[5, 1, 2, 6], [5, 4, 6, 3]]
      >>> tokenizer.word_ids(["ab", "é"]).numpy().tolist()
      [2, 1]
    """

    cls_id, sep_id = SENTENCE_BEGIN, SENTENCE_END
    files = {"vocabulary": "vocabulary.txt", "characters": "characters.txt"}

    def __init__(self, characters, vocabulary=None, max_characters=50):
        super().__init__(max_characters)
        self.characters = _unique("characters", characters, SPECIAL_CHARACTERS)
        ids = {character: i for i, character in enumerate(self.characters)}
        self._markers = tuple(ids[name] for name in (BEGIN_WORD, END_WORD, PAD))
        self._sentence = ids[SENTENCE_BEGIN], ids[SENTENCE_END]
        # A name such as <bos> stands for what no text can spell.
        single = {ord(c): i for c, i in ids.items() if len(c) == 1}
        self._code_points = lookup(single, ids[UNKNOWN], single.values())
        if vocabulary is not None:
            self.vocabulary = _unique("vocabulary", vocabulary, SPECIAL_WORDS)
            self._words = lookup(self.vocabulary, self.vocabulary.index(UNKNOWN))
            self._no_word = self.vocabulary.index(PAD)

    vocabulary_size = property(lambda self: len(self.characters) + 1)

    def _letters(self, words):
        """What stands between the markers: int32 (..., C), and how many, (...)."""
        begin, end = self._sentence
        marker = tf.where(words == SENTENCE_BEGIN, begin, -1)
        marker = tf.where(words == SENTENCE_END, end, marker)
        flat = tf.reshape(words, [-1])
        codes = tf.strings.unicode_decode(flat, "UTF-8", errors="ignore")
        counts = tf.reshape(tf.cast(codes.row_lengths(), tf.int32), tf.shape(words))
        room = self.max_characters - 2
        lengths = tf.where(marker >= 0, 1, tf.minimum(counts, room))
        width = longest(lengths)
        ids = codes.with_values(self._code_points.lookup(codes.values))
        ids = ids.to_tensor(0, shape=tf.stack([-1, width]))
        ids = tf.reshape(ids, tf.concat([tf.shape(words), [width]], 0))
        return tf.where(marker[..., None] >= 0, marker[..., None], ids), lengths

    def word_ids(self, words):
        """Returns the numbers of words, that of <oov> for an unknown one.

        Args:
          words: string (...).

        Returns:
          int32 (...).

        Raises:
          ValueError: the tokenizer has no vocabulary.
        """
        room = self.max_characters - 2
        words = tf.convert_to_tensor(words, tf.string)
        return super().word_ids(tf.strings.substr(words, 0, room, "UTF8_CHAR"))

    def inputs(self, features):
        """As `CharacterTokenizer`, and word_ids (B, L), of <pad> where no word is."""
        found = super().inputs(features)
        if self.vocabulary:
            ids = self.word_ids(features["tokens"])
            mask = features["padding_mask"] > 0
            found["word_ids"] = tf.where(mask, ids, self._no_word)
        return found

    def get_config(self):
        """Plain values, the contents of both dictionaries among them."""
        return {**super().get_config(), "characters": list(self.characters)}


def _unique(name, tokens, required):
    """The tokens as a tuple, checked."""
    if isinstance(tokens, str) or not all(isinstance(token, str) for token in tokens):
        raise TypeError(
            f"`{name}` must be a sequence of str. Received: {tokens!r:.60}. Read the "
            "file first."
        )
    tokens, seen = tuple(tokens), set()
    for token in tokens:
        if token in seen or "\n" in token:
            raise ValueError(
                f"`{name}` must hold every entry once, and no line break. Received: "
                f"{token!r}. Remove it, or rename one of the two."
            )
        seen.add(token)
    missing = [token for token in required if token not in seen]
    if missing:
        raise ValueError(
            f"`{name}` must hold {', '.join(required)}. Received: {len(tokens)} "
            f"entries without {', '.join(missing)}. Add them at their ids."
        )
    return tokens
