"""Learns word vectors from plain text: skip-gram with negative sampling."""

import dataclasses
import itertools
import os

import numpy as np
import tensorflow as tf

from zoo.checks.number_rules import RULES
from zoo.checks.ranges import CheckedFields
from zoo.data import SkipGrams
from zoo.files.lines import corpus_lines
from zoo.text import WordTokenizer, count_words

WORDS_IN_CHUNK = 64  # neighbouring words that share their negatives
NEGATIVES_IN_CHUNK = 64  # negatives of a chunk
# The probability of a negative is proportional to its count to this power.
COUNT_EXPONENT = 0.75
MAX_LIGHT_COUNT = 16  # `sum_rows` sums words with at most so many occurrences together
LINES_AT_ONCE = 2048  # lines that are tokenized at a time


@dataclasses.dataclass(frozen=True)
class SkipGramTraining(CheckedFields):
    """How `train_word_vectors` learns.

    The model separates pairs of a word u and a near word v from pairs of u and random
    words n. The loss of a pair is `-log s(u v) - sum_n log s(-u n)`, where s is the
    sigmoid. The words n are drawn by counts ** 0.75. The result is the vectors u.

    Source: Mikolov et al. 2013b, equation 4, with these differences:

    - As in Ji et al. 2016, 64 neighbouring words share 64 negatives, so that a step is
      a few matrix products. The losses of the negatives are weighted so that each pair
      has `negatives` of them.
    - A negative may be equal to v, as in the equation. The authors' program excludes
      this.
    - A step sums many gradients of a frequent word. So the optimizer is Adagrad with
      one learning rate per word. The rate is divided by the root of the sum of the
      mean squares of all gradients of the word. It decays linearly to 0.

    Args:
        embedding_dim: int, D.
        minimum: int, rarer words are removed from the texts.
        limit: int, the largest number of words, or None. The most frequent are kept.
        lowercase, digits_to_zero: bool, see `zoo.text.WordTokenizer`.
        window: int, the largest number of neighbouring words on each side.
        negatives: int, for each pair.
        threshold: float, t of the subsampling of frequent words, see
            `zoo.data.SkipGrams`; None to keep every occurrence.
        learning_rate: float, at the beginning.
        epochs: int.
        words_per_step: int, words of an update.
        seed: int.

    Raises:
        ValueError: if a value has another type or is out of its range.
    """

    embedding_dim: RULES["embedding_dim"].kind = 100
    minimum: RULES["minimum"].kind = 5
    limit: RULES["limit"].kind | None = None
    lowercase: bool = False
    digits_to_zero: bool = False
    window: RULES["window"].kind = 5
    negatives: RULES["negatives"].kind = 5
    threshold: RULES["threshold"].kind | None = 1e-4
    learning_rate: RULES["learning_rate"].kind = 0.3
    epochs: RULES["epochs"].kind = 5
    words_per_step: RULES["words_per_step"].kind = 10_000
    seed: RULES["seed"].kind = 0


def train_word_vectors(texts, echo=None, **options):
    """Learns a vector for every word that occurs often enough, by skip-gram.

    Args:
        texts: iterable of str (or UTF-8 bytes), each a text, or of `pathlib.Path`, each
            a UTF-8 file with one text per line, also `.gz` and `.xz`. Words are
            separated by white space. Both words of a pair are of the same text.
        echo: function that gets a str after every epoch.
        **options: fields of `SkipGramTraining`, such as `embedding_dim=300`.

    Returns:
        words, list of str (V,), the most frequent first; and vectors, float32 (V, D).
        `zoo.checkpoint.write_vectors` takes both.

    The ids of all words are held in memory, about 8 bytes for a word at the peak.

    Raises:
        TypeError: if `texts` is a single str, or holds values of other types.
        ValueError: if no word occurs `minimum` times, or a number is out of its range.
    """
    training = SkipGramTraining(**options)
    if not isinstance(texts, (str, bytes, os.PathLike)):
        texts = list(texts)  # since it is read twice
    kind = training.lowercase, training.digits_to_zero
    words = count_words(texts, training.minimum, training.limit, *kind)
    if not words:
        raise ValueError(
            f"A word must occur at least {training.minimum} times. Received: texts "
            "without such a word. Give more text, or lower `minimum`."
        )
    pairs = SkipGrams(
        *encode_corpus(texts, WordTokenizer(words, *kind)),
        training.window,
        training.threshold,
        training.words_per_step,
        training.seed,
    )
    return words, _learn(training, pairs, len(words), echo or (lambda message: None))


