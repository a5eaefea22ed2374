"""Sets of labels as users give them, and their weights, checked."""

import collections
import reprlib
from collections.abc import Mapping, Set

import numpy as np
import tensorflow as tf

from zoo.tasks.inputs.label_values import label_value, numbers_of_names
from zoo.tasks.inputs.targets import as_array

TARGET_ADVICE = (
    "Give a list of names for each text, or rows of 0 and 1, one for each label."
)


def label_set_rows(y, labels, separator="|"):
    """Targets of texts as float32 (B, C), 1 for each label that a text has.

    Args:
        y: for each text, a list, a tuple, a set or an array of labels, which may be
            empty; or a str of labels between separators, "" for none. Or an array, a
            list or a tensor (B, C) of numbers in [0, 1]: rows of 0 and 1, or
            probabilities.
        labels: sequence (C,) of str.
        separator: str.

    Raises:
        ValueError: if a target is missing, unknown, or may mean two things.
    """
    y = _rows_of(y)
    if not len(y):
        return np.zeros((0, len(labels)), "float32")
    numbers = _as_numbers(y)
    if numbers is not None and numbers.shape[1:] == (len(labels),):
        _check_clear(y, numbers, labels)
        if ((numbers >= 0) & (numbers <= 1)).all():
            return numbers.astype("float32")
    if isinstance(y, np.ndarray) and numbers is not None:
        raise ValueError(
            f"An array of targets must have a number in [0, 1] for each of the "
            f"{len(labels)} labels. Received: {reprlib.repr(y[0].tolist())} in row 0. "
            f"{TARGET_ADVICE}"
        )
    rows = [_names(row, place, separator) for place, row in enumerate(y)]
    values = [value for row in rows for value in row]
    found = iter(numbers_of_names(values, labels).tolist())
    encoded = np.zeros((len(rows), len(labels)), "float32")
    for place, row in enumerate(rows):
        chosen = [next(found) for _ in row]
        encoded[place, chosen] = 1.0
    return encoded


def _rows_of(y):
    """Targets as a sequence of rows: an array of numbers (B, C), or a list."""
    if isinstance(y, tf.RaggedTensor):
        return y.to_list()
    if isinstance(y, (tf.Tensor, np.ndarray)) or hasattr(y, "to_numpy"):
        y = y.to_pylist() if hasattr(y, "to_pylist") else as_array(y)
        y = y if getattr(y, "ndim", 1) != 1 else [*y]
    if isinstance(y, (str, bytes, Mapping, Set)) or not hasattr(y, "__len__"):
        raise ValueError(
            f"`y` must be a list with the labels of each text. Received: {y!r:.60}. "
            f"{TARGET_ADVICE}"
        )
    if getattr(y, "ndim", 2) != 2:
        raise ValueError(
            f"`y` must have one row for each text. Received: shape {y.shape}. "
            f"{TARGET_ADVICE}"
        )
    return y


def _as_numbers(y):
    """Rows of equally many numbers as float64 (B, C); None for other rows."""
    if isinstance(y, np.ndarray):
        return y.astype("float64") if y.dtype.kind in "biuf" else None
    if not all(isinstance(row, (list, tuple, np.ndarray)) for row in y):
        return None
    if len({len(row) for row in y}) > 1:
        return None
    kinds = int, float, bool, np.number, np.bool_
    if not all(isinstance(value, kinds) for row in y for value in row):
        return None
    return np.array([[float(value) for value in row] for row in y])


def _check_clear(y, numbers, labels):
    """Raises ValueError if rows of 0 and 1 could also be lists of labels."""
    if isinstance(y, np.ndarray):
        return  # an array has no lists of labels
    values = {label_value(label) for label in labels}
    if {*numbers.ravel().tolist()} <= values:
        raise ValueError(
            "`y` must be clear about lists of labels and rows of 0 and 1. Received: "
            f"{[*y[0]]} for the labels {list(labels)}. Give the names of the labels as "
            "str, or rows of 0 and 1 as an array."
        )


def _names(row, place, separator):
    """The labels of one text, a list."""
    row = row.decode("utf-8", "replace") if isinstance(row, bytes) else row
    if isinstance(row, str):
        row = [name.strip() for name in row.split(separator)] if row.strip() else []
    if isinstance(row, np.ndarray) and row.ndim == 1:  # perhaps padded
        row = [value for value in row.tolist() if value not in ("", b"")]
    if not isinstance(row, (list, tuple, Set)):
        raise ValueError(
            "`y` must have a list of labels for each text. Received: "
            f"{row!r:.60} in row {place}. {TARGET_ADVICE}"
        )
    row = [*row]
    counts = collections.Counter(map(str, row))
    for value in row:
        if value is None or value != value or value == "" or counts[str(value)] > 1:
            raise ValueError(
                "`y` must have each label of a text once, with a name. Received: "
                f"{value!r} in row {place}, {row!r:.60}."
            )
    return row
