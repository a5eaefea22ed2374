"""Learns byte-level byte-pair encoding from texts."""

import collections
import itertools

import tensorflow as tf

from zoo.checks.number_rules import numbers_checked
from zoo.files.lines import corpus_lines
from zoo.text.byte_pairs.gpt2_splitting import split_pieces
from zoo.text.byte_pairs.gpt2_tokenizer import END, byte_symbols
from zoo.text.learning.pair_joining import counted, join_pairs

LINES_IN_BATCH = 4096


@numbers_checked()
def train_byte_bpe(texts, vocabulary_size, min_count=2):
    """Learns the vocabulary and the merges of `GPT2Tokenizer`.

    The most frequent pair of neighbouring tokens inside the pieces of the texts is
    joined, again and again. Equally frequent pairs are joined in alphabetical order.
    Memory depends on the number of distinct pieces, not on the size of the corpus.

    Source: Radford et al. 2019, section 2.2; Sennrich et al. 2016, algorithm 1. The
    order of the tokens is that of OpenAI: bytes, merges, `<|endoftext|>`.

    Args:
        texts: iterable of str (or UTF-8 bytes) or of `pathlib.Path`, see
            `zoo.text.train_wordpiece`.
        vocabulary_size: int, the largest number of tokens; 256 bytes and
            `<|endoftext|>` are included.
        min_count: int, the lowest count of a pair that is joined.

    Returns:
        list of str, the tokens; and list of str, the lines of the merges.

    Raises:
        TypeError: if `texts` is a single str, or has an entry of another type.
        ValueError: if `vocabulary_size` is less than 257.
    """
    symbols = byte_symbols()
    if vocabulary_size <= len(symbols):
        raise ValueError(
            f"`vocabulary_size` must hold at least {len(symbols) + 1} tokens: all "
            f"bytes and {END}. Received: vocabulary_size={vocabulary_size}."
        )
    counts = counted(texts, count_pieces)
    spelled = [[symbols[byte] for byte in piece] for piece in counts]
    # Printable bytes first, as in OpenAI's files.
    tokens = dict.fromkeys(sorted(symbols, key=lambda s: (ord(s) > 255, ord(s))))
    merges = []
    pairs = join_pairs(spelled, [*counts.values()], str.__add__)
    for joined, pair, count in pairs:
        if len(tokens) + 1 >= vocabulary_size or count < min_count:
            break
        merges.append(" ".join(pair))
        tokens[joined] = None
    return [*tokens, END], merges


def count_pieces(texts):
    """How often each piece occurs, collections.Counter of bytes."""
    split = tf.function(
        split_pieces, [tf.TensorSpec([None], tf.string)], autograph=False
    )
    counts, lines = collections.Counter(), iter(corpus_lines(texts))
    while batch := list(itertools.islice(lines, LINES_IN_BATCH)):
        batch = [line.encode("utf-8", "ignore") for line in batch]
        counts.update(split(tf.constant(batch)).values.numpy().tolist())
    return counts
