"""Simple predictors on data whose answer is known."""

import sys

import numpy as np
import pytest

from zoo.evaluation import (
    baselines,
    copied_texts,
    majority_label,
    mean_number,
    most_frequent_tags,
    nearest_targets,
    sample_rows,
    tfidf_choice,
    tfidf_label,
    tfidf_label_sets,
    tfidf_number,
)
from zoo.evaluation.text_features import OVERLAP_WEIGHT, SIDES, TextFeatures

TEXTS = ["good film !", "bad film", "good plot", "bad plot ?"] * 5
LABELS = ["yes", "no", "yes", "no"] * 5


def test_constants_and_tags():
    assert majority_label(["a"] * 3, ["y", "x", "y"], ["b", "c"]) == ["y", "y"]
    assert majority_label(["a", "b"], ["y", "x"], (["b"], ["c"])) == ["x"]
    assert mean_number(["a", "b"], [1.0, 2.0], ["c"]) == [1.5]
    words, tags = [["a", "b"], ["a", "c"], ["a"]], [["X", "Y"], ["Z", "Y"], ["X"]]
    found = most_frequent_tags(words, tags, [["a", "new"], [], ["c"]])
    assert found == [["X", "X"], [], ["Y"]]  # X and Y occur twice each


def test_tfidf_learns_words_and_pairs():
    pytest.importorskip("sklearn")
    assert tfidf_label(TEXTS, LABELS, ["bad", "good"]) == ["no", "yes"]
    numbers = [1.0 if label == "yes" else -1.0 for label in LABELS]
    low, high = tfidf_number(TEXTS, numbers, ["bad film", "good film"])
    assert low < -0.5 and high > 0.5
    # Whether both texts are equal, which no single text says.
    words = [f"word{i}" for i in range(40)]
    draw = np.random.default_rng(0)
    first = draw.choice(words, 800).tolist()
    second = [w if draw.random() < 0.5 else str(draw.choice(words)) for w in first]
    same = [str(a == b) for a, b in zip(first, second, strict=True)]
    train, test = (first[:600], second[:600]), (first[600:], second[600:])
    found = tfidf_label(train, same[:600], test)
    assert np.mean(np.array(found) == np.array(same[600:])) > 0.95


PARTS = slice(None, 200), slice(200, None)


def test_labels_and_numbers_of_pairs_follow_the_cosine():
    pytest.importorskip("sklearn")
    words, draw = [f"word{i}" for i in range(400)], np.random.default_rng(0)
    first = [draw.choice(words, 4) for _ in range(300)]
    shared = draw.integers(0, 5, 300)
    second = [
        [*row[:count], *draw.choice(words, 4 - count)]
        for row, count in zip(first, shared, strict=True)
    ]
    pairs = [[" ".join(row) for row in rows] for rows in (first, second)]
    train, test = ([column[part] for column in pairs] for part in PARTS)
    found = tfidf_number(tuple(train), shared[PARTS[0]].tolist(), tuple(test))
    assert np.corrcoef(found, shared[PARTS[1]])[0, 1] > 0.8
    labels = np.where(shared > 2, "many", "few")
    found = tfidf_label(tuple(train), labels[PARTS[0]].tolist(), tuple(test))
    assert np.mean(found == labels[PARTS[1]]) > 0.9  # 0.71 without the cosine


def test_features_of_pairs():
    pytest.importorskip("sklearn")
    pairs = ["red car", "a red car", "é !", ""], ["red bus", "a red car", "é", "x"]
    extract = TextFeatures(pairs, 1)
    found = {side: x.toarray() for side, x in extract(pairs).items()}
    a, b = (extract.words.transform(column).toarray() for column in pairs)
    width = a.shape[1]
    none, difference, both = (found[side] for side in SIDES)
    np.testing.assert_allclose(none[:, :width], abs(a - b))
    np.testing.assert_allclose(none[:, width : 2 * width], a * b)
    np.testing.assert_allclose(difference, np.hstack([none, a - b]))
    np.testing.assert_allclose(both, np.hstack([none, a, b]))
    cosines, _, first, second, union, *rest = extract._overlaps(pairs).T
    np.testing.assert_allclose(cosines, (a * b).sum(axis=1))
    np.testing.assert_allclose(first[1:3] + second[1:3], [2, 1 + first[2]])
    assert union[1] == 1 and 0 < first[0] < 1 and first[2] < second[2] == 1
    np.testing.assert_allclose(rest[0][1], 0, atol=1e-9)  # no word is in one text only
    np.testing.assert_allclose(none[:, 2 * width :].std(axis=0), OVERLAP_WEIGHT)
    np.testing.assert_allclose(rest[2], np.log([3, 4, 3, 1]))  # lengths
    single = TextFeatures(pairs[:1], 1)(pairs[:1])
    assert all(x.shape == single["none"].shape for x in single.values())


