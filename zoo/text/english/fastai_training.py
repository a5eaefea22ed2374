"""Makes the vocabulary of `FastaiTokenizer` from texts."""

import collections
import functools
import itertools

import numpy as np
import tensorflow as tf

from zoo.checks.number_rules import numbers_checked
from zoo.files.lines import corpus_lines
from zoo.text.english.fastai_rules import NULL
from zoo.text.english.fastai_splitting import SPECIALS, FastaiSplitter
from zoo.text.learning.pair_joining import counted

TEXTS_IN_BATCH = 256


@numbers_checked()
def train_fastai_vocabulary(texts, size=60000, minimum_count=3):
    """Makes a vocabulary for `FastaiTokenizer` from the frequent tokens of texts.

    The special tokens are first, then the tokens by their count. Of equally frequent
    tokens, the one that occurs first is first. Memory depends on the number of distinct
    tokens, not on the size of the corpus.

    Source: fastai 2.8, `make_vocab`. It also adds `xxfake` until the size is a multiple
    of 8, which models here do not need. Like fastai, it takes the `size` most frequent
    tokens first, and adds the special tokens to them.

    Args:
        texts: iterable of str (or UTF-8 bytes) or of `pathlib.Path`. A str is a text. A
            path is a UTF-8 file whose lines are texts, plain, `.gz` or `.xz`. Or their
            counts, a `collections.Counter`.
        size: int, maximum number of tokens, special ones included.
        minimum_count: int, lowest count of a token; rarer tokens are ignored.

    Returns:
        list of str.

    Raises:
        TypeError: if `texts` is a single str, or has an entry of another type.
        ValueError: if `size` is too small for the special tokens, or if
            `minimum_count` is less than 1.
    """
    if size < len(SPECIALS):
        raise ValueError(
            f"`size` must hold the {len(SPECIALS)} special tokens. Received: "
            f"size={size}."
        )
    counts = counted(texts, count_tokens)
    common = [t for t, count in counts.most_common(size) if count >= minimum_count]
    return [*SPECIALS, *(t for t in common if t not in SPECIALS)][:size]


@functools.cache
def _splitter():
    """The graph that splits texts, which takes seconds to make."""
    return tf.function(
        FastaiSplitter().spans, [tf.TensorSpec([None], tf.string)], autograph=False
    )


def count_tokens(texts):
    """Counts the tokens of texts and files, in their order."""
    # Every text also has a token `xxbos`.
    split = _splitter()
    counts, lines = collections.Counter(), iter(corpus_lines(texts))
    while batch := list(itertools.islice(lines, TEXTS_IN_BATCH)):
        counts["xxbos"] += len(batch)
        spans, tokens = split(tf.constant([_encode(text) for text in batch]))
        times = np.bincount(spans.values.numpy(), minlength=int(tokens.nrows()))
        times = np.repeat(times, tokens.row_lengths().numpy()).tolist()
        for token, count in zip(tokens.values.numpy().tolist(), times, strict=True):
            counts[token] += count
    found = collections.Counter()
    for token, count in counts.items():  # of which several may be decoded alike
        found[_decode(token)] += count
    return found


def _encode(text):
    return text.encode("utf-8", "ignore")


def _decode(token):
    return token if isinstance(token, str) else token.decode().replace(NULL, "\0")
