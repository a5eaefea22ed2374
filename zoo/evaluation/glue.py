"""GLUE's metrics, by the libraries of its official scoring."""

import functools
import importlib

import numpy as np

from zoo.evaluation.classification import accuracy, check_pairs

BINARY = (0, 1)
ENTAILMENT = ("entailment", "not_entailment")
NLI = ("contradiction", "entailment", "neutral")


def glue_metrics(task):
    """The metrics of a GLUE task.

    Each is a fraction: GLUE's tables show 100 times as much. Where a correlation is
    undefined, since all references or all predictions are the same, it is 0.

    Source: Wang et al. 2019, table 1, computed by scikit-learn and SciPy.

    Args:
        task: "cola" and "ax" (Matthews' correlation), "mrpc" and "qqp" (accuracy, F1
            of class 1), "stsb" (Pearson's and Spearman's correlations), "sst2",
            "mnli", "qnli", "rte", "wnli" (accuracy).

    Returns:
        dict of name to function of references (N,) and predictions (N,) to float. They
        are numbers for "stsb", names for "mnli", "ax", "qnli" and "rte", and 0 or 1,
        or these as text, for the others.

    Raises:
        ValueError: if there is no such task; by the functions, if the lengths differ,
            or the task has no such label.
    """
    if task not in TASKS:
        raise ValueError(f"`task` must be one of {sorted(TASKS)}. Received: {task!r}.")
    labels, metrics = TASKS[task]
    return {
        name: functools.partial(_measure, metric, task, labels)
        for name, metric in metrics.items()
    }


def evaluate_glue(task, references, predictions):
    """All metrics of a GLUE task; see `glue_metrics`.

    Args:
        task: str.
        references: sequence (N,).
        predictions: sequence (N,).

    Returns:
        dict of str to float.

    Raises:
        ValueError: if there is no such task, the lengths differ, or the task has no
            such label.

    Example:
    >>> evaluate_glue("rte", ["entailment"], ["not_entailment"])
    {'accuracy': 0.0}
    """
    metrics = glue_metrics(task)
    return {name: metric(references, predictions) for name, metric in metrics.items()}


def _measure(metric, task, labels, references, predictions):
    pair = check_pairs(references, predictions)
    if labels is None:
        return float(metric(*(_scores(task, values) for values in pair)))
    return float(metric(*(_numbers(task, values, labels) for values in pair)))


def _scores(task, values):
    try:
        scores = values.astype("float64")
    except ValueError:
        scores = np.array([np.nan])
    if not np.isfinite(scores).all():
        raise ValueError(f"{task} takes finite numbers. Received: {values}.")
    return scores


def _numbers(task, values, labels):
    """Labels to their numbers; a classifier of two numbers names them by text."""
    numbers = {label: number for number, label in enumerate(labels)}
    if labels == BINARY:
        numbers |= {"0": 0, "1": 1}
    unknown = {*values.tolist()} - numbers.keys()
    if unknown:
        raise ValueError(
            f"{task} has the labels {labels}. Received: "
            f"{sorted(unknown, key=str)[:5]}. Translate them to its own."
        )
    return np.array([numbers[value] for value in values.tolist()])


def _library(name):
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"This metric needs {name}. Run `pip install 'keras-context-zoo[eval]'`."
        ) from error


def _matthews(references, predictions):
    return _library("sklearn.metrics").matthews_corrcoef(references, predictions)


def _f1(references, predictions):
    f1_score = _library("sklearn.metrics").f1_score
    return f1_score(references, predictions, pos_label=1, zero_division=0.0)


def _pearson(references, predictions):
    if np.ptp(references) == 0 or np.ptp(predictions) == 0:
        return 0.0
    return _library("scipy.stats").pearsonr(references, predictions).statistic


def _spearman(references, predictions):
    if np.ptp(references) == 0 or np.ptp(predictions) == 0:
        return 0.0
    return _library("scipy.stats").spearmanr(references, predictions).statistic


ACCURACY = {"accuracy": accuracy}
MATTHEWS = {"matthews": _matthews}
# Task: its labels, or None for numbers, and its metrics.
TASKS = {
    "cola": (BINARY, MATTHEWS),
    "sst2": (BINARY, ACCURACY),
    "mrpc": (BINARY, {**ACCURACY, "f1": _f1}),
    "qqp": (BINARY, {**ACCURACY, "f1": _f1}),
    "stsb": (None, {"pearson": _pearson, "spearman": _spearman}),
    "mnli": (NLI, ACCURACY),
    "qnli": (ENTAILMENT, ACCURACY),
    "rte": (ENTAILMENT, ACCURACY),
    "wnli": (BINARY, ACCURACY),
    "ax": (NLI, MATTHEWS),
}
