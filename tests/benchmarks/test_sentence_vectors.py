"""The table of the similarity of sentences: vectors and scores."""

import collections

import numpy as np
import pytest
from tiny_inputs import make_bert, write

from benchmarks.tables import sentence_vectors as vectors

TABLE = {"a": np.array([1.0, 0.0]), "b": np.array([0.0, 1.0])}


def test_words():
    found = vectors.split_words("A man's dog, running.")
    assert found == ["a", "man", "'s", "dog", ",", "running", "."]


def test_the_mean_of_known_words():
    found = vectors.mean_vectors(["A b unknown", "b", ""], TABLE)
    np.testing.assert_allclose(found, [[0.5, 0.5], [0, 1], [0, 0]])


def test_frequent_words_count_less(monkeypatch):
    monkeypatch.setattr(vectors, "SIF", 0.25)
    weights = collections.Counter(a=3, b=1)
    # The weight of a is 0.25 / (0.25 + 0.75), that of b is 0.25 / (0.25 + 0.25).
    rows = np.array([[0.125, 0.25], [0.25, 0.0], [0.0, 0.5]])
    found = vectors.mean_vectors(["a b", "a", "b"], TABLE, weights)
    first = np.linalg.svd(rows)[2][0]
    np.testing.assert_allclose(found, rows - np.outer(rows @ first, first), atol=1e-9)
    assert np.linalg.matrix_rank(found, tol=1e-6) == 1


def test_cosines():
    a, b = np.array([[2.0, 0], [1, 1], [0, 0]]), np.array([[3.0, 0], [1, -1], [1, 0]])
    np.testing.assert_allclose(vectors.cosines(a, b), [1, 0, 0])


def test_a_measure():
    pairs = [str(n) for n in range(20)], ["0"] * 20
    angles = {str(n): n / 20 for n in range(20)}

    def embed(texts):
        return [[np.cos(angles[text]), np.sin(angles[text])] for text in texts]

    found = vectors.measure(embed, pairs, [5 - n / 4 for n in range(20)])
    assert found["dim"] == 2 and found["score"] == pytest.approx(1)
    found = vectors.measure(embed, pairs, [(7 * n % 20) / 4 for n in range(20)])
    low, high = found["interval"]
    assert -1 <= low < found["score"] < high <= 1


@pytest.mark.slow
def test_presets_and_word_vectors(tmp_path, make_run):
    make_bert().save_to_preset(tmp_path / "bert-tiny")
    lines = [f"good film {'good ' * n}\tbad film\t{n / 2}" for n in range(8)]
    head = "sentence1\tsentence2\tscore"
    write(tmp_path / "glue/STS-B/dev.tsv.gz", [head, *lines])
    write(tmp_path / "wikitext2/wiki.train.tokens.gz", ["the film is a film", "good"])
    (tmp_path / "glove.txt").write_text("good 1 0 1\nbad 0 1 2\nfilm 1 1 0\n")
    given = {"given": [str(tmp_path / "bert-tiny")], "vectors": tmp_path / "glove.txt"}
    run = make_run(vectors, **given)
    for name in ("glove_mean", "glove_sif", "bert-tiny"):
        run.result(f"stsb-{name}", (name,))
    text = vectors.table(run)
    assert "| `glove_sif` | 3 | " in text and "| `bert-tiny` | 16 | " in text