def _learn(training, pairs, size, echo):
    """Trains the vectors (V, D) of the words; `size` is V."""
    draw = np.random.default_rng([training.seed, 0, 0, 1])
    shape = size, training.embedding_dim
    centres = (draw.random(shape, np.float32) - np.float32(0.5)) / shape[1]
    tables = centres, np.zeros(shape, np.float32)
    squares = [np.full(size, 1e-8, np.float32) for _ in tables]
    chances = np.cumsum(pairs.counts**COUNT_EXPONENT)
    total = training.epochs * pairs.steps_per_epoch
    for step in range(total):
        drawn = pairs.words(step)
        chunks = max(-(-len(drawn[0]) // chunk_size(training.window)), 1)
        places = draw.random((chunks, NEGATIVES_IN_CHUNK)) * chances[-1]
        noise = np.searchsorted(chances, places, side="right")
        found = gradients(*tables, drawn, noise, training.window, training.negatives)
        rate = training.learning_rate * (1 - step / total)
        for table, square, rows in zip(tables, squares, found, strict=True):
            descend(table, square, *sum_rows(*rows), rate)
        if (step + 1) % pairs.steps_per_epoch == 0:
            echo(f"epoch {(step + 1) // pairs.steps_per_epoch} of {training.epochs}")
    return centres


def chunk_size(window):
    """C, the words of a chunk. It is at least twice the window."""
    return max(WORDS_IN_CHUNK, 2 * window)


def encode_corpus(texts, tokenizer):
    """Converts texts to ids of words that `tokenizer`, a `WordTokenizer`, knows.

    Returns ids, int32 (T,), from 0, and offsets, int64 (S + 1,). Text i has the ids
    from offsets[i] to offsets[i + 1]. Unknown words are removed.
    """
    lines = (line.encode("utf-8", "ignore") for line in corpus_lines(texts))
    ids, sizes = [np.zeros(0, np.int32)], [np.zeros(1, np.int64)]
    while batch := list(itertools.islice(lines, LINES_AT_ONCE)):
        found = tokenizer.ids(tokenizer(tf.constant(batch)))
        values = found.values.numpy() - len(tokenizer.specials)
        known = values >= 0
        before = np.concatenate([[0], np.cumsum(known)])
        ids.append(values[known])
        sizes.append(np.diff(before[found.row_splits.numpy()]))
    return np.concatenate(ids), np.cumsum(np.concatenate(sizes))


def gradients(centres, contexts, drawn, noise, window, negatives):
    """Gradients of the loss, summed over the pairs of a step.

    The words of a step are split into N chunks of C = `chunk_size(window)` words. A
    chunk is multiplied with itself and W neighbours on each side, and with its
    negatives.

    Args:
        centres, contexts: float32 (V, D), the vectors u and v.
        drawn: three int (M,), the words, their sentences and their windows, as
            `SkipGrams.words` returns them; M is at most N C.
        noise: int (N, K), the negatives of every chunk.
        window: int, W, the largest window.
        negatives: int, the number of negatives that a pair is weighted to.

    Returns:
        for each table, ids, int (R,), in which ids may repeat, and rows, float32
        (R, D).
    """
    number, width = len(noise), centres.shape[1]
    chunk = chunk_size(window)
    near = np.pad(drawn[0], (window, number * chunk - len(drawn[0]) + window))
    inside = near[window : window + number * chunk]
    u = centres[inside].reshape(number, chunk, width)
    v = _sliding(contexts[near], chunk, window).transpose(0, 2, 1)
    n = contexts[noise]
    pairs = _near_pairs(drawn[1], drawn[2], number, window)
    weights = pairs.sum(-1, dtype=np.float32) * np.float32(negatives / noise.shape[1])
    # Derivatives of the loss by the products x: s(x) - 1 for pairs, s(x) for negatives.
    slopes = (0.5 * np.tanh(0.5 * (u @ v.transpose(0, 2, 1))) - 0.5) * pairs
    noise_slopes = 0.5 * np.tanh(0.5 * (u @ n.transpose(0, 2, 1))) + 0.5
    noise_slopes *= weights[:, :, None]
    for_u = slopes @ v + noise_slopes @ n
    for_v = slopes.transpose(0, 2, 1) @ u
    for_n = noise_slopes.transpose(0, 2, 1) @ u
    # The last 2 W columns of a chunk are the first 2 W columns of the next chunk.
    joined = np.zeros((number + 1, chunk, width), np.float32)
    joined[:number] += for_v[:, :chunk]
    joined[1:, : 2 * window] += for_v[:, chunk:]
    for_v = joined.reshape(-1, width)[: len(near)]
    return (inside, for_u.reshape(-1, width)), (
        np.concatenate([near, noise.ravel()]),
        np.concatenate([for_v, for_n.reshape(-1, width)]),
    )


def _near_pairs(sentences, windows, number, window):
    """Which words of a chunk form pairs with which columns, bool (N, C, C + 2 W)."""
    chunk = chunk_size(window)
    after = number * chunk - len(sentences)
    sentences = np.pad(sentences, (window, after + window), constant_values=-1)
    seen = _sliding(sentences, chunk, window)
    centre_sentences = seen[:, window : window + chunk, None]
    distances = abs(np.arange(chunk + 2 * window) - window - np.arange(chunk)[:, None])
    near = distances <= np.pad(windows, (0, after)).reshape(number, chunk, 1)
    return near & (distances > 0) & (seen[:, None] == centre_sentences)


def _sliding(array, chunk, window):
    """Chunks with `window` neighbours on each side, a view (N, ..., C + 2 W)."""
    view = np.lib.stride_tricks.sliding_window_view
    return view(array, chunk + 2 * window, axis=0)[::chunk]


def sum_rows(ids, rows):
    """Sums the rows, float (R, D), of equal ids; returns every id once, and the sums.

    Rare words are summed together: all second occurrences, all third ones, and so on.
    Each frequent word is summed separately. `np.add.at` takes seven times as long.
    """
    order = np.argsort(ids, kind="stable")
    _, starts, counts = np.unique(ids[order], return_index=True, return_counts=True)
    by_count = np.argsort(-counts, kind="stable")
    starts, counts = starts[by_count], counts[by_count]
    sums = rows[order[starts]]
    heavy = np.searchsorted(-counts, -MAX_LIGHT_COUNT)
    for turn in range(1, MAX_LIGHT_COUNT):
        end = np.searchsorted(-counts, -turn)
        sums[heavy:end] += rows[order[starts[heavy:end] + turn]]
    for row in range(heavy):
        begin = starts[row]
        sums[row] = rows[order[begin : begin + counts[row]]].sum(axis=0)
    return ids[order[starts]], sums


def descend(table, squares, ids, gradient, rate):
    """Takes a step of Adagrad with one learning rate per row, in place."""
    squares[ids] += np.mean(np.square(gradient), axis=1)
    table[ids] -= (rate / np.sqrt(squares[ids]))[:, None] * gradient
