"""Scores of predictions that are sets of labels."""

import numpy as np

from zoo.evaluation.assessment import Assessment
from zoo.evaluation.spans import precision_recall_f1


def label_matrix(rows, labels):
    """Sets of labels as a matrix.

    Args:
        rows: sequence (N,) of sequences or sets of labels; an empty one has none.
        labels: sequence (C,) of all labels.

    Returns:
        bool (N, C).

    Raises:
        ValueError: if a label is unknown.
    """
    numbers = {label: number for number, label in enumerate(labels)}
    found = np.zeros((len(rows), len(labels)), bool)
    for row, names in enumerate(rows):
        for name in names:
            if name not in numbers:
                raise ValueError(
                    f"`labels` must contain every label. Received: {name!r} in row "
                    f"{row}, and labels={list(labels)}."
                )
            found[row, numbers[name]] = True
    return found


def assess_label_sets(references, predictions, labels, scores=None):
    """Assesses predicted sets of labels.

    All scores are those of scikit-learn on the same arrays, where 0 / 0 is 0.

    Args:
        references, predictions: sequences (N,) of sequences or sets of labels.
        labels: sequence (C,) of all labels.
        scores: float (N, C), the probability of each label, or None.

    Returns:
        `Assessment` with micro_f1, macro_f1 (the unweighted mean of F1 over all
        labels), subset_accuracy (the share of rows with exactly the right labels),
        hamming_loss (the share of wrong decisions), and with scores average_precision
        (the unweighted mean over the labels). The error of a row is the sum of the
        errors of its decisions: the distance of the scores from the truth where the
        decision is wrong, or 1 without scores.

    Raises:
        ValueError: if a label is unknown, there are no rows, or the numbers of rows
            differ.
    """
    if not len(references) or len(references) != len(predictions):
        raise ValueError(
            "`references` and `predictions` must have the same length, and must not be "
            f"empty. Received: {len(references)} and {len(predictions)} rows."
        )
    true, found = (label_matrix(rows, labels) for rows in (references, predictions))
    counts = np.stack([true & found, found, true], axis=1).astype("int64")  # (N, 3, C)
    wrong = true != found
    exact = ~wrong.any(axis=1)
    statistics = {
        "micro_f1": lambda rows: f1_scores(counts[rows].sum((0, 2))),
        "macro_f1": lambda rows: f1_scores(counts[rows].sum(0)).mean(),
        "subset_accuracy": lambda rows: exact[rows].mean(),
        "hamming_loss": lambda rows: wrong[rows].mean(),
    }
    errors = wrong.astype("float64")
    if scores is not None:
        scores = np.asarray(scores, "float64")
        precision = AveragePrecision(true, scores)
        statistics["average_precision"] = lambda rows: precision(rows).mean()
        errors = wrong * np.abs(true - scores)
    table = [
        {"label": label, **precision_recall_f1(count), "support": int(count[2])}
        for label, count in zip(labels, counts.sum(0).T, strict=True)
    ]
    return Assessment(
        len(true),
        statistics,
        errors.sum(axis=1),
        {"Scores of each label": table},
        proportions={"subset_accuracy": (exact, None)},
    )


def f1_scores(counts):
    """F1 of counts (3, ...): right, predicted and true ones; 0 / 0 is 0."""
    right, total = 2 * counts[0], counts[1] + counts[2]
    return np.divide(right, total, out=np.zeros(np.shape(total)), where=total > 0)


class AveragePrecision:
    """The average precision of each label on chosen rows.

    `sum_n (R_n - R_(n-1)) P_n` over the different scores of a label in descending
    order, with the precision P_n and the recall R_n of the rows that score at least as
    high. A label without a true row has 0. The rows are sorted once, so that thousands
    of resampled sets cost little.

    Source: scikit-learn, `average_precision_score`.

    Args:
        true: bool (N, C).
        scores: float (N, C).
    """

    def __init__(self, true, scores):
        self.order = np.argsort(-scores, axis=0, kind="stable")
        self.true = np.take_along_axis(true, self.order, axis=0)
        ranked = np.take_along_axis(scores, self.order, axis=0)
        last = np.ones(true.shape, bool)  # whether the next score is another one
        last[:-1] = ranked[:-1] != ranked[1:]
        self.last = last

    def __call__(self, rows):
        """Average precisions, float (C,), of row numbers int (M,)."""
        weights = np.bincount(rows, minlength=len(self.order))[self.order]
        right = np.cumsum(weights * self.true, axis=0)
        precision = right / np.maximum(np.cumsum(weights, axis=0), 1)
        found = np.zeros(self.true.shape[1])
        for label, total in enumerate(right[-1]):
            last = self.last[:, label]
            steps = np.diff(right[last, label], prepend=0)
            if total:
                found[label] = (steps * precision[last, label]).sum() / total
        return found


def best_thresholds(true, scores, per_label=False):
    """Thresholds of scores that give the highest F1; a score of at least it is "yes".

    Args:
        true: bool (N, C).
        scores: float (N, C), in [0, 1].
        per_label: bool, whether each label has a threshold of its own, with the highest
            F1 of the label; else one for all has the highest micro F1.

    Returns:
        float (C,), or one float. It is between two scores, and of equally good ones the
        one nearest to 0.5; it is 0.5 for a label without a true row.
    """
    true, scores = np.asarray(true, bool), np.asarray(scores, "float64")
    if not per_label:
        return _best_threshold(true.ravel(), scores.ravel())
    return np.array(
        [_best_threshold(true[:, i], scores[:, i]) for i in range(true.shape[1])]
    )


def _best_threshold(true, scores):
    order = np.argsort(-scores, kind="stable")
    true, scores = true[order], scores[order]
    right, total = np.cumsum(true), int(true.sum())
    if not total:
        return 0.5
    last = np.ones(len(scores), bool)
    last[:-1] = scores[:-1] != scores[1:]
    places = np.flatnonzero(last)
    f1 = 2 * right[places] / (places + 1 + total)
    following = np.append(scores[1:], 0.0)[places]
    middles = (scores[places] + following) / 2
    # As near to 0.5 as the two scores allow.
    nearest = np.where((following < 0.5) & (0.5 <= scores[places]), 0.5, middles)
    best = np.flatnonzero(f1 == f1.max())
    return float(nearest[best[np.argmin(abs(nearest[best] - 0.5))]])
