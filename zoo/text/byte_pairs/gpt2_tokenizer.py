"""GPT-2's byte-level byte-pair encoding, inside the TensorFlow graph."""

import collections.abc
import functools
import os

import tensorflow as tf

from zoo.files.path_checks import existing_file
from zoo.ragged_rows import join, row_ids
from zoo.text import offsets
from zoo.text.byte_pairs.bpe_merging import BytePairMerger
from zoo.text.byte_pairs.bpe_tokenizer import VERSION, parse_codes
from zoo.text.byte_pairs.gpt2_splitting import split_pieces
from zoo.text.contents import parse_json
from zoo.text.tokenizer import Framing, Tokenizer
from zoo.text.vocabulary import constant

END = "<|endoftext|>"


@functools.cache
def byte_symbols():
    """The characters by which the files of GPT-2 write the 256 bytes, tuple of str."""
    # Bytes that are printable in Latin-1 stand for themselves. The other ones are the
    # characters from U+0100 on.
    printable = {*range(33, 127), *range(161, 173), *range(174, 256)}
    stand_ins = iter(range(256, 512))
    return tuple(chr(b if b in printable else next(stand_ins)) for b in range(256))


class GPT2Tokenizer(Tokenizer):
    """Splits texts into pieces, and their bytes into tokens, without any loss.

    A piece is a run of letters, of numbers or of other characters, with the space
    before it, see `zoo.text.byte_pairs.gpt2_splitting`. The bytes of a piece are joined
    to tokens in the order of the merges. `detokenize` restores the text exactly. Bytes
    that are not UTF-8 become U+FFFD.

    Source: Radford et al. 2019, section 2.2, and `encoder.py` of the released code.
    Character classes are those of Unicode 16. `keras_nlp.tokenizers.GPT2Tokenizer`
    fails our test of all code points, and reads special tokens in every text.

    Args:
        vocabulary: path of a JSON file such as `encoder.json` or `vocab.json`, a dict
            of token to id, or a sequence of str, the tokens in the order of their ids.
            They are written with `byte_symbols`, and include all of these and
            `<|endoftext|>`.
        merges: path of a file such as `vocab.bpe` or `merges.txt`, or a sequence of its
            lines, pairs of tokens with a space between them.
        start_token: bool, whether every row begins with `<|endoftext|>`, so that a
            language model also predicts the first token of a text.
        special_tokens: bool, whether `<|endoftext|>` in a text is the special token;
            otherwise it is text, as in OpenAI's code. Hugging Face's tokenizer always
            reads it as the special token.

    Attributes:
        vocabulary: tuple of str.
        end_id, pad_id, start_id: int, the id of `<|endoftext|>`. A mask tells padding
            from text.

    Returns:
        int32 ids, see `Tokenizer`.

    Raises:
        FileNotFoundError: if a file does not exist.
        TypeError: if the vocabulary is not a list or dict of tokens.
        ValueError: if a token is missing or repeated, ids are not 0, 1, 2 and so on, or
            a line of the merges is not a pair.

    Example:
        >>> tokens = [*byte_symbols(), "<|endoftext|>", "hi"]
        >>> tokenizer = GPT2Tokenizer(tokens, ["h i"])
        >>> tokenizer("hi!").numpy().tolist()
        [257, 33]
        >>> tokenizer.detokenize([[257, 33, 256]]).numpy().tolist()
        [b'hi!']
    """

    files = {"vocabulary": "vocabulary.json", "merges": "merges.txt"}
    lossless = True

    def __init__(self, vocabulary, merges, start_token=False, special_tokens=False):
        super().__init__()
        self.vocabulary = read_tokens(vocabulary)
        self._merges = read_merges(merges)
        self.start_token, self.special_tokens = start_token, special_tokens
        symbols = byte_symbols()
        merger = BytePairMerger(self._merges, symbols)
        described = f"the symbols of all bytes, the results of all merges and {END!r}"
        places = token_places(self.vocabulary, (*merger.ids, END), described)
        self.end_id = self.pad_id = self.start_id = places[END]
        self.framing = Framing((self.end_id,) if start_token else ())
        self._merger = merger
        self._symbols = constant([merger.ids[symbol] for symbol in symbols])
        # A symbol that is joined has an id; number 0 is never one.
        self._ids = constant([0, *(places[symbol] for symbol in merger.ids)])
        numbers = {symbol: byte for byte, symbol in enumerate(symbols)}
        self._bytes = constant([_spelled(t, numbers) for t in self.vocabulary])

    vocabulary_size = property(lambda self: len(self.vocabulary))

    def __call__(self, texts):
        """Returns the ids of texts; see the class."""
        texts = tf.convert_to_tensor(texts, tf.string)
        if texts.shape.rank == 0:
            return self(texts[None])[0]
        if not self.special_tokens:
            return self._encode(texts)
        parts = tf.strings.split(texts, END)
        ends = tf.fill([tf.size(parts.values), 1], self.end_id)
        ids = tf.concat([self._encode(parts.values), ends], axis=1)
        rows = parts.with_values(ids).merge_dims(1, 2)
        return rows[:, :-1]  # no end after the last part

    def _encode(self, texts):
        """The ids of texts (B,), tf.RaggedTensor int32 (B, None)."""
        pieces = split_pieces(texts)
        distinct, number = tf.unique(pieces.values)
        lengths = tf.cast(tf.strings.length(distinct), tf.int64)
        codes = tf.io.decode_raw(tf.strings.reduce_join(distinct), tf.uint8)
        symbols = tf.gather(self._symbols, tf.cast(codes, tf.int32))
        tokens = self._merger(tf.RaggedTensor.from_row_lengths(symbols, lengths))
        ids = tf.gather(tokens.with_values(tf.gather(self._ids, tokens.values)), number)
        splits = tf.gather(ids.row_splits, pieces.row_splits)
        return tf.RaggedTensor.from_row_splits(ids.values, splits, validate=False)

    def pieces(self, words):
        """Returns the ids of words (N,) with a space before each, ragged (N, None)."""
        # A tagger reads every word so, also the first one. It corresponds to
        # `add_prefix_space=True` of Hugging Face.
        return self._encode(tf.strings.join([" ", words]))

    def byte_offsets(self, texts):
        """Returns ids, and the positions of their bytes without a space before them.

        A token that ends inside of a character has the position of the whole character.
        See `Tokenizer.byte_offsets`.
        """
        ids = self(texts)
        written = tf.gather(self._bytes, ids.values)
        lengths = ids.with_values(tf.strings.length(written))
        starts, ends = offsets.from_lengths(lengths)
        spaced = tf.strings.regex_full_match(written, r" \C+")
        starts += tf.cast(spaced, tf.int64)
        spans = (ids.with_values(span) for span in (starts, ends))
        repaired = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8")
        spans = offsets.to_whole_characters(*spans, repaired)
        return ids, *(offsets.to_original(span, repaired, texts) for span in spans)

    def detokenize(self, ids):
        """Joins ids (B, T) to texts (B,). Bytes that are not UTF-8 become U+FFFD.

        A row ends before its first `<|endoftext|>` that is not its first token.
        """
        return tf.strings.unicode_transcode(self._join(ids), "UTF-8", "UTF-8")

    def detokenize_unfinished(self, ids):
        """Joins ids to texts, without the bytes of a last character that has more."""
        texts = without_partial_character(self._join(ids))
        return tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8")

    def _join(self, ids):
        """The bytes of rows of ids, string (B,)."""
        if not isinstance(ids, tf.RaggedTensor):
            ids = tf.RaggedTensor.from_tensor(tf.convert_to_tensor(ids))
        ids = tf.cast(ids, tf.int32)
        rows = row_ids(ids)
        first = tf.gather(ids.row_starts(), rows)
        place = tf.range(tf.size(ids.values, tf.int64))
        end = ids.values == self.end_id
        ends = tf.cumsum(tf.cast(end & (place > first), tf.int32))
        before = tf.gather(tf.concat([[0], ends], axis=0), first)
        kept = tf.reshape((ends == before) & ~end, [-1])  # of a known rank
        parts = tf.RaggedTensor.from_value_rowids(
            tf.gather(self._bytes, ids.values[kept]),
            rows[kept],
            nrows=ids.nrows(),
            validate=False,
        )
        return join(parts)

    def get_config(self):
        """Returns the constructor's arguments, with the content of both files."""
        return {
            "vocabulary": list(self.vocabulary),
            "merges": [" ".join(pair) for pair in self._merges],
            "start_token": self.start_token,
            "special_tokens": self.special_tokens,
        }


