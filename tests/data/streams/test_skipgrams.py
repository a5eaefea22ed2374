"""Pairs of neighbouring words against loops over sentences."""

import collections

import numpy as np
import pytest

from zoo.data import SkipGrams

SENTENCES = [[5, 6, 7, 5, 8], [8], [], [9, 1], [1, 2, 3, 4, 1, 2], [5]] * 3 + [[]]
IDS = np.array([word for words in SENTENCES for word in words], "uint16")
OFFSETS = np.cumsum([0, *map(len, SENTENCES)])


def loop(words, sentences, windows):
    """All pairs of a step, one by one."""
    for i, (word, window) in enumerate(zip(words, windows, strict=True)):
        for j in range(max(i - window, 0), min(i + window + 1, len(words))):
            if i != j and sentences[i] == sentences[j]:
                yield int(word), int(words[j])


@pytest.mark.parametrize("window, words_per_step", [(1, 100), (3, 7), (9, 1), (2, 20)])
@pytest.mark.parametrize("threshold", [None, 0.05])
def test_pairs_are_those_of_a_loop(window, words_per_step, threshold):
    grams = SkipGrams(IDS, OFFSETS, window, threshold, words_per_step)
    assert grams.steps_per_epoch == -(-len(IDS) // words_per_step)
    for step in range(2 * grams.steps_per_epoch):
        batch = grams.batch(step)
        found = zip(*(part.tolist() for part in batch.values()), strict=True)
        expected = collections.Counter(loop(*grams.words(step)))
        assert collections.Counter(found) == expected
        assert all(part.dtype == np.int32 for part in batch.values())


@pytest.mark.parametrize("words_per_step", [1, 4, 1000])
def test_an_epoch_is_the_sentences_in_another_order(words_per_step):
    grams = SkipGrams(IDS, OFFSETS, 3, None, words_per_step, seed=3)
    orders = []
    for epoch in range(2):
        steps = np.arange(grams.steps_per_epoch) + epoch * grams.steps_per_epoch
        parts = zip(*(grams.words(int(step)) for step in steps), strict=True)
        words, sentences, windows = map(np.concatenate, parts)
        found = [words[sentences == n].tolist() for n in np.unique(sentences)]
        assert sorted(found) == sorted(filter(None, SENTENCES))
        assert set(windows.tolist()) == {1, 2, 3} and (np.diff(sentences) >= 0).all()
        orders.append(found)
    assert orders[0] != orders[1]


def test_steps_are_a_function_of_the_seed_and_their_number():
    first, again = (SkipGrams(IDS, OFFSETS, 3, 0.05, 7, seed=4) for _ in range(2))
    steps = [7, 0, 5, 12, 7]
    for step in steps:
        np.testing.assert_equal(first.words(step), again.words(step))
    other = SkipGrams(IDS, OFFSETS, 3, 0.05, 7, seed=5)
    assert any(other.words(s)[0].tolist() != first.words(s)[0].tolist() for s in steps)


def test_frequent_words_are_subsampled_and_windows_are_uniform():
    draw = np.random.default_rng(0)
    ids = draw.permutation(np.repeat([0, 1, 2], [90_000, 9_000, 1_000]))
    offsets = np.arange(0, len(ids) + 1, 100)
    grams = SkipGrams(ids, offsets, 4, 0.04, 50_000)
    parts = zip(grams.words(0), grams.words(1), strict=True)
    words, _, windows = map(np.concatenate, parts)
    shares = np.bincount(words) / [90_000, 9_000, 1_000]
    np.testing.assert_allclose(shares, [(0.04 / 0.9) ** 0.5, (4 / 9) ** 0.5, 1], 0.03)
    np.testing.assert_allclose(np.bincount(windows)[1:] / len(words), 0.25, 0.03)


def test_a_part_of_a_corpus():
    """Words before the first offset are ignored."""
    grams = SkipGrams(IDS, OFFSETS[4:7], threshold=None)
    words = sorted(grams.words(0)[0].tolist())
    assert words == sorted([*SENTENCES[4], *SENTENCES[5]])
    assert grams.counts.sum() == len(words)


def test_a_step_without_pairs():
    grams = SkipGrams(np.array([3, 4]), np.array([0, 1, 2]), threshold=None)
    assert [len(part) for part in grams.batch(0).values()] == [0, 0]
    none = SkipGrams(np.zeros(50, int), np.array([0, 50]), threshold=1e-12)
    assert [len(part) for part in none.batch(0).values()] == [0, 0]
