"""Texts to the ids of fastai's ULMFiT, and back, inside the TensorFlow graph."""

import collections.abc
import os

import tensorflow as tf

from zoo.checks.ranges import check_choice
from zoo.files.path_checks import existing_file
from zoo.ragged_rows import row_ids
from zoo.text.contents import parse_json
from zoo.text.english.fastai_joining import join_tokens
from zoo.text.english.fastai_rules import NULL
from zoo.text.english.fastai_splitting import (
    BEGIN,
    CAPITALS,
    CHARACTERS,
    END,
    FIELD,
    FILLER,
    PAD,
    UNKNOWN,
    VERSIONS,
    WORDS,
    FastaiSplitter,
)
from zoo.text.tokenizer import Framing, Tokenizer
from zoo.text.vocabulary import constant, lookup

# The tokens of fastai 0.7, by the names of fastai 1 and 2 for the same things.
OLD_NAMES = {
    UNKNOWN: "_unk_",
    PAD: "_pad_",
    BEGIN: "xbos",
    FIELD: "xfld",
    CHARACTERS: "tk_rep",
    WORDS: "tk_wrep",
    CAPITALS: "t_up",
}
NEW_NAMES = {old: new for new, old in OLD_NAMES.items()} | {"u_n": UNKNOWN}
REQUIRED = (UNKNOWN, PAD, BEGIN)
OLD_BEGIN = ("\n", "xbos", "xfld", "1")  # of every text in the paper's scripts
# Before the second text of a pair. The scripts number both texts with 1.
BETWEEN, OLD_BETWEEN = (FIELD, "2"), ("xfld", "1")