def without_partial_character(texts):
    """Removes the first bytes of an incomplete character from the end of texts."""
    padded = tf.strings.join(["   ", texts])
    last = tf.io.decode_raw(tf.strings.substr(padded, -3, 3), tf.uint8)
    last = tf.cast(tf.reshape(last, (-1, 3)), tf.int32)
    inner = (last >= 0x80) & (last < 0xC0)
    # A character of n bytes begins with a byte from a range of its own.
    one = (last[:, 2] >= 0xC2) & (last[:, 2] < 0xF5)
    two = (last[:, 1] >= 0xE0) & (last[:, 1] < 0xF5) & inner[:, 2]
    three = (last[:, 0] >= 0xF0) & (last[:, 0] < 0xF5) & inner[:, 1] & inner[:, 2]
    count = tf.where(one, 1, tf.where(two, 2, tf.where(three, 3, 0)))
    return tf.strings.substr(texts, 0 * count, tf.strings.length(texts) - count)


def _spelled(token, numbers):
    """The bytes that a token writes."""
    if all(symbol in numbers for symbol in token):
        return bytes(numbers[symbol] for symbol in token)
    return token.encode()  # a special token with other characters, such as a space


def read_tokens(source):
    """The tokens of a file, dict or list in the order of their ids, tuple of str."""
    if isinstance(source, (str, os.PathLike)):
        source = parse_json(_read_file(source, "vocabulary"), source)
    if isinstance(source, collections.abc.Mapping):
        if sorted(source.values()) != [*range(len(source))]:
            raise ValueError(
                "The ids of `vocabulary` must be 0, 1, 2 and so on. Received: "
                f"{len(source)} tokens with other ids. Add the missing tokens, such as "
                "those of added_tokens.json."
            )
        source = sorted(source, key=source.get)
    if not isinstance(source, collections.abc.Sequence):
        source = [source]
    wrong = [token for token in source if not isinstance(token, str)]
    if wrong:
        raise TypeError(
            "`vocabulary` must be the path of a JSON file, a dict of token to id, or a "
            f"list of str. Received: an entry {wrong[0]!r:.60}."
        )
    return tuple(source)


def token_places(tokens, required, described):
    """The ids of tokens, dict; ValueError if one is missing or repeated."""
    places = {token: i for i, token in enumerate(tokens)}
    missing = [token for token in required if token not in places]
    if missing or len(places) < len(tokens):
        received = f"{len(missing)} missing ones, such as {missing[:3]}"
        if not missing:
            twice = (token for i, token in enumerate(tokens) if places[token] != i)
            received = f"{next(twice)!r} twice"
        raise ValueError(
            f"`vocabulary` must have {described}, and no token twice. Received: "
            f"{received}. Use the two files of one tokenizer."
        )
    return places


def read_merges(source):
    """The pairs of tokens that are joined, list of tuple, from a file or its lines."""
    if isinstance(source, (str, os.PathLike)):
        source = _read_file(source, "merges").rstrip("\n").split("\n")
    lines = [*source]
    if lines and lines[0].startswith(VERSION):
        lines = lines[1:]
    return parse_codes(lines)[0] if lines else []


def _read_file(path, argument):
    """The text of a file."""
    rule = f"`{argument}` must be the path of a file, or its content."
    return existing_file(path, rule).read_text("utf-8")
