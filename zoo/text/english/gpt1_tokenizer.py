"""GPT-1's byte-pair encoding of English words, inside the TensorFlow graph."""

import numpy as np
import tensorflow as tf

from zoo.ragged_rows import is_last
from zoo.text.byte_pairs.bpe_merging import BytePairMerger
from zoo.text.byte_pairs.bpe_tokenizer import END
from zoo.text.byte_pairs.gpt2_tokenizer import read_merges, read_tokens, token_places
from zoo.text.english.gpt1_cleaning import character_normalizer, clean, entity_table
from zoo.text.english.html_entities import lower_case
from zoo.text.english.spacy_splitting import EnglishSplitter
from zoo.text.tokenizer import Tokenizer
from zoo.text.vocabulary import constant, lookup

UNKNOWN = "<unk>"
LINE_BREAK = "\n"


class GPT1Tokenizer(Tokenizer):
    r"""Splits English texts into words in lower case, and words into tokens.

    1. ftfy's rules repair a text, and marks such as "," are set apart. See
       `zoo.text.english.gpt1_cleaning`.
    2. The rules of spaCy's English tokenizer split it into words: "don't" has the words
       `do` and `n't`. White space with a line break is the word "\n".
    3. Words become lower case.
    4. The characters of a word are joined to tokens in the order of the merges. The
       last character of a word carries the mark `</w>`.

    Tokens that are not in the vocabulary have the id of `<unk>`. Rows have no special
    tokens. `detokenize` restores neither capitals nor white space. Bytes that are not
    UTF-8 become U+FFFD.

    Source: Radford et al. 2018, section 4.1, and `text_utils.py` of the released code;
    ftfy 6.3.1 without its repair of wrong encodings, and spaCy 3.8. Unicode is that of
    Python 3.11, version 14. Differences:

    - Characters newer than Unicode 13 may keep their capital form, a sigma beside them
      its form at the end of a word, and newer accents their order. The released
      vocabulary has none of these characters.
    - ftfy repairs lines of more than a million characters in parts.

    Args:
        vocabulary: path of a JSON file such as `encoder_bpe_40000.json` or
            `vocab.json`, a dict of token to id, or a sequence of str, the tokens in the
            order of their ids. They include `<unk>` and the results of all merges.
        merges: path of a file such as `vocab_40000.bpe` or `merges.txt`, or a sequence
            of its lines, pairs of tokens with a space between them. The first line may
            be `#version: 0.2`.

    Attributes:
        vocabulary: tuple of str.
        unknown_id: int, the id of `<unk>`.
        pad_id: int, 0. A mask tells padding from text.
        start_id: int, the id of "\n</w>", which a language model reads first
            in a text without tokens. If the vocabulary lacks it, `unknown_id`.
        end_id: int, `vocabulary_size`. No token ends a text, so no model writes it.
        unwritten_ids: tuple of int, `unknown_id`.

    Returns:
        int32 ids, see `Tokenizer`.

    Raises:
        FileNotFoundError: if a file does not exist.
        TypeError: if the vocabulary is not a list or dict of tokens.
        ValueError: if a token is missing or repeated, ids are not 0, 1, 2 and so on, or
            a line of the merges is not a pair.

    Example:
        >>> tokens = ["<unk>", "o</w>", "n't</w>", "d", "n", "'", "t</w>", "n'"]
        >>> tokenizer = GPT1Tokenizer(tokens, ["n '", "n' t</w>"])
        >>> tokenizer("Don’t!").numpy().tolist()
        [3, 1, 2, 0]
        >>> tokenizer.detokenize([[3, 1, 2]]).numpy().tolist()
        [b"do n't"]
    """

    files = {"vocabulary": "vocabulary.json", "merges": "merges.txt"}
    pad_id = 0

    def __init__(self, vocabulary, merges):
        super().__init__()
        self.vocabulary = read_tokens(vocabulary)
        self._merges = read_merges(merges)
        required = (UNKNOWN, *(left + right for left, right in self._merges))
        described = f"{UNKNOWN!r} and the results of all merges"
        places = token_places(self.vocabulary, required, described)
        self.unknown_id = places[UNKNOWN]
        self.unwritten_ids = (self.unknown_id,)
        self.start_id = places.get(LINE_BREAK + END, self.unknown_id)
        self.end_id = len(self.vocabulary)
        self._make_tables(places)

    vocabulary_size = property(lambda self: len(self.vocabulary))

    def _make_tables(self, places):
        """Makes all tables from a dict of token to id."""
        parts = {*places, *(part for pair in self._merges for part in pair)}
        known = {part.removesuffix(END) for part in parts}
        known = sorted(part for part in known if len(part) == 1)
        ends = [character + END for character in known]
        self._merger = BytePairMerger(self._merges, [*known, *ends])
        numbers = self._merger.ids
        codes = np.array([*map(ord, known), -1], "int64")  # a table needs a key
        self._characters = lookup(codes, len(known))
        self._symbols = [
            constant([*(numbers[symbol] for symbol in symbols), 0])
            for symbols in (known, ends)
        ]
        ids = (places.get(symbol, self.unknown_id) for symbol in numbers)
        self._ids = constant([self.unknown_id, *ids])
        written = (token.replace(END, " ") for token in self.vocabulary)
        self._texts = constant([*written, ""])
        self._normalizer, self._entities = character_normalizer(), entity_table()
        self._english = EnglishSplitter(cased=True)

    def __call__(self, texts):
        """Returns the ids of texts; see the class."""
        texts = tf.convert_to_tensor(texts, tf.string)
        if texts.shape.rank == 0:
            return self(texts[None])[0]
        texts = clean(texts, self._normalizer, self._entities)
        spans = tf.strings.split(texts, " ")
        words, number = self._english.split_texts(spans)
        # Each distinct word of a batch is encoded once.
        distinct, place = tf.unique(lower_case(words.values))
        ids = words.with_values(tf.gather(self._encode(distinct), place))
        rows = number.with_values(tf.gather(ids.merge_dims(1, 2), number.values))
        return rows.merge_dims(1, 2)

    def _encode(self, words):
        """The ids of words (W,), tf.RaggedTensor int32 (W, None)."""
        codes = tf.strings.unicode_decode(words, "UTF-8")
        number = self._characters.lookup(tf.cast(codes.values, tf.int64))
        inside, ends = (tf.gather(symbols, number) for symbols in self._symbols)
        symbols = tf.where(is_last(codes), ends, inside)
        symbols = self._merger(codes.with_values(symbols))
        return symbols.with_values(tf.gather(self._ids, symbols.values))

    def detokenize(self, ids):
        """Joins ids (B, T), up to the first unknown one, to texts (B,) of words."""
        if isinstance(ids, tf.RaggedTensor):
            ids = ids.to_tensor(self.end_id)
        ids = tf.cast(ids, tf.int32)
        inside = tf.cumsum(tf.cast(ids >= self.end_id, tf.int32), axis=1) == 0
        written = tf.gather(self._texts, tf.where(inside, ids, self.end_id))
        return tf.strings.strip(tf.strings.reduce_join(written, axis=1))

    def get_config(self):
        """Returns the constructor's arguments, with the content of both files."""
        return {
            "vocabulary": list(self.vocabulary),
            "merges": [" ".join(pair) for pair in self._merges],
        }
