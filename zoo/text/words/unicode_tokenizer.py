"""Texts to words, and words to the ids of the characters of a language."""

import tensorflow as tf

from zoo.text.vocabulary import lookup
from zoo.text.words.character_tokenizer import CharacterTokenizer, longest

PAD, UNKNOWN = "<pad>", "<oov>"
SENTENCE_BEGIN, SENTENCE_END = "<bos>", "<eos>"
# The reference program begins a word with the id of <eow> and ends it with the id of
# <bow>. Its models were trained with this swap.
BEGIN_WORD, END_WORD = "<eow>", "<bow>"
SPECIAL_CHARACTERS = (PAD, UNKNOWN, BEGIN_WORD, END_WORD, SENTENCE_BEGIN, SENTENCE_END)
SPECIAL_WORDS = (PAD, UNKNOWN)


class UnicodeSpeller(CharacterTokenizer):
    """Splits texts into words, and spells them as character ids of a language.

    An id is the position of a character in `characters`. The ids of a word with the
    characters c are `[<eow>, c..., <bow>, <pad>, <pad>, ...] + 1`. Both markers are
    swapped, as in the reference program. The words `<bos>` and `<eos>` are spelled with
    the single character of that name. Positions without a word have the id 0.

    Source: Che et al. 2018 (ELMoForManyLangs); released code, `create_one_batch`.
    Characters are code points. Bytes that are not UTF-8 are dropped. Case and accents
    are kept. Two rules are assumptions, because that code does not show them. `<bos>`
    and `<eos>` are spelled as above. A long word has the id of its truncated form.

    Args:
        characters: sequence of str without repetitions, in the order of their ids. It
            includes <pad>, <oov>, <bow>, <eow>, <bos> and <eos>.
        vocabulary: sequence of str without repetitions, the words with an id of their
            own. It includes <pad> and <oov>. None for a model of characters only.
        max_characters: int, limit for the length of a word, both markers included; at
            least 3.

    Attributes:
        characters: tuple of str.
        vocabulary: tuple of str, or None.

    Returns:
        string words, see `Tokenizer`.

    Raises:
        TypeError: if characters or words are not a sequence of str.
        ValueError: if `max_characters` is less than 3, or if a special entry is
            missing, or if an entry is repeated or has a line break.

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
        # No text can spell the entries of several characters, such as <bos>.
        single = {ord(c): i for c, i in ids.items() if len(c) == 1}
        self._code_points = lookup(single, ids[UNKNOWN], single.values())
        if vocabulary is not None:
            self.vocabulary = _unique("vocabulary", vocabulary, SPECIAL_WORDS)
            self._words = lookup(self.vocabulary, self.vocabulary.index(UNKNOWN))
            self._no_word = self.vocabulary.index(PAD)

    vocabulary_size = property(lambda self: len(self.characters) + 1)

    def _letters(self, words):
        """Returns the ids between the markers, int32 (..., C), and their number."""
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
        """Returns the ids of words in the vocabulary, or that of <oov>, int32."""
        room = self.max_characters - 2
        words = tf.convert_to_tensor(words, tf.string)
        return super().word_ids(tf.strings.substr(words, 0, room, "UTF8_CHAR"))

    def inputs(self, features):
        """See `Tokenizer.inputs`; with a vocabulary also word_ids (B, L)."""
        found = super().inputs(features)
        if self.vocabulary:
            ids = self.word_ids(features["tokens"])
            mask = features["padding_mask"] > 0
            found["word_ids"] = tf.where(mask, ids, self._no_word)
        return found

    def get_config(self):
        """Returns the constructor's arguments, with the content of dictionaries."""
        return {**super().get_config(), "characters": list(self.characters)}


def _unique(name, tokens, required):
    """Checks the entries and returns them as a tuple."""
    if isinstance(tokens, str) or not all(isinstance(token, str) for token in tokens):
        raise TypeError(
            f"`{name}` must be a sequence of str. Received: {tokens!r:.60}. Read the "
            "file first."
        )
    tokens, seen = tuple(tokens), set()
    for token in tokens:
        if token in seen or "\n" in token:
            raise ValueError(
                f"`{name}` must not have repeated entries or line breaks. Received: "
                f"{token!r}. Remove or rename this entry."
            )
        seen.add(token)
    missing = [token for token in required if token not in seen]
    if missing:
        raise ValueError(
            f"`{name}` must include {', '.join(required)}. Received: {len(tokens)} "
            f"entries without {', '.join(missing)}. Add them at their ids."
        )
    return tokens
