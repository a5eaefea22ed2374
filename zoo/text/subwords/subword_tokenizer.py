"""The subword tokenizer of tensor2tensor, inside the TensorFlow graph."""

import os

import numpy as np
import tensorflow as tf
import tensorflow_text as tf_text

from zoo.ragged_rows import join, keep, row_ids
from zoo.text.subwords.source_target import SourceTargetTokenizer, read_entries
from zoo.text.tokenizer import Framing
from zoo.text.vocabulary import constant
from zoo.text.wordpieces import unicode_classes

ESCAPES = "\\_u;0123456789"
# Marks in the model of the splitter. In its subtokens, "_" is only at the end, so none
# begins with a mark.
_CONTINUES = "_ "
_UNKNOWN = "__"
# The longest subtoken in the model of the splitter, in bytes.
_MAX_BYTES = 256
# What tensor2tensor writes for a number that is no character.
_NO_CHARACTER = 0x3013


class SubwordTokenizer(SourceTargetTokenizer):
    r"""Splits texts into the subtokens of tensor2tensor, and joins them again.

    A text is split between alphanumeric characters (letters and numbers of Unicode) and
    others. A single space between two alphanumeric words is left out. In each word,
    `\` becomes `\\`, `_` becomes `\u`, and a character that no subtoken has becomes
    `\` with its number and `;`. Each word ends with `_`, and is split from left to
    right into the longest subtokens. Joining them restores every text exactly.

    Source: `SubwordTextEncoder` of tensor2tensor 1.15.7. That depends on the Unicode
    version of Python; here it is 14, that of Python 3.11. Bytes that are not UTF-8 are
    dropped. All operations belong to TensorFlow or TensorFlow Text.

    Args:
        subtokens: path of a vocabulary file of tensor2tensor, whose lines may stand in
            quotes; or a sequence of str. The id of a subtoken is its number, from 0.
            The first two are padding and the end.
        target_subtokens: the same for texts that a model writes, by default those of
            the source.

    Attributes:
        pad_id, start_id, end_id: 0, 0 and 1. tensor2tensor begins a target with a zero
            vector, which is the embedding of padding if a model has `zero_padding`.

    Returns:
        int32 ids, see `Tokenizer`.

    Raises:
        FileNotFoundError: if there is no file at the path.
        TypeError: if a subtoken is not a str.
        ValueError: if a character of a subtoken, or of `\_u;0123456789`, is not a
            subtoken itself, since texts with it could not be split; if a subtoken is
            longer than 256 bytes, or the file is not UTF-8.

    Example:
        >>> subtokens = ["<pad>", "<EOS>", "ab_", *"\\_u;0123456789<>EOSadpb"]
        >>> tokenizer = SubwordTokenizer(subtokens)
        >>> tokenizer(["ab ab", "a"]).to_list()
        [[2, 2], [22, 4]]
    """

    files = {"subtokens": "subtokens.txt", "target_subtokens": "target_subtokens.txt"}
    pad_id, start_id, end_id = 0, 0, 1
    framing = Framing((), (1,), (1,))

    def __init__(self, subtokens, target_subtokens=None):
        super().__init__()
        source, target = _Subtokens(_read(subtokens, "subtokens")), None
        if target_subtokens is not None:
            target = _Subtokens(_read(target_subtokens, "target_subtokens"))
        self._set_sides(source, target)

    def _encode(self, side, texts):
        """The ids of texts on one side."""
        return side.encode(texts)

    def detokenize(self, ids):
        """Joins ids (B, T) of the target, up to the first end token, to texts (B,)."""
        return self._target.decode(self.written(ids))

    def get_config(self):
        """The subtokens of both sides."""
        target = None
        if self._target is not self._source:
            target = list(self._target.tokens)
        return {"subtokens": list(self._source.tokens), "target_subtokens": target}


