"""Learns a WordPiece vocabulary from texts, with the words of the tokenizer."""

import collections
import re

import tensorflow as tf
import tensorflow_text as tf_text

from zoo.checks.number_rules import numbers_checked
from zoo.files.lines import corpus_lines
from zoo.text.learning.pair_joining import counted, frequent_characters, join_pairs
from zoo.text.wordpieces import final_sigma, unicode_classes
from zoo.text.wordpieces.wordpiece import SPECIALS

# The number of characters that the normalizer gets at once.
_CHUNK = 1 << 20
# Longer words are not learned from. A token of the splitter has at most 256 bytes.
_MAX_WORD = 50
# Every vocabulary has these characters, because an edited corpus may lack some of them.
_ALWAYS = "".join(map(chr, range(0x21, 0x7F))) + "–—‘’“”…£€°"


@numbers_checked()
def train_wordpiece(
    texts, vocabulary_size, lowercase=True, character_coverage=0.99999, min_count=2
):
    """Learns a vocabulary for `WordPieceTokenizer`.

    Texts are cleaned and split into words as in the tokenizer, and words are counted.
    The pieces are single characters at first. The most frequent pair of neighbouring
    pieces is then joined to a new piece, again and again (byte-pair encoding). Equally
    frequent pairs are joined in alphabetical order, so equal counts give equal
    vocabularies.

    Source: Sennrich et al. 2016, algorithm 1. Schuster and Nakajima 2012 join the pair
    with the best likelihood, but published no program. The public WordPiece trainers
    join by count.

    Args:
        texts: iterable of str (or UTF-8 bytes) or of `pathlib.Path`. A str is a text. A
            path is a UTF-8 file with any number of lines, plain, `.gz` or `.xz`.
        vocabulary_size: int, maximum number of tokens, special ones included.
        lowercase: bool, as in the tokenizer.
        character_coverage: float in (0, 1], share of the characters in the corpus that
            the vocabulary can spell. Words with a rarer character become [UNK].
            Printable ASCII and common typographic signs are always included.
        min_count: int, lowest count of a word; rarer words are ignored.

    Returns:
        list of str: [PAD] [UNK] [CLS] [SEP] [MASK], the characters, and the joined
        pieces in the order of joining. The list is shorter than `vocabulary_size` if
        the corpus has no more pairs.

    Raises:
        TypeError: if `texts` is a single str, or has an entry of another type.
        ValueError: if `vocabulary_size` is too small for the characters, or if
            `character_coverage` is not in (0, 1].
    """
    counts = counted(texts, count_words, lowercase)
    alphabet = frequent_characters(counts, character_coverage, unicode_classes.UNKNOWN)
    alphabet |= {*(_ALWAYS.lower() if lowercase else _ALWAYS)}
    tokens = list(SPECIALS) + _single_pieces(alphabet)
    if len(tokens) > vocabulary_size:
        raise ValueError(
            "`vocabulary_size` must hold the special tokens and the characters, "
            f"{len(tokens)} in this corpus. Received: vocabulary_size="
            f"{vocabulary_size}. Increase it, or decrease `character_coverage`."
        )
    learnable = {
        word: count
        for word, count in counts.items()
        if count >= min_count and len(word) <= _MAX_WORD and alphabet.issuperset(word)
    }
    spelled = [[word[0], *("##" + c for c in word[1:])] for word in learnable]
    counts = list(learnable.values())
    known = set(tokens)
    for piece, *_ in join_pairs(spelled, counts, lambda a, b: a + b[2:]):
        if len(tokens) == vocabulary_size:
            break
        if piece not in known:
            known.add(piece)
            tokens.append(piece)
    return tokens


def count_words(texts, lowercase=True):
    """Counts the words of the tokenizer; punctuation marks are words, too."""
    separators = unicode_classes.character_class(final_sigma.SEPARATORS)
    pattern = re.compile(f"[^{separators}]+|[^ \t]")
    model = tf.constant(unicode_classes.normalizer(lowercase))
    normalizer = tf_text.FastBertNormalizer(model_buffer=model)
    counts = collections.Counter()
    for chunk in _chunks(texts):
        normal = final_sigma.settle(
            normalizer.normalize([chunk.encode("utf-8", "ignore")]), lowercase
        )
        counts.update(pattern.findall(normal.numpy()[0].decode()))
    return counts


def _chunks(texts):
    """Yields strings of about `_CHUNK` characters: lines joined by line breaks."""
    lines, size = [], 0
    for line in corpus_lines(texts):
        lines.append(line)
        size += len(line)
        if size >= _CHUNK:
            yield "\n".join(lines)
            lines, size = [], 0
    yield "\n".join(lines)


def _single_pieces(alphabet):
    """Returns every character, and with ## every character that can continue a word."""
    kinds = unicode_classes.classes()
    alone = (unicode_classes.PUNCTUATION, unicode_classes.CHINESE)
    inside = (c for c in alphabet if kinds[ord(c)] not in alone)
    return sorted(alphabet) + sorted("##" + c for c in inside)
