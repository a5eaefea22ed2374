"""Metrics against values that were worked out by hand."""

import sys

import numpy as np
import pytest
from scipy import stats

from zoo.evaluation import (
    accuracy,
    bootstrap_interval,
    confusion_matrix,
    evaluate_glue,
    glue_metrics,
    paired_bootstrap,
    proportion_interval,
)

# 3 true positives, 1 false positive, 2 false negatives, 2 true negatives.
REFERENCES = [1, 1, 1, 0, 1, 1, 0, 0]
PREDICTIONS = [1, 1, 1, 1, 0, 0, 0, 0]
MATTHEWS = (3 * 2 - 1 * 2) / (4 * 5 * 3 * 4) ** 0.5


def test_binary_tasks():
    both = {"accuracy": 5 / 8, "f1": 2 * 3 / (2 * 3 + 1 + 2)}
    assert evaluate_glue("mrpc", REFERENCES, PREDICTIONS) == pytest.approx(both)
    assert evaluate_glue("qqp", REFERENCES, PREDICTIONS) == pytest.approx(both)
    for task in ("sst2", "wnli"):
        assert evaluate_glue(task, REFERENCES, PREDICTIONS) == {"accuracy": 5 / 8}
    found = evaluate_glue("cola", REFERENCES, PREDICTIONS)
    assert found == {"matthews": pytest.approx(MATTHEWS)}
    # F1 is of class 1. As a class 0: 2 true, 2 wrongly given, 1 missed.
    swapped = [1 - x for x in REFERENCES], [1 - x for x in PREDICTIONS]
    assert evaluate_glue("mrpc", *swapped)["f1"] == pytest.approx(4 / 7)
    # Answers of a classifier are accepted.
    answers = np.array([str(x).encode() for x in PREDICTIONS], "object")
    expected = evaluate_glue("mrpc", REFERENCES, PREDICTIONS)
    assert evaluate_glue("mrpc", REFERENCES, answers) == expected
    assert evaluate_glue("mrpc", np.array(REFERENCES, bool), answers) == expected


def test_inference_tasks():
    yes, no = "entailment", "not_entailment"
    for task in ("rte", "qnli"):
        scores = evaluate_glue(task, [yes, yes, no, no], [yes, no, no, no])
        assert scores == {"accuracy": 0.75}
    labels = ["contradiction", "entailment", "neutral"]
    references = [labels[i] for i in (0, 0, 1, 1, 2, 2)]
    predictions = [labels[i] for i in (0, 1, 1, 1, 2, 0)]
    assert evaluate_glue("mnli", references, predictions) == {"accuracy": 4 / 6}
    # Gorodkin's R3: (c s - sum p t) / sqrt((s^2 - sum p^2)(s^2 - sum t^2)).
    r3 = (4 * 6 - (2 * 2 + 3 * 2 + 1 * 2)) / ((36 - 14) * (36 - 12)) ** 0.5
    found = evaluate_glue("ax", references, predictions)
    assert found == {"matthews": pytest.approx(r3)}


def test_correlations():
    # Deviations (-2, -1, 0, 1, 2) and (-2, 0, -1, 0, 3) from the means.
    references, predictions = [1, 2, 3, 4, 5], [0.0, 2.0, 1.0, 2.0, 5.0]
    pearson = (4 + 0 + 0 + 0 + 6) / (10 * 14) ** 0.5
    # Ranks 1 to 5 and 1, 3.5, 2, 3.5, 5: deviations (-2, .5, -1, .5, 2).
    spearman = (4 - 0.5 + 0 + 0.5 + 4) / (10 * 9.5) ** 0.5
    found = evaluate_glue("stsb", references, predictions)
    assert found == pytest.approx({"pearson": pearson, "spearman": spearman})


@pytest.mark.filterwarnings("error")
def test_constant_predictions_have_correlation_zero():
    assert evaluate_glue("cola", REFERENCES, [1] * 8) == {"matthews": 0.0}
    found = evaluate_glue("stsb", [1.0, 2.0], [3.0, 3.0])
    assert found == {"pearson": 0.0, "spearman": 0.0}
    assert evaluate_glue("stsb", [2.0], [3.0])["pearson"] == 0.0
    assert evaluate_glue("mrpc", [1, 0], [0, 0]) == {"accuracy": 0.5, "f1": 0.0}
    assert evaluate_glue("mrpc", [0, 0], [0, 0]) == {"accuracy": 1.0, "f1": 0.0}


@pytest.mark.parametrize(
    "task, references, predictions, message",
    [
        ("cola", [1, 0], [1, 2], r"cola must be among \(0, 1\). Received: \[2\]"),
        ("rte", [1, 0], [1, 0], r"rte must be among .*Received: \[0, 1\]. Convert"),
        ("mnli", ["neutral"], ["other"], r"Received: \['other'\]"),
        ("stsb", [1.0], [np.nan], r"stsb must be finite numbers. Received: \[nan\]"),
        ("stsb", [1.0], ["close"], r"finite numbers. Received: \['close'\]"),
        ("sst2", [1], [1, 0], r"the same length, .* Received: shapes \(1,\)"),
        ("sst2", [], [], "must not be empty"),
        ("sst2", [[1]], [[1]], "must have one axis"),
        ("sst", [1], [1], "`task` must be one of .* Received: 'sst'"),
    ],
)
def test_what_the_task_does_not_know_is_refused(task, references, predictions, message):
    with pytest.raises(ValueError, match=message):
        evaluate_glue(task, references, predictions)


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.metrics", None)
    message = r"needs scikit-learn. Run `pip install scikit-learn`, or in a checkout"
    with pytest.raises(ImportError, match=message):
        glue_metrics("cola")["matthews"]([0, 1], [0, 1])
    assert glue_metrics("sst2")["accuracy"]([0, 1], [0, 1]) == 1.0