class _Subtokens(tf.Module):
    """The subtokens of one side."""

    def __init__(self, tokens):
        super().__init__()
        self.tokens = tokens
        alphabet = {*"".join(tokens), *ESCAPES}
        missing = sorted(alphabet - {*tokens} - {"\n"})
        if missing:
            raise ValueError(
                "`subtokens` must have each of its characters, and each of those of "
                f"{ESCAPES!r}, as a subtoken. Received: {len(tokens)} without "
                f"{missing[:10]}."
            )
        # Where subtokens are repeated, the last one counts. A word has "_" only at its
        # end, so it cannot have a subtoken with "_" elsewhere.
        ids = {t: i for i, t in enumerate(tokens) if t and "_" not in t[:-1]}
        longest = max(ids, key=lambda subtoken: len(subtoken.encode()))
        if len(longest.encode()) > _MAX_BYTES:
            raise ValueError(
                f"`subtokens` must have at most {_MAX_BYTES} bytes each. Received: "
                f"{longest[:20]!r}..., {len(longest.encode())} bytes."
            )
        # The splitter knows words with a mark for pieces that do not begin a word.
        pieces = [_UNKNOWN, *ids, *(_CONTINUES + subtoken for subtoken in ids)]
        with tf.init_scope(), tf.device("CPU:0"):
            self._splitter = tf_text.FastWordpieceTokenizer(
                pieces,
                suffix_indicator=_CONTINUES,
                max_bytes_per_word=2**30,
                token_out_type=tf.int32,
                unknown_token=_UNKNOWN,
                no_pretokenization=True,
            )
        self._ids = constant([0, *ids.values(), *ids.values()])
        # Ids that are too large have no text.
        self._strings = constant([*tokens, ""])
        member = np.zeros(unicode_classes.MAX_CODE + 1, bool)
        member[[*map(ord, alphabet - {"\n"})]] = True
        self._alphabet = constant(unicode_classes.edges(member))
        self._letters = constant(unicode_classes.alphanumeric_edges())

    def encode(self, texts):
        """Texts to ids, ragged (B, None), or (None,) for a single text."""
        texts = tf.convert_to_tensor(texts, tf.string)
        flat = tf.reshape(texts, [-1])
        codes = tf.strings.unicode_decode(flat, "UTF-8", errors="ignore")
        rows, codes = row_ids(codes), codes.values
        letter = unicode_classes.inside(codes, self._letters)
        # The characters at which a word begins; and spaces that are left out: words of
        # one space, which are neither the first nor the last of a text.
        first = _differs(rows, -1)
        begins = first | _differs(tf.cast(letter, tf.int32), -1)
        last = tf.concat([first, [True]], 0)[1:]
        ends = last | tf.concat([begins, [True]], 0)[1:]
        kept = ~((codes == ord(" ")) & begins & ends & ~first & ~last)
        begins, rows, codes = (
            tf.boolean_mask(values, kept) for values in (begins, rows, codes)
        )
        words = tf.cumsum(tf.cast(begins, tf.int64)) - 1
        count = tf.reduce_sum(tf.cast(begins, tf.int64))
        words = tf.strings.unsorted_segment_join(self._escape(codes), words, count)
        words += "_"
        pieces = self._splitter.tokenize(words)
        rows = tf.gather(tf.boolean_mask(rows, begins), row_ids(pieces))
        ids = tf.gather(self._ids, pieces.values)
        count = tf.size(flat, tf.int64)
        ids = tf.RaggedTensor.from_value_rowids(ids, rows, nrows=count)
        return ids if texts.shape.rank else ids.values

    def _escape(self, codes):
        """The characters with these numbers, as they are in words; string (N,)."""
        characters = tf.strings.unicode_encode(codes[:, None], "UTF-8")
        numbers = tf.strings.join(["\\", tf.strings.as_string(codes), ";"])
        known = unicode_classes.inside(codes, self._alphabet)
        characters = tf.where(known, characters, numbers)
        characters = tf.where(codes == ord("\\"), "\\\\", characters)
        return tf.where(codes == ord("_"), "\\u", characters)

    def decode(self, ids):
        """Ids, ragged (B, None), to texts (B,)."""
        ids = ids.with_values(tf.minimum(ids.values, len(self.tokens)))
        joined = join(tf.gather(self._strings, ids))
        words = _split(joined)
        text = _unescape(words.values)
        codes = tf.strings.unicode_decode(
            tf.strings.substr(text, 0, 1, "UTF8_CHAR"), "UTF-8"
        )
        letter = unicode_classes.inside(codes.values, self._letters)
        letter = tf.cast(letter, tf.int32)
        follows = ~_differs(row_ids(words), -1) & ~_differs(letter, -1)
        spaced = tf.where(follows & (letter > 0), tf.strings.join([" ", text]), text)
        return join(words.with_values(spaced))


def _split(texts):
    """The parts of texts between "_" that are not empty, ragged (N, None)."""
    parts = tf.strings.split(texts, "_")
    return keep(parts, parts.values != "")


def _unescape(words):
    """Words (N,) without their escapes, string (N,)."""
    # No word has "_", so it can separate the escapes from the rest.
    marked = tf.strings.regex_replace(words, r"(\\u|\\\\|\\[0-9]+;)", r"_\1_")
    parts = _split(marked)
    flat = parts.values
    number = tf.strings.regex_full_match(flat, r"\\[0-9]+;")
    digits = tf.strings.regex_replace(flat, r"^\\0*([0-9]+);$", r"\1")
    small = number & (tf.strings.length(digits) <= 7)
    codes = tf.strings.to_number(tf.where(small, digits, "0"), tf.int32)
    surrogate = (codes >= 0xD800) & (codes < 0xE000)
    wrong = ~small | surrogate | (codes > unicode_classes.MAX_CODE)
    codes = tf.where(wrong, _NO_CHARACTER, codes)
    characters = tf.strings.unicode_encode(codes[:, None], "UTF-8")
    flat = tf.where(number, characters, flat)
    flat = tf.where(flat == "\\u", "_", tf.where(flat == "\\\\", "\\", flat))
    return join(parts.with_values(flat))


def _differs(values, before):
    """Whether each value differs from the one before it, bool (N,)."""
    previous = tf.concat([[tf.cast(before, values.dtype)], values], 0)[:-1]
    return values != previous


def _read(subtokens, name):
    """The subtokens of a file or a sequence, tuple of str."""
    entries = read_entries(subtokens, name)
    if isinstance(subtokens, (str, os.PathLike)):
        return tuple(_unquote(line.rstrip()) for line in entries)
    return entries


def _unquote(line):
    """A line without its quotes, if it stands in quotes."""
    quoted = line[:1] in ("'", '"') and line.endswith(line[0])
    return line[1:-1] if quoted else line
