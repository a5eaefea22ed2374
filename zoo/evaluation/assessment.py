"""What can be said about predictions: scores with intervals, tables and errors."""

import dataclasses
from collections.abc import Callable

import numpy as np

from zoo.evaluation.bootstrap import bootstrap_interval
from zoo.evaluation.classification import check_pairs, confusion_matrix
from zoo.evaluation.proportions import proportion_interval
from zoo.evaluation.spans import find_spans, precision_recall_f1, span_scores

RESAMPLED_SETS = (100, 1000)  # the fewest and the most resampled test sets
# Rows in all resampled test sets, which limits the time.
MAX_RESAMPLED_ROWS = 50_000_000


@dataclasses.dataclass(frozen=True)
class Assessment:
    """What can be said about the predictions for N rows.

    Args:
        size: int, N.
        statistics: dict of the name of a score to a function of row numbers int (M,) to
            float. The first score is the most important one.
        errors: float (N,), how wrong the prediction for each row is, 0 if it is right.
        tables: dict of a title to a list of dicts, each a row of the table.
        confusion: labels (C,) and counts int (C, C), see `confusion_matrix`, or None.
        points: true and predicted numbers, float (N,) each, or None.
        proportions: dict of the name of a score that is a proportion to how many are
            right in each row, (N,), and of how many, (N,) or None for 1.
    """

    size: int
    statistics: dict[str, Callable]
    errors: np.ndarray
    tables: dict[str, list[dict]] = dataclasses.field(default_factory=dict)
    confusion: tuple | None = None
    points: tuple | None = None
    proportions: dict[str, tuple] = dataclasses.field(default_factory=dict)

    def values(self):
        """Computes all scores, dict of float."""
        rows = np.arange(self.size)
        return {name: float(score(rows)) for name, score in self.statistics.items()}

    def scores(self, seed=0):
        """Dict of the name of each score to its value, low and high, in a dict.

        The two are the 95% interval: Wilson's of a proportion, else a bootstrap one,
        whose resampled test sets follow from `seed`.
        """
        samples = int(np.clip(MAX_RESAMPLED_ROWS // self.size, *RESAMPLED_SETS))
        found = {}
        for name, value in self.values().items():
            if name in self.proportions:
                low, high = proportion_interval(*self.proportions[name])
            else:
                statistic = self.statistics[name]
                low, high = bootstrap_interval(statistic, self.size, seed, samples)
            found[name] = {"value": value, "low": low, "high": high}
        return found

    def differences(self, other, seed=0):
        """Computes how much higher each score is than that of another assessment.

        Args:
            other: `Assessment` of other predictions for the same rows. Scores that it
                lacks are left out.
            seed: int, of the resampled test sets, which both share.

        Returns:
            dict as of `scores`.

        Raises:
            ValueError: if the two have different numbers of rows.
        """
        if other.size != self.size:
            raise ValueError(
                "Both assessments must be of the same rows. Received: "
                f"{self.size} and {other.size} rows."
            )

        def difference(name):
            ours, theirs = self.statistics[name], other.statistics[name]
            # Equal predictions differ by 0, in whatever order the labels are added.
            return lambda rows: round(float(ours(rows) - theirs(rows)), 12)

        shared = [name for name in self.statistics if name in other.statistics]
        statistics = {name: difference(name) for name in shared}
        return Assessment(self.size, statistics, self.errors).scores(seed)

    def worst(self, count):
        """Numbers of the rows with the largest errors, list of int, largest first."""
        order = np.argsort(-self.errors, kind="stable")[:count]
        return [int(row) for row in order if self.errors[row] > 0]


def assess_classes(references, predictions, labels, confidence=None):
    """Assesses predicted classes.

    Args:
        references, predictions: sequences (N,) of labels.
        labels: sequence (C,) of all labels.
        confidence: float (N,), the probability of each prediction; 1 by default. It is
            the error of a wrong prediction.

    Returns:
        `Assessment` with accuracy and macro_f1, the unweighted mean of F1 over the
        labels that occur in the references or in the predictions.

    Raises:
        ValueError: see `confusion_matrix`.
    """
    matrix = confusion_matrix(references, predictions, labels)
    numbers = {label: number for number, label in enumerate(labels)}
    true, found = (
        np.array([numbers[label] for label in rows])
        for rows in (references, predictions)
    )
    confidence = np.ones(len(true)) if confidence is None else np.asarray(confidence)
    return Assessment(
        len(true),
        {
            "accuracy": lambda rows: float(np.mean(true[rows] == found[rows])),
            "macro_f1": lambda rows: _macro_f1(true[rows], found[rows], len(labels)),
        },
        np.where(true == found, 0.0, confidence),
        {"Scores of each label": class_table(matrix, labels)},
        (list(labels), matrix),
        proportions={"accuracy": (true == found, None)},
    )


def _macro_f1(true, found, size):
    both = np.bincount(true[true == found], minlength=size)
    total = np.bincount(true, minlength=size) + np.bincount(found, minlength=size)
    return float(np.mean(2 * both[total > 0] / total[total > 0]))


def class_table(matrix, labels):
    """Precision, recall, F1 and support of each class; 0 / 0 is 0."""
    counts = zip(np.diag(matrix), matrix.sum(0), matrix.sum(1), strict=True)
    return [
        {"label": label, **precision_recall_f1(count), "support": int(count[2])}
        for label, count in zip(labels, counts, strict=True)
    ]


def assess_tags(references, predictions, labels, scheme=None, confidence=None):
    """Assesses predicted tags of words.

    Args:
        references: sequence (N,) of sentences, each a sequence of tags.
        predictions: the same, with as many tags in each sentence.
        labels: sequence (C,) of all tags.
        scheme: str, see `zoo.evaluation.convert_tags`, if the tags are those of spans;
            None for tags of single words.
        confidence: the probability of each predicted tag, in the form of
            `predictions`; 1 by default. Its sum over the wrong tags of a sentence is
            the error of the sentence.

    Returns:
        `Assessment` with the accuracy over words. With a scheme, the first score is f1,
        followed by precision and recall of spans.

    Raises:
        ValueError: if the lengths differ, or a tag is unknown.
    """
    true, found = (
        [tag for row in rows for tag in row] for rows in (references, predictions)
    )
    matrix = confusion_matrix(true, found, labels)
    sizes = np.array([len(row) for row in references])
    wrong = np.array(true, object) != np.array(found, object)
    row_of = np.repeat(np.arange(len(sizes)), sizes)
    right = sizes - np.bincount(row_of, wrong, len(sizes))
    weights = wrong * 1.0
    if confidence is not None:
        weights = weights * [share for row in confidence for share in row]
    statistics, proportions, tables = {}, {"accuracy": (right, sizes)}, {}
    if scheme:
        statistics, shares = _span_statistics(references, predictions)
        proportions |= shares
        types = span_scores(references, predictions)["types"].items()
        tables["Spans of each type"] = [{"type": k, **scores} for k, scores in types]
    statistics["accuracy"] = lambda rows: float(
        right[rows].sum() / max(sizes[rows].sum(), 1)
    )
    tables["Words of each tag"] = class_table(matrix, labels)
    errors = np.bincount(row_of, weights, len(sizes))
    confusion = list(labels), matrix
    return Assessment(
        len(sizes), statistics, errors, tables, confusion, proportions=proportions
    )


def _span_statistics(references, predictions):
    counts = np.zeros((len(references), 3), "int64")
    for row, (true, found) in enumerate(zip(references, predictions, strict=True)):
        true, found = set(find_spans(true)), set(find_spans(found))
        counts[row] = len(true & found), len(found), len(true)

    def statistic(name):
        return lambda rows: precision_recall_f1(counts[rows].sum(0))[name]

    both, found, true = counts.T
    shares = {"precision": (both, found), "recall": (both, true)}
    names = "f1", "precision", "recall"
    return {name: statistic(name) for name in names}, shares


def assess_numbers(references, predictions):
    """Assesses predicted numbers.

    Args:
        references, predictions: float (N,).

    Returns:
        `Assessment` with pearson, spearman and mean_absolute_error. A correlation is 0
        if all references or all predictions are equal, where it is not defined.

    Raises:
        ValueError: if the lengths differ.
    """
    true, found = check_pairs(references, predictions)
    true, found = true.astype("float64"), found.astype("float64")
    errors = np.abs(true - found)
    return Assessment(
        len(true),
        {
            "pearson": lambda rows: _correlation(true[rows], found[rows]),
            "spearman": lambda rows: _correlation(
                _ranks(true[rows]), _ranks(found[rows])
            ),
            "mean_absolute_error": lambda rows: float(errors[rows].mean()),
        },
        errors,
        points=(true, found),
    )


def _correlation(a, b):
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return 0.0
    return float(np.corrcoef(a, b)[0, 1])


def _ranks(values):
    """Ranks from 1; equal values have the mean of their ranks."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[inverse]
