"""Targets and weights as users give them, checked: class labels, numbers, weights."""

import reprlib
from collections.abc import Mapping, Sequence

import numpy as np
import tensorflow as tf

from zoo.tasks.inputs.label_values import numbers_of_names, numbers_of_values

# Of targets and weights. A square, and the norm of the gradients of many weights, are
# finite in float32 up to about 1e15.
MIN_MAGNITUDE, MAX_MAGNITUDE = 1e-30, 1e15
SUM_ERROR = 1e-3  # of the sum of probabilities, which float16 has
SQUARES_RULE = (
    f"`y` must be in [-{MAX_MAGNITUDE:g}, {MAX_MAGNITUDE:g}], so that float32 holds "
    "squares."
)
SUMS_RULE = (
    f"must hold 0 or numbers in [{MIN_MAGNITUDE:g}, {MAX_MAGNITUDE:g}], whose sums "
    "float32 holds."
)


def as_array(y):
    """A list, array, column or tensor as a numpy array."""
    y = y.to_pylist() if hasattr(y, "to_pylist") else y  # of Arrow
    y = y.to_numpy() if hasattr(y, "to_numpy") else y
    return y.numpy() if isinstance(y, tf.Tensor) else np.asarray(y)


def one_for_each_text(values, name, way="Use one column of it."):
    """Values (B,) or (B, 1) as an array (B,), checked; `way` is the advice for more."""
    try:
        array = as_array(values)
    except ValueError as error:  # rows of different lengths
        raise ValueError(
            f"`{name}` must have one value for each text. Received: rows of several "
            "values, and of different lengths."
        ) from error
    if array.ndim == 0:
        raise ValueError(
            f"`{name}` must be a list or an array with one value for each text. "
            f"Received: {values!r}. Use `[value]` for one text."
        )
    if array.ndim > 1 and array.shape[1:] != (1,):
        raise ValueError(
            f"`{name}` must have one value for each text. Received: an array of shape "
            f"{array.shape}. {way}"
        )
    return array.reshape(-1)


def label_ids(y, labels, name="y"):
    """Class numbers, int64 (B,), of targets: str, numbers or bool (B,).

    A target that equals a label, by its name or as a number, is that label: 1, 1.0,
    "1.0" and True equal the label "1". Another number is a class number, unless it
    could be mistaken for a label, see `takes_class_numbers`. Raises ValueError if a
    target is missing, unknown or ambiguous.
    """
    y = one_for_each_text(y, name, f"For one-hot rows use `{name}.argmax(-1)`.")
    if y.dtype.kind == "O":
        for row, value in enumerate(y):
            if value is None or isinstance(value, float) and value != value:
                raise ValueError(
                    f"`{name}` must have a label in every row. Received: {value} in "
                    f"row {row}. Remove the rows without labels."
                )
        if not any(isinstance(value, (str, bytes)) for value in y):
            y = np.array(y.tolist())
    if y.dtype.kind in "OSUT":
        return numbers_of_names(y.tolist(), labels, name)
    if y.dtype.kind not in "biuf":
        raise ValueError(
            f"`{name}` must hold labels of the model or class numbers. Received: "
            f"{y.dtype}. The labels are {list(labels)}."
        )
    if y.dtype.kind == "b" or y.dtype.itemsize > 8:  # TensorFlow has no longdouble
        y = y.astype("uint8" if y.dtype.kind == "b" else "float64")
    return numbers_of_values(y.astype(y.dtype.newbyteorder("=")), labels, name)


def class_targets(y, labels):
    """Targets of a classifier, checked: see `label_ids`; or rows of probabilities.

    Rows of probabilities are an array or lists of numbers (B, C), in the order of the
    labels, each at least 0, with the sum 1. They become float32.
    """
    rows = probability_rows(y, labels)
    return label_ids(y, labels) if rows is None else rows


def probability_rows(y, labels, name="y"):
    """Probabilities as float32 (B, C), checked, with sums of 1; None for others."""
    try:
        array = as_array(y)
    except ValueError:  # rows of different lengths
        return None
    if array.ndim != 2 or array.shape[1:] == (1,) or array.dtype.kind not in "biuf":
        return None
    shares, size = array.astype("float64"), len(labels)
    sums = shares.sum(axis=-1)
    wrong = np.argwhere(~((shares >= 0).all(axis=-1) & (abs(sums - 1) <= SUM_ERROR)))
    if array.shape[1] != size or len(wrong):
        row = int(wrong[0, 0]) if len(wrong) else 0
        raise ValueError(
            f"`{name}` must hold labels, or for each text or word a row of {size} "
            "probabilities, at least 0 and with the sum 1. Received: "
            f"{reprlib.repr(shares[row].tolist())} in row {row}. The labels are "
            f"{list(labels)}."
        )
    return (shares / sums[:, None]).astype("float32")


