"""Byte-pair encoding of words, as in subword-nmt, inside the TensorFlow graph."""

import os

import tensorflow as tf

from zoo.files.buckets import local_path
from zoo.files.lines import read_lines
from zoo.ragged_rows import before, is_last, keep
from zoo.text.byte_pairs.bpe_merging import BytePairMerger
from zoo.text.subwords.source_target import SourceTargetTokenizer, read_entries
from zoo.text.tokenizer import Framing
from zoo.text.vocabulary import constant, lookup
from zoo.text.white_space import split_words

END = "</w>"  # what codes write at the end of a word
UNWRITTEN = "<s>"  # fairseq never writes it
VERSION = "#version:"


class BytePairTokenizer(SourceTargetTokenizer):
    """Splits words into pieces by byte-pair encoding, and joins the pieces again.

    Words are separated by white space. At first the symbols of a word are its
    characters, of which the last one carries the mark `</w>`. Then pairs of neighbours
    are joined in the order of the codes. Rows end with the end token. With a
    `target_vocabulary`, the texts that a model writes have ids of their own.

    Source: Sennrich et al. 2016; subword-nmt, whose pieces are reproduced, and fairseq,
    whose ids are. `keras_nlp.tokenizers.BytePairTokenizer` cannot reproduce them: it
    always splits texts as GPT-2 does and joins bytes.

    Args:
        codes: path of a file of codes, or a sequence of its lines: pairs of symbols,
            separated by a space. The first line may be `#version: 0.2`; without it, the
            mark is a symbol of its own. Lines of fastBPE end in a count, and are read
            as version 0.2.
        vocabulary: path of a file with a token in each line, or a sequence of str, the
            tokens in the order of their ids. A piece that does not end its word is
            written with `continuation`, and a piece that ends its word with
            `end_of_word`.
        target_vocabulary: as `vocabulary`, or None.
        continuation, end_of_word: str. GPT writes only the second, as `</w>`.
        pad_token, unknown_token, start_token, end_token: str in both vocabularies, at
            the same ids. A decoder of fairseq starts with its end token.

    Attributes:
        pad_id, unknown_id, start_id, end_id: ints.

    Returns:
        int32 ids, see `Tokenizer`.

    Raises:
        FileNotFoundError: if there is no file of codes.
        ValueError: if a line of the codes is not a pair, the version is unknown, a
            vocabulary has repeated tokens or lacks a special one, or the vocabularies
            have them at different ids.

    Example:
        >>> vocabulary = ["<pad>", "<unk>", "</s>", "lo@@", "w", "low"]
        >>> tokenizer = BytePairTokenizer(["#version: 0.2", "l o"], vocabulary)
        >>> tokenizer("low").numpy().tolist()
        [3, 4]
    """

    files = {
        "codes": "codes.txt",
        "vocabulary": "vocabulary.txt",
        "target_vocabulary": "target_vocabulary.txt",
    }

    def __init__(
        self,
        codes,
        vocabulary,
        target_vocabulary=None,
        continuation="@@",
        end_of_word="",
        pad_token="<pad>",
        unknown_token="<unk>",
        start_token="</s>",
        end_token="</s>",
    ):
        super().__init__()
        self._codes = _code_lines(codes)
        merges, self._separate_end = parse_codes(self._codes)
        self._options = {
            "continuation": continuation,
            "end_of_word": end_of_word,
            "pad_token": pad_token,
            "unknown_token": unknown_token,
            "start_token": start_token,
            "end_token": end_token,
        }
        source, target = _Side(vocabulary, **self._options), None
        if target_vocabulary is not None:
            target = _Side(target_vocabulary, **self._options)
        self._set_sides(source, target)
        if self._source.specials != self._target.specials:
            raise ValueError(
                "Both vocabularies must have the same special tokens. Received: "
                f"{self._source.specials} and {self._target.specials}."
            )
        ids = self._source.specials
        self.pad_id, self.unknown_id = ids[pad_token], ids[unknown_token]
        self.start_id, self.end_id = ids[start_token], ids[end_token]
        self.framing = Framing((), (self.end_id,), (self.end_id,))
        self._make_tables(merges)

    def _make_tables(self, merges):
        """Makes the tables from characters to symbols, and from symbols to ids."""
        sides = {self._source, self._target}
        known = {c for side in sides for c in side.characters}
        known |= {part.removesuffix(END) for pair in merges for part in pair}
        known = sorted(c for c in known if len(c) == 1)
        ends = known if self._separate_end else [c + END for c in known]
        self._merger = BytePairMerger(merges, [*known, *ends, END])
        symbols = self._merger.ids
        self._characters = lookup([*known, ""], len(known))
        self._symbols = [
            constant([*(symbols[c] for c in names), 0]) for names in (known, ends)
        ]
        for side in sides:
            side.make_tables(symbols)

    def detokenize(self, ids):
        """Joins ids (B, T) of the target, up to the first end token, to texts (B,)."""
        ids = before(ids, self.end_id)
        written = ids.with_values(tf.gather(self._target.texts, ids.values))
        return tf.strings.strip(tf.strings.reduce_join(written, axis=1))

    def get_config(self):
        """The lines of the codes, the vocabularies, the marks and special tokens."""
        several = self._target is not self._source
        return {
            "codes": list(self._codes),
            "vocabulary": list(self._source.tokens),
            "target_vocabulary": list(self._target.tokens) if several else None,
            **self._options,
        }

    def _encode(self, side, texts):
        """The ids of texts on one side."""
        texts = tf.convert_to_tensor(texts, tf.string)
        if texts.shape.rank == 0:
            return self._encode(side, texts[None])[0]
        words, _, _ = split_words(tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8"))
        distinct, number = tf.unique(words.values)
        ids = tf.gather(side.ids(self._pieces(distinct)), number)
        return words.with_values(ids).merge_dims(1, 2)

    def _pieces(self, words):
        """The symbols of words (W,) after joining, tf.RaggedTensor int32 (W, None)."""
        letters = tf.strings.unicode_split(words, "UTF-8")
        number = self._characters.lookup(letters.values)
        inside, ends = (tf.gather(symbols, number) for symbols in self._symbols)
        symbols = letters.with_values(tf.where(is_last(letters), ends, inside))
        if not self._separate_end:
            return self._merger(symbols)
        # A word of one character never has the mark.
        mark = self._merger.ids[END]
        lengths = tf.cast(symbols.row_lengths() > 1, tf.int64)
        marks = tf.fill([tf.reduce_sum(lengths)], mark)
        marks = tf.RaggedTensor.from_row_lengths(marks, lengths)
        pieces = self._merger(tf.concat([symbols, marks], axis=1))
        kept = ~(is_last(pieces) & (pieces.values == mark))
        return keep(pieces, kept)


class _Side:
    """One vocabulary and its tables; see `BytePairTokenizer` for the arguments."""

    def __init__(self, vocabulary, continuation, end_of_word, **specials):
        self.tokens = read_entries(vocabulary, "vocabulary")
        self.marks = continuation, end_of_word
        self.unknown_token = specials["unknown_token"]
        self.places = {token: i for i, token in enumerate(self.tokens)}
        missing = {*specials.values()} - {*self.tokens}
        if missing or len(self.places) < len(self.tokens):
            repeated = (t for i, t in enumerate(self.tokens) if self.places[t] != i)
            raise ValueError(
                "A vocabulary must have the special tokens "
                f"{', '.join(specials.values())} and no repeated tokens. Received: one "
                f"without {sorted(missing)}."
                if missing
                else f"A vocabulary must have no repeated tokens. Received: "
                f"{next(repeated)!r} twice."
            )
        self.specials = {t: self.places[t] for t in specials.values()}
        self.characters = [self._unmarked(token)[0] for token in self.tokens]
        silent = {*specials.values(), UNWRITTEN} - {self.unknown_token}
        self.texts = constant([self._written(t, silent) for t in self.tokens])

    def _unmarked(self, token):
        """A token without its mark, and whether it ends a word."""
        continuation, end_of_word = self.marks
        if end_of_word:
            ended = token.endswith(end_of_word)
            return token.removesuffix(end_of_word), ended
        inside = token.endswith(continuation)
        return token.removesuffix(continuation), not inside

    def _written(self, token, silent):
        """What a token writes, bytes."""
        if token in silent:
            return b""
        piece, ended = self._unmarked(token)
        return (f"{piece} " if ended else piece).encode()

    def make_tables(self, symbols):
        """Makes the tables of ids for a dict of symbol to number."""
        continuation, end_of_word = self.marks
        unknown = self.places[self.unknown_token]
        inside = [self.places.get(s + continuation, unknown) for s in symbols]
        ends = [s.removesuffix(END) + end_of_word for s in symbols]
        ends = [self.places.get(token, unknown) for token in ends]
        self._tables = [constant([unknown, *ids]) for ids in (inside, ends)]

    def ids(self, pieces):
        """The ids of pieces, both tf.RaggedTensor int32 (W, None)."""
        inside, ends = (tf.gather(table, pieces.values) for table in self._tables)
        return pieces.with_values(tf.where(is_last(pieces), ends, inside))


def _code_lines(codes):
    """The lines of codes, tuple of str, from a path or a sequence."""
    if not isinstance(codes, (str, os.PathLike)):
        return tuple(codes)
    path = local_path(codes)
    if not path.is_file():
        raise FileNotFoundError(
            f"`codes` must be the path of a file, or its lines. Received: {codes!r}."
        )
    return tuple("\n".join(read_lines(path)).rstrip("\n").split("\n"))


def parse_codes(lines):
    """The pairs of a file of codes, and whether the end of a word is a symbol."""
    versions = {"0.1": True, "0.2": False}
    version, first = None, lines[0] if lines else ""
    if first.startswith(VERSION):
        version = first.removeprefix(VERSION).strip()
        if version not in versions:
            raise ValueError(
                f"`codes` must be of version 0.1 or 0.2. Received: {first!r}."
            )
        lines = lines[1:]
    merges, counted = [], False
    for number, line in enumerate(lines, start=1 if version is None else 2):
        parts = line.strip("\r\n ").split(" ")
        counted |= len(parts) == 3
        if len(parts) != 2 + counted or (counted and not parts[2].isdigit()):
            raise ValueError(
                "A line of `codes` must be two symbols, separated by a space. "
                f"Received: {line!r} in line {number}."
            )
        merges.append(tuple(parts[:2]))
    return merges, versions.get(version, not counted)
