r"""Splits texts as GPT-2 does, inside the TensorFlow graph.

GPT-2 splits a text with the pattern

    's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+

RE2, the regular expressions of TensorFlow, has no look-ahead. But the pattern needs
none: whether a piece begins at a character depends on the character, the one before it
and the two after it. The rules, for letters (L), numbers (N), white space (S) and all
other characters (P):

1. A contraction, such as `'s`, is a piece if a letter, a number, white space other than
   a space, or nothing stands before it. Before it, P or a space takes the apostrophe.
2. A piece begins where the class changes, except after a space.
3. The last character of white space before other characters begins a piece.
"""

import functools
import pathlib

import numpy as np
import tensorflow as tf

from zoo.ragged_rows import shifted

OTHER, LETTER, NUMBER, SPACE = range(4)
BLANK = 4  # the space itself
EDGE = 5  # beyond the text
PAGE_SIZE = 256
# What follows an apostrophe.
SHORT_CLITICS, LONG_CLITICS = ("s", "t", "m", "d"), ("re", "ve", "ll")
_FILE = pathlib.Path(__file__).with_name("unicode16.npz")


@functools.cache
def pages():
    """The page of 256 code points, (0x1100,), and classes of a page, (P, 256)."""
    # Unicode 16, as in `tokenizers` 0.23. The file was made by regex 2024.11.6, the
    # library that OpenAI's code uses.
    with np.load(_FILE) as data:
        starts, values = data["starts"], data["values"]
    lengths = np.diff(starts, append=np.uint32(0x110000))
    classes = np.repeat(values, lengths)
    classes[ord(" ")] = BLANK
    distinct, index = np.unique(
        classes.reshape(-1, PAGE_SIZE), axis=0, return_inverse=True
    )
    return index.reshape(-1).astype("int32"), distinct.astype("int32")


def split_pieces(texts):
    """Splits texts (B,) into ragged pieces (B, None); invalid UTF-8 becomes U+FFFD."""
    # Radford et al. 2019, `encoder.py` of the released code. The tokenizer of keras-nlp
    # emulates the pattern by a stand-in character, and fails our test of all code
    # points.
    codes = tf.strings.unicode_decode(texts, "UTF-8")
    begins = _piece_begins(codes)
    starts = tf.where(begins)[:, 0]
    ends = tf.concat([starts, [tf.size(begins, tf.int64)]], axis=0)
    # The place of each text's first piece; empty texts have none.
    counts = tf.concat([[0], tf.cumsum(tf.cast(begins, tf.int64))], axis=0)
    splits = tf.gather(counts, codes.row_splits)
    pieces = tf.RaggedTensor.from_row_splits(codes.values, ends, validate=False)
    pieces = tf.strings.unicode_encode(pieces, "UTF-8")
    return tf.RaggedTensor.from_row_splits(pieces, splits, validate=False)


def _piece_begins(codes):
    """Whether a piece begins at each character, bool (T,); `codes` is ragged (B, T)."""
    flat = codes.values
    size = tf.size(flat, tf.int64)
    # One place more than there are characters, for empty texts at the end.
    edges = tf.scatter_nd(
        codes.row_splits[:, None], tf.ones_like(codes.row_splits), [size + 1]
    )
    first, last = edges[:-1] > 0, edges[1:] > 0
    index, distinct = (tf.constant(table) for table in pages())
    page = tf.gather(index, flat // PAGE_SIZE)
    kind = tf.gather(tf.reshape(distinct, [-1]), page * PAGE_SIZE + flat % PAGE_SIZE)
    before = tf.where(first, EDGE, shifted(kind, 1))
    after = tf.where(last, EDGE, shifted(kind, -1))
    short, long = _contractions(flat, last, before)
    inside = shifted(short | long, 1) | shifted(long, 2)
    ended = shifted(short, 2) | shifted(long, 3)
    space = kind >= SPACE
    final = space & (after < SPACE)
    changed = (kind != before) & (before != BLANK)
    begins = tf.where(space, (before < SPACE) | final, changed)
    return first | (~inside & (begins | ended | short | long))


def _contractions(codes, last, before):
    """Where contractions of two and of three characters begin, each bool (T,)."""
    free = (codes == ord("'")) & (before != OTHER) & (before != BLANK) & ~last
    next_one, next_two = shifted(codes, -1), shifted(codes, -2)
    single = [next_one == ord(character) for character in SHORT_CLITICS]
    short = free & functools.reduce(tf.logical_or, single)
    alone = shifted(last, -1)
    pairs = [(next_one == ord(a)) & (next_two == ord(b)) for a, b in LONG_CLITICS]
    long = free & ~alone & functools.reduce(tf.logical_or, pairs)
    return short, long
