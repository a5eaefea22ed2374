"""Metrics of single labels."""

import numpy as np


def check_pairs(references, predictions):
    """Both as arrays of one axis; bytes as text.

    Args:
        references: sequence (N,) of what is true.
        predictions: sequence (N,) of what was predicted.

    Returns:
        two arrays (N,).

    Raises:
        ValueError: if they differ in length, are empty or have more than one axis.
    """
    references, predictions = _as_array(references), _as_array(predictions)
    if (
        references.ndim != 1
        or references.shape != predictions.shape
        or not references.size
    ):
        raise ValueError(
            "`references` and `predictions` must be of one axis, equally long and not "
            f"empty. Received: shapes {references.shape} and {predictions.shape}."
        )
    return references, predictions


def _as_array(values):
    values = np.asarray(values)
    if values.dtype.kind == "O":
        values = np.asarray(values.tolist())
    return np.char.decode(values, "utf-8") if values.dtype.kind == "S" else values


def accuracy(references, predictions):
    """The share of predictions that equal their reference, in [0, 1].

    Args:
        references: sequence (N,) of numbers or names.
        predictions: sequence (N,) of the same.

    Returns:
        float.

    Raises:
        ValueError: if they differ in length, or are empty.
        TypeError: if one holds names and the other numbers.
    """
    references, predictions = check_pairs(references, predictions)
    if (references.dtype.kind == "U") != (predictions.dtype.kind == "U"):
        raise TypeError(
            "`references` and `predictions` must both be names or both numbers. "
            f"Received: {references[0]!r} and {predictions[0]!r}."
        )
    return float(np.mean(references == predictions))


def confusion_matrix(references, predictions, labels):
    """Counts of what was predicted for what.

    Args:
        references: sequence (N,) of labels.
        predictions: sequence (N,) of labels.
        labels: sequence (C,) of all labels, the order of rows and columns.

    Returns:
        int64 (C, C), [i, j] counts references i that were predicted as j.

    Raises:
        ValueError: if the lengths differ, a label occurs twice, or one is unknown.
    """
    references, predictions = check_pairs(references, predictions)
    numbers = {label: number for number, label in enumerate(labels)}
    found = {*references.tolist(), *predictions.tolist()}
    if len(numbers) < len(labels) or not found <= numbers.keys():
        raise ValueError(
            "`labels` must name every label once. Received: "
            f"labels={list(labels)} for {sorted(found, key=str)}."
        )
    matrix = np.zeros((len(labels), len(labels)), "int64")
    for pair in zip(references.tolist(), predictions.tolist(), strict=True):
        matrix[numbers[pair[0]], numbers[pair[1]]] += 1
    return matrix
