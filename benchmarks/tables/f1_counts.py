"""Counts of right predictions in each row, their F1, and its bootstrap intervals."""

import numpy as np

from zoo.evaluation import bootstrap_interval, find_spans


def count(gold, found, kind):
    """Counts what is correct, predicted and true in every row, lists of three int.

    `kind` is what is counted: "spans" of tags, "words", or "labels".
    """
    rows = []
    for pair in zip(gold, found, strict=True):
        if kind == "labels":
            true, predicted = ({y} for y in pair)
        else:
            marks = find_spans if kind == "spans" else enumerate
            true, predicted = (set(marks(y)) for y in pair)
        rows.append([len(true & predicted), len(predicted), len(true)])
    return rows


def predict_tags(model, sentences):
    """The tags that a `zoo.TokenClassifier` predicts for sentences of words."""
    return [[word["tag"] for word in row] for row in model.tag(sentences)]


def f1(counts):
    """F1 from counts (N, 3) of all sentences. For words it is the accuracy.

    The counts of a sentence are those of the right spans, of the found ones and of the
    true ones.
    """
    right, found, there = np.sum(counts, axis=0)
    return float(2 * right / max(found + there, 1))


def f1_interval(fits, others=()):
    """The mean F1 of fits in percent, and the ends of its 95 % bootstrap interval.

    A fit is counts (N, 3). With others, it is the difference between both means.
    """
    sides = [np.stack(side, 1).astype(float) for side in (fits, others) if len(side)]
    size = len(sides[0])

    def value(chosen):
        times = np.bincount(chosen, minlength=size).astype(float)
        totals = [np.tensordot(times, side, 1) for side in sides]
        means = [np.mean([f1([row]) for row in side]) for side in totals]
        return 100 * (means[0] - sum(means[1:]))

    return value(np.arange(size)), *bootstrap_interval(value, size, seed=0)
