"""Skip-gram: its gradients pair by pair, its sums, and what it learns."""

import itertools
import random

import numpy as np
import pytest

import zoo
from zoo.checkpoint import read_vectors, write_vectors
from zoo.data import SkipGrams
from zoo.programs.vectors.word_vectors import (
    chunk_size,
    encode_corpus,
    gradients,
    sum_rows,
)
from zoo.text import WordTokenizer

CLASSES = [["cat", "dog", "cow"], ["red", "blue", "green"], ["one", "two", "three"]]
FRAMES = ["the {} sleeps here", "a {} coat hangs there", "{} times it rang"]


def corpus(number=1500, seed=0):
    """Sentences in which the words of a class stand in the same frame."""
    draw = random.Random(seed)
    kinds = [draw.randrange(3) for _ in range(number)]
    return [FRAMES[kind].format(draw.choice(CLASSES[kind])) for kind in kinds]


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def reference(centres, contexts, drawn, others, negatives, chunk):
    """Gradients of both tables, pair by pair, in float64."""
    centres, contexts = centres.astype("float64"), contexts.astype("float64")
    for_centres, for_contexts = np.zeros_like(centres), np.zeros_like(contexts)

    def add(u, v, label, weight):
        slope = weight * (sigmoid(centres[u] @ contexts[v]) - label)
        for_centres[u] += slope * contexts[v]
        for_contexts[v] += slope * centres[u]

    words, sentences, windows = drawn
    for i, j in itertools.permutations(range(len(words)), 2):
        if sentences[i] == sentences[j] and abs(i - j) <= windows[i]:
            add(words[i], words[j], 1, 1.0)
            for other in others[i // chunk]:
                add(words[i], other, 0, negatives / len(others[0]))
    return for_centres, for_contexts


# The last chunk of 100 words is shorter than the other one.
@pytest.mark.parametrize(
    "window, size", [(1, 128), (5, 128), (40, 160), (3, 1), (2, 0), (2, 100)]
)
def test_gradients_are_those_of_all_pairs(window, size):
    draw = np.random.default_rng(0)
    tables = draw.normal(size=(2, 30, 6)).astype("float32")
    sentences = np.sort(draw.integers(0, 5, size))
    drawn = draw.integers(0, 30, size), sentences, draw.integers(1, window + 1, size)
    chunk = chunk_size(window)
    others = draw.integers(0, 30, (max(-(-size // chunk), 1), 8))
    found = gradients(*tables, drawn, others, window, 5)
    expected = reference(*tables, drawn, others, 5, chunk)
    for (ids, rows), wanted in zip(found, expected, strict=True):
        dense = np.zeros((30, 6))
        np.add.at(dense, ids, rows)
        np.testing.assert_allclose(dense, wanted, atol=1e-3)
        assert rows.dtype == np.float32


@pytest.mark.parametrize("counts", [range(1, 40), [500, 16, 1], [1] * 50, [30], [1]])
def test_rows_of_equal_ids_are_summed(counts):
    draw = np.random.default_rng(0)
    ids = draw.permutation(np.repeat(np.arange(len(counts)), counts))
    rows = draw.normal(size=(len(ids), 3))
    found, sums = sum_rows(ids, rows)
    dense, expected = np.zeros((2, len(counts), 3))
    dense[found] = sums
    np.add.at(expected, ids, rows)
    assert sorted(found) == sorted(set(ids))
    np.testing.assert_allclose(dense, expected, atol=1e-9)


def test_the_corpus_as_ids(tmp_path):
    (tmp_path / "a.txt").write_text("a b\n\nz a A\n", "utf-8")
    texts = ["b b", "", tmp_path / "a.txt", b"z <S> b"]
    ids, offsets = encode_corpus(texts, WordTokenizer(["a", "b"]))
    assert offsets.tolist() == [0, 2, 2, 4, 4, 6, 7]
    assert ids.tolist() == [1, 1, 0, 1, 0, 0, 1]
    ids, offsets = encode_corpus([], WordTokenizer(["a"]))
    assert ids.shape == (0,) and offsets.tolist() == [0]


OPTIONS = {"embedding_dim": 16, "epochs": 12, "threshold": None, "window": 2}


def test_words_of_the_same_surroundings_end_up_nearest():
    words, vectors = zoo.train_word_vectors(corpus(), words_per_step=300, **OPTIONS)
    assert vectors.shape == (len(words), 16) and vectors.dtype == np.float32
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    near = np.argsort(-(unit @ unit.T), axis=1)[:, 1:3]
    for kind in CLASSES:
        for word in kind:
            found = {words[i] for i in near[words.index(word)]}
            assert found == {*kind} - {word}


def test_the_same_seed_gives_the_same_bits(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("\n".join(corpus(200)), "utf-8")
    told = []
    options = {"embedding_dim": 8, "epochs": 2, "words_per_step": 100}
    words, vectors = zoo.train_word_vectors(iter(corpus(200)), told.append, **options)
    assert told == ["epoch 1 of 2", "epoch 2 of 2"]
    again = zoo.train_word_vectors([path], **options)
    assert again[0] == words
    np.testing.assert_array_equal(again[1], vectors)
    other = zoo.train_word_vectors([path], seed=1, **options)[1]
    assert (other != vectors).any()
    write_vectors(tmp_path / "v.txt", words, vectors)
    stored = read_vectors(tmp_path / "v.txt")
    assert stored[0] == words
    np.testing.assert_array_equal(stored[1], vectors)


def test_every_step_of_every_epoch_is_taken(monkeypatch):
    steps, words = [], SkipGrams.words
    monkeypatch.setattr(
        SkipGrams, "words", lambda self, step: steps.append(step) or words(self, step)
    )
    texts = ["a b a b a b a b a b"] * 3
    zoo.train_word_vectors(texts, embedding_dim=2, epochs=3, words_per_step=8)
    assert steps == list(range(3 * 4))


def test_words_are_counted_as_asked():
    texts = ["A a 12 34 b"] * 3
    options = {"embedding_dim": 2, "epochs": 1}
    assert zoo.train_word_vectors(texts, minimum=3, **options)[0] == [
        *("12", "34", "A", "a", "b")
    ]
    words, vectors = zoo.train_word_vectors(
        texts, minimum=4, lowercase=True, digits_to_zero=True, **options
    )
    assert words == ["00", "a"] and np.isfinite(vectors).all()
    assert zoo.train_word_vectors(texts, minimum=1, limit=1, **options)[0] == ["12"]


def test_all_words_dropped_from_a_step():
    words, vectors = zoo.train_word_vectors(
        ["a " * 50], embedding_dim=2, threshold=1e-12, words_per_step=10
    )
    assert words == ["a"] and np.isfinite(vectors).all()


@pytest.mark.parametrize(
    "texts, options, error, message",
    [
        (["a b"], {}, ValueError, "at least 5 times. Received: texts without"),
        ([], {}, ValueError, "at least 5 times"),
        ("a a a a a", {}, TypeError, "must be an iterable of texts"),
        (["a"], {"epochs": 0}, ValueError, "`epochs` must be an integer from 1"),
        (["a"], {"embedding_dim": 0}, ValueError, "`embedding_dim` must be"),
        (["a"], {"minimum": 0}, ValueError, "`minimum` must be"),
        (["a"], {"minimum": 1, "window": 0}, ValueError, "`window` must be an integer"),
        (["a"], {"width": 0}, TypeError, "width"),
    ],
)
def test_impossible_trainings_are_refused(texts, options, error, message):
    with pytest.raises(error, match=message):
        zoo.train_word_vectors(texts, **options)