class FastaiTokenizer(Tokenizer):
    """Splits English texts into the tokens of fastai's ULMFiT, and maps them to ids.

    Three steps make the tokens:

    1. Rules repair HTML, and write repeated characters and words as `xxrep 4 a` and
       `xxwrep 3 ha`.
    2. A word in capitals is preceded by `xxup`, and a capitalised word by `xxmaj`. All
       words become lower case.
    3. The rules of spaCy's English tokenizer split the words: "don't" has the tokens
       `do` and `n't`. White space other than one space is a token. A space in it is
       written as `▁`.

    Source: Howard and Ruder 2018 (ULMFiT); fastai 2.8.12, `Tokenizer` with
    `WordTokenizer` and its default rules; spaCy 3.8. Training and serving use the same
    operations. Rows begin with `xxbos`, as in fastai. In a row of two texts, `xxfld 2`
    is before the second one. Differences: fastai also writes `xxfld 1` before the
    first text of two, invalid UTF-8 and the noncharacters U+10FFFE and U+10FFFF become
    U+FFFD, and `EnglishSplitter` has two.

    The version "v1" has the rules of fastai 1.0.61. They count from four repetitions
    on, split texts before they lower them, and mark capitals of all alphabets. "0.7"
    has the rules of fastai 0.7 in the scripts of the paper. They mark words of three or
    more capitals only. Its rows begin with a line break and `xbos xfld 1`. Both were
    used with older versions of spaCy, whose exceptions and units differ in a few words.
    In version "0.7", `<eos>` and `<bos>` in a text are split, as other text is. The
    rules are applied to a text alone, not to it and the tokens that begin its row. This
    matters only for texts that begin with `@.@`, `@-@`, `@,@`, or a repeated 1.

    Args:
        vocabulary: sequence of str, the tokens in the order of their ids, for example
            from `train_fastai_vocabulary`; or the path of a JSON file with this list.
            It includes `xxunk`, `xxpad` and `xxbos`. `xxfake` may be repeated.
        version: str, the generation of the rules: "v2", "v1" or "0.7". The special
            tokens of fastai 0.7 are `_unk_`, `_pad_` and `xbos`, and its mark of
            capitals is `t_up`.

    Attributes:
        vocabulary: tuple of str.
        pad_id, unknown_id, end_id: ints, the ids of `xxpad`, `xxunk` and `xxbos`. A
            text ends where the next document begins.

    Returns:
        int32 ids, see `Tokenizer`.

    Raises:
        FileNotFoundError: if the file does not exist.
        TypeError: if the vocabulary is not a list of str.
        ValueError: if a special token is missing, if another token than `xxfake` is
            repeated, or if the version is unknown.

    Example:
        >>> tokens = ["xxunk", "xxpad", "xxbos", "xxmaj", "do", "n't", "stop", "!"]
        >>> tokenizer = FastaiTokenizer(tokens)
        >>> tokenizer("Don't stop!").numpy().tolist()
        [3, 4, 5, 6, 7]
        >>> tokenizer.detokenize([[2, 3, 4, 5, 6, 7, 1]]).numpy()[0].decode()
        "Don't stop!"
    """

    files = {"vocabulary": "vocabulary.json"}

    def __init__(self, vocabulary, version="v2"):
        super().__init__()
        self.version = check_choice("version", version, VERSIONS)
        self.vocabulary = _read(vocabulary)
        old = version == "0.7"
        required = tuple(OLD_NAMES[t] if old else t for t in REQUIRED)
        ids = _number(self.vocabulary, required)
        self.unknown_id, self.pad_id, self.end_id = (ids[name] for name in required)
        begin, between = (OLD_BEGIN, OLD_BETWEEN) if old else ((BEGIN,), BETWEEN)
        begin, between = (
            tuple(ids.get(token, self.unknown_id) for token in part)
            for part in (begin, between)
        )
        self.framing = Framing(begin, between, ())
        # By the names of fastai 2, which `detokenize` knows.
        written = [NEW_NAMES.get(t, t) if old else t for t in self.vocabulary]
        unwritten = UNKNOWN, PAD, END, FIELD, FILLER
        self.unwritten_ids = tuple(
            i for i, token in enumerate(written) if token in unwritten
        )
        self._splitter = FastaiSplitter(version)
        # fastai gives the filler no id.
        keys = {k.replace("\0", NULL): i for k, i in ids.items() if k != FILLER}
        self._ids = lookup(keys, self.unknown_id, keys.values())
        self._tokens = constant(written)

    vocabulary_size = property(lambda self: len(self.vocabulary))

    def __call__(self, texts):
        """Returns the ids of texts; see the class."""
        texts = tf.convert_to_tensor(texts, tf.string)
        spans, tokens = self._splitter.spans(tf.reshape(texts, [-1]))
        # The ids of distinct spans are looked up once for the whole batch.
        ids = tokens.with_values(self._ids.lookup(tokens.values))
        rows = spans.with_values(tf.gather(ids, spans.values)).merge_dims(1, 2)
        return rows if texts.shape.rank else rows.values

    def detokenize(self, ids):
        """Joins ids (B, T) to texts (B,).

        Marks are applied: capitals, repeated characters and repeated words. Other
        special tokens are dropped. Punctuation and endings such as "n't" follow a word
        without a space. The white space of the original text is not restored. A row
        ends before an `xxbos` that is not among the tokens that begin every row.
        """
        if not isinstance(ids, tf.RaggedTensor):
            ids = tf.RaggedTensor.from_tensor(tf.convert_to_tensor(ids))
        ids = tf.cast(ids, tf.int32)
        rows = row_ids(ids)
        place = tf.range(tf.size(rows)) - tf.cast(
            tf.gather(ids.row_starts(), rows), tf.int32
        )
        later = place >= len(self.framing.begin)
        ends = tf.cumsum(tf.cast(later & (ids.values == self.end_id), tf.int32))
        before = tf.gather(tf.concat([[0], ends], 0), ids.row_starts())
        kept = ends == tf.gather(before, rows)
        tokens = tf.gather(self._tokens, ids.values)
        return join_tokens(tokens[kept], rows[kept], ids.nrows())

    def get_config(self):
        """Returns the constructor's arguments, with the content of the vocabulary."""
        return {"vocabulary": list(self.vocabulary), "version": self.version}


def _read(source):
    """Returns the tokens of a sequence or file, tuple of str."""
    if isinstance(source, (str, os.PathLike)):
        way = "Give the path of a JSON file with a list of tokens, or the list itself."
        path = existing_file(source, "`vocabulary` must be an existing file.", way)
        source = parse_json(path.read_bytes(), path)
    if not isinstance(source, collections.abc.Sequence):
        source = [source]
    wrong = [token for token in source if not isinstance(token, str)]
    if wrong:
        raise TypeError(
            "`vocabulary` must be a list of str, or the path of a JSON file with one. "
            f"Received: an entry {wrong[0]!r:.60}. Decode bytes with `.decode()`."
        )
    return tuple(source)


def _number(tokens, required):
    """Checks tokens, and returns their ids; a repeated token has its first one."""
    ids = {}
    for i, token in enumerate(tokens):
        if ids.setdefault(token, i) != i and token != FILLER:
            raise ValueError(
                f"`vocabulary` must not have repeated tokens except {FILLER}. Received "
                f"{token!r} at ids {ids[token]} and {i}. Remove or rename one of them."
            )
    missing = [token for token in required if token not in ids]
    if missing:
        raise ValueError(
            f"`vocabulary` must include the special tokens {list(required)}. Received: "
            f"{len(tokens)} tokens without {missing}. Add them at their ids."
        )
    return ids
