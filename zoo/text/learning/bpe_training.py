"""Learns byte-pair encoding from texts, as subword-nmt does."""

import collections

from zoo.checks.number_rules import numbers_checked
from zoo.files.lines import corpus_lines
from zoo.text.byte_pairs.bpe_tokenizer import END
from zoo.text.learning.pair_joining import join_pairs

SPECIALS = ("<s>", "<pad>", "</s>", "<unk>")  # in the order of fairseq
CONTINUATION = "@@"


@numbers_checked()
def train_bpe(texts, vocabulary_size=None, num_merges=None, min_count=2):
    """Learns codes and a vocabulary for `BytePairTokenizer`.

    Words are separated by white space. The most frequent pair of neighbouring symbols
    is joined, again and again. Equally frequent pairs are joined in reverse
    alphabetical order, as in subword-nmt; `train_wordpiece` and `train_sentencepiece`
    join them in alphabetical order.

    Source: Sennrich et al. 2016, algorithm 1; `learn_bpe` of subword-nmt, whose codes
    are reproduced. The vocabulary is ordered as that of fairseq. It has every piece
    that the codes can make, also pieces that no word of the corpus has in the end.

    Args:
        texts: iterable of str (or UTF-8 bytes) or of `pathlib.Path`, see
            `zoo.text.train_wordpiece`. Punctuation should be separated from words.
        vocabulary_size: int, maximum number of tokens; four special tokens and the
            characters, inside of words and at their ends, are included.
        num_merges: int, the number of joined pairs, instead of `vocabulary_size`.
        min_count: int, the lowest count of a pair that is joined.

    Returns:
        list of str, the lines of the codes; and list of str, the tokens: `<s>`,
        `<pad>`, `</s>`, `<unk>`, and the pieces, the most frequent ones first.

    Raises:
        TypeError: if `texts` is a single str, or has an entry of another type.
        ValueError: unless exactly one of `vocabulary_size` and `num_merges` is given,
            or if `vocabulary_size` is too small for the characters.
    """
    if (vocabulary_size is None) == (num_merges is None):
        raise ValueError(
            "Exactly one of `vocabulary_size` and `num_merges` must be given. Received:"
            f" vocabulary_size={vocabulary_size}, num_merges={num_merges}."
        )
    words = collections.Counter()
    for line in corpus_lines(texts):
        words.update(line.split())
    spelled = [[*word[:-1], word[-1] + END] for word in words]
    symbols = dict.fromkeys(symbol for word in spelled for symbol in word)
    if num_merges is None:
        num_merges = vocabulary_size - len(SPECIALS) - len(symbols)
    if num_merges < 0:
        raise ValueError(
            "`vocabulary_size` must hold the special tokens and the characters, "
            f"{len(SPECIALS) + len(symbols)} in this corpus. Received: vocabulary_size="
            f"{vocabulary_size}. Increase it."
        )
    counts, codes = list(words.values()), ["#version: 0.2"]
    for joined, pair, count in join_pairs(spelled, counts, str.__add__, _last_first):
        if len(codes) > num_merges or count < min_count:
            break
        codes.append(" ".join(pair))
        symbols[joined] = None
    frequency = collections.Counter(dict.fromkeys(map(_token, symbols), 0))
    for word, count in zip(spelled, counts, strict=True):
        for symbol in word:
            frequency[_token(symbol)] += count
    tokens = sorted(frequency, key=lambda token: (-frequency[token], token))
    return codes, [*SPECIALS, *(token for token in tokens if token not in SPECIALS)]


def _token(symbol):
    """How the vocabulary writes a symbol of the codes."""
    ends = symbol.endswith(END)
    return symbol.removesuffix(END) if ends else symbol + CONTINUATION


def _last_first(pair):
    """A key that sorts pairs in reverse alphabetical order, tuples of int."""
    # The 1 stands for the end of a piece, which is after all its continuations.
    return tuple((*(-ord(c) for c in piece), 1) for piece in pair)
