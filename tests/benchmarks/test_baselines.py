"""Baselines of the table of defaults: that they learn what can be learned."""

import tiny

from benchmarks.tables import baselines
from zoo.evaluation import accuracy


def test_majority():
    train = [("a", "1"), ("b", "0"), ("c", "1")]
    assert baselines.majority_label(train, ["d", "e"]) == ["1", "1"]
    train = [(["in", "the", "in"], ["X", "D", "P"]), (["in", "a"], ["P", "P"])]
    found = baselines.frequent_tag(train, [["the", "in", "new"]])
    assert found == [["D", "P", "P"]]


def test_logistic_regression_of_texts():
    train = list(zip(*tiny.make_texts(200), strict=True))
    x, y = tiny.make_texts(100, seed=1)
    assert accuracy(y, baselines.logistic_regression(train, x)) > 0.9


def test_logistic_regression_of_pairs():
    """Whether two texts are equal cannot be seen in one of them."""
    words = tiny.GOOD + tiny.BAD
    pairs = [((a, b), str(int(a == b))) for a in words for b in words]
    pairs += 9 * [((a, a), "1") for a in words]
    x, y = zip(*pairs, strict=True)
    assert accuracy(y, baselines.logistic_regression(pairs, x)) == 1
