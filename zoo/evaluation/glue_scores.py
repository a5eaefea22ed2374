"""The metrics of GLUE, computed by scikit-learn and SciPy."""

import functools
import importlib

import numpy as np

from zoo.checks.extras import missing_package
from zoo.checks.ranges import check_choice
from zoo.evaluation.classification import accuracy, check_pairs

BINARY = (0, 1)
ENTAILMENT = ("entailment", "not_entailment")
NLI = ("contradiction", "entailment", "neutral")


def glue_metrics(task):
    """Returns the metrics of a GLUE task.

    Each metric is a fraction; the tables of GLUE show it times 100. A correlation is 0
    if all references or all predictions are equal, where it is not defined.

    Source: Wang et al. 2019, table 1; computed by scikit-learn and SciPy, as in the
    official scoring.

    Args:
        task: str, "cola" or "ax" (Matthews' correlation), "mrpc" or "qqp" (accuracy, F1
            of class 1), "stsb" (Pearson's and Spearman's correlation), "sst2", "mnli",
            "qnli", "rte" or "wnli" (accuracy).

    Returns:
        dict of name to function of references (N,) and predictions (N,) to float. For
        "stsb" they are numbers, for "mnli", "ax", "qnli" and "rte" names of labels, and
        for the other tasks 0 and 1, as numbers or as text. A function raises ValueError
        if the lengths differ or a label is unknown.

    Raises:
        ValueError: if there is no such task.
    """
    labels, metrics = TASKS[check_choice("task", task, sorted(TASKS))]
    return {
        name: functools.partial(_measure, metric, task, labels)
        for name, metric in metrics.items()
    }


def evaluate_glue(task, references, predictions):
    """Computes all metrics of a GLUE task; see `glue_metrics`.

    Args:
        task: str, see `glue_metrics`.
        references, predictions: sequences (N,) of labels or numbers.

    Returns:
        dict of the name of each metric to float.

    Example:
        >>> evaluate_glue("rte", ["entailment"], ["not_entailment"])
        {'accuracy': 0.0}
    """
    metrics = glue_metrics(task)
    return {name: metric(references, predictions) for name, metric in metrics.items()}


def _measure(metric, task, labels, references, predictions):
    pair = check_pairs(references, predictions)
    return float(metric(*(_numbers(task, values, labels) for values in pair)))


def _finite_numbers(task, values):
    try:
        scores = values.astype("float64")
    except ValueError:
        scores = np.array([np.nan])
    if not np.isfinite(scores).all():
        raise ValueError(
            f"The labels of {task} must be finite numbers. Received: {values}."
        )
    return scores


def _numbers(task, values, labels):
    """Converts labels to their numbers. The labels 0 and 1 may also be text."""
    if labels is None:
        return _finite_numbers(task, values)
    numbers = {label: number for number, label in enumerate(labels)}
    if labels == BINARY:
        numbers |= {"0": 0, "1": 1}
    unknown = {*values.tolist()} - numbers.keys()
    if unknown:
        raise ValueError(
            f"The labels of {task} must be among {labels}. Received: "
            f"{sorted(unknown, key=str)[:5]}. Convert the labels first."
        )
    return np.array([numbers[value] for value in values.tolist()])


def import_library(name, needed_by="This function needs"):
    """Imports a module of the extra `eval`, or raises ImportError."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0].replace("sklearn", "scikit-learn")
        message = missing_package(needed_by, package, "eval")
        raise ImportError(message) from error


def _matthews(references, predictions):
    return import_library("sklearn.metrics").matthews_corrcoef(references, predictions)


def _f1(references, predictions):
    f1_score = import_library("sklearn.metrics").f1_score
    return f1_score(references, predictions, pos_label=1, zero_division=0.0)


def _correlation(name, references, predictions):
    if np.ptp(references) == 0 or np.ptp(predictions) == 0:
        return 0.0
    function = getattr(import_library("scipy.stats"), name)
    return function(references, predictions).statistic


ACCURACY = {"accuracy": accuracy}
MATTHEWS = {"matthews": _matthews}
CORRELATIONS = {
    name: functools.partial(_correlation, f"{name}r")
    for name in ("pearson", "spearman")
}
# Task: labels, or None for numbers, and metrics.
TASKS = {
    "cola": (BINARY, MATTHEWS),
    "sst2": (BINARY, ACCURACY),
    "mrpc": (BINARY, {**ACCURACY, "f1": _f1}),
    "qqp": (BINARY, {**ACCURACY, "f1": _f1}),
    "stsb": (None, CORRELATIONS),
    "mnli": (NLI, ACCURACY),
    "qnli": (ENTAILMENT, ACCURACY),
    "rte": (ENTAILMENT, ACCURACY),
    "wnli": (BINARY, ACCURACY),
    "ax": (NLI, MATTHEWS),
}
