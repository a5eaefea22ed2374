"""Assessments of predictions, next to scikit-learn, SciPy and seqeval-like counts."""

import numpy as np
import pytest

from zoo.evaluation import (
    assess_answers,
    assess_classes,
    assess_numbers,
    assess_tags,
    assess_texts,
    assess_trees,
    proportion_interval,
    span_scores,
)

LABELS = ["a", "b", "c", "never"]


@pytest.fixture
def classes():
    draw = np.random.default_rng(0)
    true = draw.choice(LABELS[:3], 200, p=[0.7, 0.2, 0.1]).tolist()
    found = [t if draw.random() < 0.7 else draw.choice(LABELS[:3]) for t in true]
    return true, list(map(str, found)), draw.uniform(0.3, 1, 200)


def test_classes_agree_with_scikit_learn(classes):
    metrics = pytest.importorskip("sklearn.metrics")
    true, found, confidence = classes
    one = assess_classes(true, found, LABELS, confidence)
    assert one.values() == {
        "accuracy": pytest.approx(metrics.accuracy_score(true, found)),
        "macro_f1": pytest.approx(metrics.f1_score(true, found, average="macro")),
    }
    options = {"labels": LABELS, "zero_division": 0.0}
    columns = metrics.precision_recall_fscore_support(true, found, **options)
    table = one.tables["Scores of each label"]
    assert [row["label"] for row in table] == LABELS
    names = ("precision", "recall", "f1", "support")
    for name, column in zip(names, columns, strict=True):
        assert [row[name] for row in table] == pytest.approx(column.tolist())
    matrix = metrics.confusion_matrix(true, found, labels=LABELS)
    assert (one.confusion[1] == matrix).all()
    # The worst rows are the most confident wrong ones.
    wrong = [row for row in range(200) if true[row] != found[row]]
    wrong.sort(key=lambda row: -confidence[row])
    assert one.worst(20) == wrong[:20] and one.worst(500) == wrong
    assert assess_classes(["a"], ["a"], ["a"]).worst(20) == []


def test_intervals_hold_the_score_and_differences_are_paired(classes):
    true, found, _ = classes
    one = assess_classes(true, found, LABELS)
    for score in one.scores().values():
        assert score["low"] < score["value"] < score["high"]
    accuracy = one.scores()["accuracy"]
    share = accuracy["value"]
    width = 1.96 * np.sqrt(share * (1 - share) / 200)  # the normal approximation
    assert accuracy["low"] == pytest.approx(share - width, abs=0.02)
    assert accuracy["high"] == pytest.approx(share + width, abs=0.02)
    zero = one.differences(assess_classes(true, found, LABELS))
    assert zero["accuracy"] == {"value": 0.0, "low": 0.0, "high": 0.0}
    majority = assess_classes(true, ["a"] * 200, LABELS)
    more = one.differences(majority)["macro_f1"]["value"]
    own, other = (scores.values()["macro_f1"] for scores in (one, majority))
    assert more == pytest.approx(own - other)
    single = assess_classes(["x", "x"], ["x", "x"], ["x"])
    assert single.values() == {"accuracy": 1.0, "macro_f1": 1.0}
    with pytest.raises(ValueError, match="of the same rows. Received: 200 and 2 rows"):
        one.differences(single)


def test_numbers_agree_with_scipy():
    stats = pytest.importorskip("scipy.stats")
    draw = np.random.default_rng(0)
    true = draw.integers(0, 6, 300).astype(float)  # with ties
    found = np.round(true + draw.normal(0, 2, 300), 1)
    one = assess_numbers(true.tolist(), found.tolist())
    assert one.values() == {
        "pearson": pytest.approx(stats.pearsonr(true, found).statistic),
        "spearman": pytest.approx(stats.spearmanr(true, found).statistic),
        "mean_absolute_error": pytest.approx(np.abs(true - found).mean()),
    }
    assert one.worst(1) == [int(np.abs(true - found).argmax())]
    constant = assess_numbers([1.0, 2.0], [1.5, 1.5]).values()
    assert constant["pearson"] == constant["spearman"] == 0.0


def test_tags_and_spans():
    labels = ["O", "B-X", "I-X", "B-Y"]
    true = [["B-X", "I-X", "O"], ["O", "B-Y"], [], ["O"]]
    found = [["B-X", "O", "O"], ["O", "B-Y"], [], ["B-X"]]
    shares = [[0.9, 0.8, 0.7], [0.9, 0.9], [], [0.6]]
    one = assess_tags(true, found, labels, "IOB2", shares)
    values = one.values()
    spans = span_scores(true, found)
    assert list(values) == ["f1", "precision", "recall", "accuracy"]
    assert [*values.values()][:3] == [spans[name] for name in [*values][:3]]
    assert values["accuracy"] == pytest.approx(4 / 6)
    assert one.errors.tolist() == pytest.approx([0.8, 0, 0, 0.6])
    assert one.tables["Spans of each type"][1]["f1"] == 1.0
    words = {row["label"]: row for row in one.tables["Words of each tag"]}
    assert words["O"]["recall"] == pytest.approx(2 / 3)
    assert list(assess_tags(true, found, labels).values()) == ["accuracy"]
    again = assess_tags(true, found, labels, "IOB2").errors
    assert again.tolist() == [1, 0, 0, 1]


TREE = ("S", ("NP", ("D", "the"), ("N", "film")), ("V", "ends"))
PERFECT = {
    "classes": (assess_classes(["a", "b"] * 30, ["a", "b"] * 30, LABELS), {"accuracy"}),
    "tags": (
        assess_tags([["B-X", "O"]] * 60, [["B-X", "O"]] * 60, ["O", "B-X"], "IOB2"),
        {"accuracy", "precision", "recall"},
    ),
    "answers": (assess_answers([["a film"]] * 60, ["a film"] * 60), {"exact"}),
    "texts": (assess_texts(["a film"] * 60, ["a film"] * 60), {"exact_match"}),
    "trees": (
        assess_trees([TREE] * 60, [TREE] * 60),
        {"precision", "recall", "exact_match", "tagging_accuracy"},
    ),
}


@pytest.mark.parametrize("kind", PERFECT)
def test_a_perfect_proportion_has_an_interval(kind):
    """The bootstrap would say that the next row is right for certain."""
    found, names = PERFECT[kind]
    scores = found.scores()
    assert {*found.proportions} == names and names < {*scores}
    for name in names:
        low = scores[name]["low"]
        assert scores[name]["value"] == scores[name]["high"] == 1.0
        assert proportion_interval([1] * 60)[0] <= low < 0.99
    same = found.differences(found)
    assert all(score == {"value": 0, "low": 0, "high": 0} for score in same.values())