def test_cross_validation_chooses_the_sides_of_pairs():
    """Which text has the greater number is in their difference, the sum is in both."""
    pytest.importorskip("sklearn")
    a, b = np.random.default_rng(0).integers(0, 20, (2, 400))
    texts = [[f"word{i}" for i in column] for column in (a, b)]
    train, test = (tuple(column[part] for column in texts) for part in PARTS)
    answers = (a > b).astype(str), (a + b > 19).astype(str)
    for labels in answers:
        found = tfidf_label(train, labels[PARTS[0]].tolist(), test)
        assert np.mean(found == labels[PARTS[1]]) > 0.85
    rows = zip(*answers, strict=True)
    sets = [("more",) * (x == "True") + ("much",) * (y == "True") for x, y in rows]
    found = tfidf_label_sets(train, sets[PARTS[0]], test)
    assert np.mean([x == y for x, y in zip(found, sets[PARTS[1]], strict=True)]) > 0.8
    numbers = (a + b).astype(float)
    found = tfidf_number(train, numbers[PARTS[0]].tolist(), test)
    assert np.corrcoef(found, numbers[PARTS[1]])[0, 1] > 0.9


def test_targets_of_similar_texts():
    pytest.importorskip("sklearn")
    texts, targets = ["a good film", "a bad film", "so good"], ["x", "y", "z"]
    others = ["this bad film", "good good so", "new"]
    assert copied_texts(texts, targets, others) == others
    assert nearest_targets(texts, targets, others) == ["y", "z", "x"]
    assert nearest_targets(["", " "], ["y", "y"], ["new"]) == ["y"]


def test_hostile_texts_and_single_labels():
    pytest.importorskip("sklearn")
    assert tfidf_label(["", " "], ["x", "y"], ["new"]) == ["x"]
    assert tfidf_number(["", " "], [1.0, 2.0], ["new"]) == [1.5]
    assert tfidf_label(["a", "b"], ["x", "x"], ["", "🎬"]) == ["x", "x"]
    assert tfidf_label(["🎬", "?"], ["x", "y"], ["🎬", "?"]) == ["x", "y"]
    # Pairs whose texts have nothing in common, then equal ones.
    train, new = (["a", "b"] * 10, [""] * 20), (["a", "b", ""], ["a", "b", ""])
    assert tfidf_label(train, ["x", "y"] * 10, train) == ["x", "y"] * 10
    assert np.abs(tfidf_number(train, [0.0, 1.0] * 10, new)).max() < 2
    assert tfidf_label((["a"], ["b"]), ["x"], (["c"], ["d"])) == ["x"]
    assert tfidf_number((["a"], ["b"]), [2.0], (["a"], ["b"])) == [2.0]


def test_tfidf_chooses_what_looks_right():
    pytest.importorskip("sklearn")
    texts = ["a", "b"] * 10, ["good film", "a plot"] * 10, ["bad", "good"] * 10
    labels = ["0", "1"] * 10
    others = ["c", "a"], ["bad", "good"], ["good", "film bad"]
    assert tfidf_choice(texts, labels, others) == ["1", "0"]
    empty = [""] * 2, [" "] * 2, [""] * 2
    assert tfidf_choice(empty, ["1", "1"], empty) == ["1", "1"]


def test_large_files_are_sampled(monkeypatch):
    assert sample_rows(["a"] * 5) == [0, 1, 2, 3, 4]
    monkeypatch.setattr(baselines, "MAX_ROWS", 10)
    rows = sample_rows((["a"] * 100, ["b"] * 100))
    assert len(rows) == 10 and rows == sorted(set(rows)) and rows[-1] > 20
    assert sample_rows(["a"] * 100, seed=1) != rows
    monkeypatch.setattr(baselines, "MAX_CHARACTERS", 25)
    assert len(sample_rows((["a" * 4] * 100, ["b"] * 100))) == 5
    assert len(sample_rows([["word", "s"]] * 100)) == 5
    assert len(sample_rows(["long" * 100])) == 1


def test_missing_scikit_learn_says_the_way_out(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    for predict, labels in ((tfidf_label, LABELS), (tfidf_number, [1.0] * 20)):
        with pytest.raises(ImportError, match=r"needs scikit-learn. Run `pip install"):
            predict(TEXTS, labels, ["a"])
    with pytest.raises(ImportError, match="needs scikit-learn"):
        tfidf_choice((["a"], ["b"], ["c"]), ["0"], (["a"], ["b"], ["c"]))
