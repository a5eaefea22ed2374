"""Scores of sets of labels are those of scikit-learn, also on resampled rows."""

import numpy as np
import pytest

from zoo.evaluation import (
    assess_label_sets,
    best_thresholds,
    frequent_label_set,
    label_matrix,
    tfidf_label_sets,
)

LABELS = [*"abcde"]


def draw(rows, seed=0):
    """True labels and scores with ties; the last label never occurs."""
    generator = np.random.default_rng(seed)
    true = generator.random((rows, 5)) < 0.3
    true[:, 4] = False
    return true, np.round(generator.random((rows, 5)), 1)


def names_of(rows):
    return [
        [n for n, chosen in zip(LABELS, row, strict=True) if chosen] for row in rows
    ]


@pytest.mark.filterwarnings("ignore:No positive class")
@pytest.mark.parametrize("rows", [1, 7, 200])
def test_scores_are_those_of_scikit_learn(rows):
    metrics = pytest.importorskip("sklearn.metrics")
    true, scores = draw(rows)
    found = scores > 0.5
    assessed = assess_label_sets(names_of(true), names_of(found), LABELS, scores)
    drawn = np.random.default_rng(1).integers(0, rows, rows)
    for chosen in (np.arange(rows), drawn):
        t, f, s = true[chosen], found[chosen], scores[chosen]
        wanted = {
            "micro_f1": metrics.f1_score(t, f, average="micro", zero_division=0),
            "macro_f1": metrics.f1_score(t, f, average="macro", zero_division=0),
            "subset_accuracy": metrics.accuracy_score(t, f),
            "hamming_loss": metrics.hamming_loss(t, f),
            "average_precision": metrics.average_precision_score(t, s),
        }
        values = {n: float(score(chosen)) for n, score in assessed.statistics.items()}
        assert values == pytest.approx(wanted, abs=1e-12)
    table = assessed.tables["Scores of each label"]
    assert [row["support"] for row in table] == true.sum(0).tolist()


def test_errors_are_the_distances_of_wrong_decisions():
    found = assess_label_sets([["a"], []], [["b"], []], "ab", [[0.2, 0.9], [0.1, 0.4]])
    np.testing.assert_allclose(found.errors, [0.8 + 0.9, 0.0])
    assert found.scores()["subset_accuracy"]["value"] == 0.5


@pytest.mark.parametrize(
    "arguments, message",
    [
        (([], [], "ab"), "must not be empty. Received: 0 and 0 rows"),
        (([["a"]], [], "ab"), "must have the same length.* Received: 1 and 0 rows"),
        (([["c"]], [["a"]], "ab"), "must contain every label. Received: 'c' in row 0"),
    ],
)
def test_wrong_sets(arguments, message):
    with pytest.raises(ValueError, match=message):
        assess_label_sets(*arguments)


@pytest.mark.parametrize("rows", [1, 5, 100])
def test_the_best_thresholds_have_the_highest_f1(rows):
    metrics = pytest.importorskip("sklearn.metrics")
    true, scores = draw(rows, seed=2)

    def f1(threshold, column=slice(None)):
        found = scores[:, column] >= threshold
        return metrics.f1_score(true[:, column].ravel(), found.ravel(), zero_division=0)

    best = max(map(f1, [*scores.ravel(), 0.5]))
    assert f1(best_thresholds(true, scores)) == best
    for label, threshold in enumerate(best_thresholds(true, scores, per_label=True)):
        best = max(f1(value, label) for value in scores[:, label])
        assert f1(threshold, label) == best and 0 <= threshold <= 1
    assert best_thresholds([[True, False]], [[0.9, 0.1]]) == 0.5


def test_baselines_predict_sets():
    texts = ["red car", "red bus", "blue car", "blue bus", "green tree", "a car"] * 5
    sets = [("r", "c"), ("r",), ("c",), (), (), ("c",)] * 5
    assert frequent_label_set(texts, sets[1:], ["x"]) == [()]
    found = tfidf_label_sets(texts, sets, ["red car", "blue tree", "a red bus"])
    assert [{*row} for row in found] == [{"r", "c"}, set(), {"r"}]
    assert tfidf_label_sets(["a", "b"], [("x",), ("x",)], ["c"]) == [("x",)]
    assert tfidf_label_sets(["a", "b"], [(), ()], ["c"]) == [()]
    labels = ("never", "r", "c")
    for predict in (frequent_label_set, tfidf_label_sets):
        found, scores = predict(texts, sets, texts, labels)
        assert found == predict(texts, sets, texts)
        assessed = assess_label_sets(sets, found, labels, scores)
        precision = assessed.values()["average_precision"]
        # Equal scores have the share of the texts as precision, 2/6 and 3/6.
        share = (2 / 6 + 3 / 6) / 3
        wanted = share if predict is frequent_label_set else 2 / 3
        assert precision == pytest.approx(wanted) and not scores[:, 0].any()
    assert tfidf_label_sets(["", " "], [("c",), ()], ["c"], labels)[1].tolist() == [
        [0, 0, 0.5]
    ]
    assert label_matrix([("r",), ()], ["c", "r"]).tolist() == [[0, 1], [0, 0]]