def class_weights(weights, labels, numbers=None):
    """Keras' `class_weight`, dict of int to float, with 1 for classes without a weight.

    `weights` are a dict by the name or the number of a class; a list or an array (C,)
    in the order of the labels; or "balanced": rows / (classes * rows of the class), as
    in scikit-learn, where classes without rows do not count. That needs `numbers`, int
    (N,), the classes of the rows. Raises ValueError if a class is unknown or occurs
    twice, or the weights are wrong.
    """
    weights = weights.to_dict() if hasattr(weights, "to_dict") else weights
    if isinstance(weights, Mapping):
        keys = _numbers_of_keys([*weights], labels)
        values = row_weights([*weights.values()], "class_weight").tolist()
        found = dict.fromkeys(range(len(labels)), 1.0)
        return found | dict(zip(keys, values, strict=True))
    if isinstance(weights, str) and weights == "balanced" and numbers is not None:
        numbers = class_numbers(numbers)
        counts = np.bincount(numbers, minlength=len(labels))
        size = np.maximum(counts * np.count_nonzero(counts), 1)
        return dict(enumerate(np.where(counts, counts.sum() / size, 1.0).tolist()))
    shape = np.shape(weights) if not isinstance(weights, (str, bytes)) else None
    if shape != (len(labels),):
        given = f"{weights!r:.80}" if not shape else f"an array of shape {shape}"
        raise ValueError(
            "`class_weight` must be a dict of labels to weights, a list with a weight "
            f"for each of the {len(labels)} labels, or 'balanced' for arrays of text "
            f"with their labels. Received: {given}. The labels are {list(labels)}."
        )
    return dict(enumerate(row_weights(weights, "class_weight").tolist()))


def check_in_arrays(labels):
    """Raises ValueError unless labels are known, of which weights of parts are made."""
    if labels is None:
        raise ValueError(
            "`class_weight` of words or of sets of labels needs arrays of texts. "
            "Received: a dataset or token ids. Give arrays; or `sample_weight` of the "
            "words, or `pos_weight` of the labels."
        )


def class_numbers(targets):
    """The class numbers (N,) of `class_targets`; of probabilities, the likeliest."""
    return targets.argmax(axis=-1) if targets.ndim > 1 else targets


def _numbers_of_keys(keys, labels):
    """The different class numbers of the keys of `class_weight`, list of int."""
    names = [isinstance(key, (str, bytes)) for key in keys]
    values = [key for key, name in zip(keys, names, strict=True) if not name]
    # Together, since some numbers are labels only if all are.
    found = iter(label_ids(values, labels, "class_weight").tolist() if values else ())
    numbers = [
        int(label_ids([key], labels, "class_weight")[0]) if name else next(found)
        for key, name in zip(keys, names, strict=True)
    ]
    if len(set(numbers)) < len(numbers):
        raise ValueError(
            "`class_weight` must have one weight for a class. Received: "
            f"{keys}. Use either the name or the number of a class."
        )
    return numbers


def label_rows(y):
    """Lists of the labels of words, one list for each sentence.

    A sentence is a list of labels, or a str or bytes of labels that are separated by
    white space. Raises ValueError if `y` or a row is something else.
    """
    y = y.to_list() if isinstance(y, tf.RaggedTensor) else y
    y = y.numpy() if isinstance(y, tf.Tensor) else y
    y = y.to_pylist() if hasattr(y, "to_pylist") else y
    y = y.to_numpy() if hasattr(y, "to_numpy") else y
    y = [*y] if isinstance(y, Sequence) and not isinstance(y, (str, bytes)) else y
    if not isinstance(y, (list, tuple, np.ndarray)) or getattr(y, "shape", 1) == ():
        raise ValueError(
            "`y` must be a list with the labels of each sentence. Received: "
            f"{y!r:.60}. Use `[labels]` for one sentence."
        )
    rows = []
    for number, row in enumerate(y):
        row = row.decode() if isinstance(row, bytes) else row
        row = row.split() if isinstance(row, str) else row
        if not isinstance(row, (list, tuple, np.ndarray)):
            raise ValueError(
                "`y` must hold a list of labels for each sentence. Received: "
                f"{row!r:.60} in row {number}. Use `[label, ...]` or one str of labels."
            )
        rows.append(list(row))
    return rows


def target_numbers(y):
    """Targets as float32; each must be finite, and so must its square in float32."""
    y = as_array(y)
    numbers = _as_floats(y, "`y`", "Remove the rows without one.")
    _check_values(np.isfinite(numbers), y, "`y` must hold finite numbers.")
    _check_values(
        np.abs(numbers) <= MAX_MAGNITUDE, y, SQUARES_RULE, "Scale the numbers."
    )
    return numbers.astype("float32")


def _as_floats(values, name, way):
    """An array as float64, in which None is NaN."""
    try:
        return values.astype("float64")
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"{name} must hold numbers. Received: {error}. {way}"
        ) from error


def row_weights(weights, name="sample_weight"):
    """Weights of texts as float32 (B,): finite, at least 0, with sums in float32."""
    weights = one_for_each_text(weights, name)
    numbers = _as_floats(weights, f"`{name}`", "Use 1.0 as the default.")
    rule = f"`{name}` must hold finite numbers of at least 0."
    _check_values(np.isfinite(numbers) & (numbers >= 0), weights, rule)
    fits = (numbers == 0) | (numbers >= MIN_MAGNITUDE) & (numbers <= MAX_MAGNITUDE)
    _check_values(fits, weights, f"`{name}` {SUMS_RULE}", "Scale the weights.")
    return numbers.astype("float32")


def _check_values(right, given, rule, way="Correct or remove the row."):
    """Raises ValueError at the first given value that is not right."""
    wrong = np.argwhere(~right)
    if len(wrong):
        place = tuple(wrong[0])
        raise ValueError(
            f"{rule} Received: {given[place]} in row {place[0] if place else 0}. {way}"
        )