def test_accuracy_does_not_compare_names_with_numbers():
    assert accuracy(["a", "b", "b"], [b"a", b"b", b"a"]) == pytest.approx(2 / 3)
    with pytest.raises(TypeError, match="must both be names or both numbers. Received"):
        accuracy(["0", "1"], [0, 1])


def test_confusion_matrix_has_references_in_rows():
    matrix = confusion_matrix(["a", "a", "b"], ["a", "b", "b"], ["b", "a", "c"])
    np.testing.assert_array_equal(matrix, [[1, 0, 0], [1, 1, 0], [0, 0, 0]])
    assert matrix.dtype == np.int64
    message = "must contain every label once. Received: l"
    for labels in (["a"], ["a", "b", "b"]):
        with pytest.raises(ValueError, match=message):
            confusion_matrix(["a", "a", "b"], ["a", "b", "b"], labels)


def test_bootstrap_is_that_of_drawn_examples():
    draw = np.random.default_rng(0)
    a, b = draw.random(200) < 0.8, draw.random(200) < 0.7
    mean, low, high = paired_bootstrap(a, b, seed=1)
    assert mean == pytest.approx(np.mean(a) - np.mean(b))
    rows = draw.integers(0, 200, (10000, 200))
    differences = np.mean(a[rows], axis=1) - np.mean(b[rows], axis=1)
    expected = np.percentile(differences, [2.5, 97.5])
    assert (low, high) == pytest.approx(tuple(expected), abs=0.006)
    assert low < mean < high
    assert paired_bootstrap(a, b, seed=1) == (mean, low, high)
    assert paired_bootstrap(b, a, seed=1)[0] == -mean


def test_bootstrap_sees_pairs_and_refuses_what_it_cannot_resample():
    a = np.array([1, 0] * 50)
    assert paired_bootstrap(a, a, seed=0) == (0.0, 0.0, 0.0)
    mean, low, high = paired_bootstrap(a, 1 - a, seed=0)
    assert mean == 0.0 and low == pytest.approx(-0.2, abs=0.03) and high > 0.15
    for a, b, samples, message in (
        ([1], [1, 0], 10, r"the same length.*\(1,\) and \(2,\)"),
        ([], [], 10, r"must not be empty.*\(0,\) and \(0,\)"),
        ([1], [1], 0, "`samples` must be an integer from 1 .* Received: 0"),
    ):
        with pytest.raises(ValueError, match=message):
            paired_bootstrap(a, b, seed=0, samples=samples)


def test_bootstrap_of_any_statistic_agrees_with_that_of_means():
    draw = np.random.default_rng(0)
    a, b = draw.random(200) < 0.8, draw.random(200) < 0.7

    def better(rows):
        return a[rows].mean() - b[rows].mean()

    found = bootstrap_interval(better, 200, seed=1)
    assert found == pytest.approx(paired_bootstrap(a, b, seed=1)[1:], abs=0.015)
    assert found == bootstrap_interval(better, 200, seed=1)
    for name, size, samples in (("size", 0, 10), ("samples", 3, 0)):
        with pytest.raises(ValueError, match=f"`{name}` must be .* from 1 .*: 0"):
            bootstrap_interval(better, size, seed=0, samples=samples)


def test_intervals_of_proportions_are_those_of_scipy():
    for right, count in ((0, 1), (1, 1), (3, 7), (61, 61), (0, 61), (60, 61), (9, 999)):
        ci = stats.binomtest(right, count).proportion_ci(method="wilson")
        marks = np.arange(count) < right
        assert proportion_interval(marks) == pytest.approx((ci.low, ci.high), abs=1e-12)
    assert proportion_interval([True] * 61) == pytest.approx((0.941, 1.0), abs=5e-4)
    assert proportion_interval([0, 0], [0, 0]) == (0.0, 1.0)


def test_words_of_a_sentence_are_not_independent():
    draw = np.random.default_rng(0)
    right = draw.random(200) < 0.8
    alone = proportion_interval(right)
    # All words of a sentence are right, or none: there are as many facts as sentences.
    assert proportion_interval(10 * right, [10] * 200) == pytest.approx(alone)
    words = draw.binomial(10, 0.8, 200)  # independent words
    low, high = proportion_interval(words, [10] * 200)
    ci = stats.binomtest(int(words.sum()), 2000).proportion_ci(method="wilson")
    assert (low, high) == pytest.approx((ci.low, ci.high), abs=0.005)
    mixed = np.where(right, 10, words // 2)  # something between
    found = proportion_interval(mixed, [10] * 200)
    bootstrap = bootstrap_interval(lambda rows: mixed[rows].mean() / 10, 200, seed=0)
    assert found == pytest.approx(bootstrap, abs=0.005)
