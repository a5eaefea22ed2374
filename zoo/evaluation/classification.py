"""Metrics of classification: accuracy and confusion matrix."""

import numpy as np


def check_pairs(references, predictions):
    """Arrays (N,) of two sequences of one length, with bytes as text."""
    references, predictions = _as_array(references), _as_array(predictions)
    if (
        references.ndim != 1
        or references.shape != predictions.shape
        or not references.size
    ):
        raise ValueError(
            "`references` and `predictions` must have one axis and the same length, "
            "and must not be empty. Received: shapes "
            f"{references.shape} and {predictions.shape}."
        )
    return references, predictions


def _as_array(values):
    values = np.asarray(values)
    if values.dtype.kind == "O":
        values = np.asarray(values.tolist())
    return np.char.decode(values, "utf-8") if values.dtype.kind == "S" else values


def accuracy(references, predictions):
    """Computes the share of predictions that equal their reference.

    Args:
        references, predictions: sequences (N,) of numbers or names.

    Returns:
        float in [0, 1].

    Raises:
        ValueError: if they differ in length, or are empty.
        TypeError: if one has names and the other numbers.
    """
    references, predictions = check_pairs(references, predictions)
    if (references.dtype.kind == "U") != (predictions.dtype.kind == "U"):
        raise TypeError(
            "`references` and `predictions` must both be names or both numbers. "
            f"Received: {references[0]!r} and {predictions[0]!r}."
        )
    return float(np.mean(references == predictions))


def confusion_matrix(references, predictions, labels):
    """Counts each pair of a reference and a prediction.

    Args:
        references, predictions: sequences (N,) of labels.
        labels: sequence (C,) of all labels, in the order of rows and columns.

    Returns:
        int64 (C, C). Element [i, j] is the number of examples with the true label i and
        the predicted label j.

    Raises:
        ValueError: if the lengths differ, or `labels` has a label twice or lacks one.
    """
    references, predictions = check_pairs(references, predictions)
    numbers = {label: number for number, label in enumerate(labels)}
    found = {*references.tolist(), *predictions.tolist()}
    if len(numbers) < len(labels) or not found <= numbers.keys():
        raise ValueError(
            "`labels` must contain every label once. Received: labels="
            f"{list(labels)}, and examples with {sorted(found, key=str)}."
        )
    matrix = np.zeros((len(labels), len(labels)), "int64")
    for pair in zip(references.tolist(), predictions.tolist(), strict=True):
        matrix[numbers[pair[0]], numbers[pair[1]]] += 1
    return matrix
