"""Targets and weights as users give them, checked: class labels, numbers, weights."""

import re

import numpy as np
import tensorflow as tf

BOOLEANS = {"False", "True"}


def label_names(labels):
    """The names of a model's outputs, checked.

    Args:
        labels: list of str, or int, their number, which names them "0", "1", ...

    Returns:
        list of str.

    Raises:
        ValueError: if there are fewer than two names, or a name occurs twice.
    """
    names = [labels] if isinstance(labels, (str, bytes)) else labels
    names = list(map(str, range(names) if isinstance(names, int) else names))
    if len(names) < 2 or len(set(names)) < len(names):
        raise ValueError(
            "`labels` must be two or more different names, or their number. "
            f"Received: {names}."
        )
    return names


def as_array(y):
    """A list, array, series or tensor as a numpy array."""
    y = y.to_numpy() if hasattr(y, "to_numpy") else y
    return y.numpy() if isinstance(y, tf.Tensor) else np.asarray(y)


def one_for_each_text(values, name, way="Use one column of it."):
    """Values as an array with one dimension, checked.

    Args:
        values: list, array, series or tensor (B,) or (B, 1).
        name: str, the name of the argument.
        way: str, the advice for an array with several values for each text.

    Returns:
        array (B,).

    Raises:
        ValueError: if `values` is not a list or array, or has more values for a text.
    """
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
    """Class numbers from class names or numbers, checked.

    Booleans count as 0 and 1, except for labels that are named "False" and "True".
    If the names of all labels are integers, such as "1" and "0", an integer is a name.

    Args:
        y: list, array or series (B,) of str among `labels`, or of int.
        labels: tuple of str, the names, in the order of the outputs.
        name: str, the name of `y` in error messages.

    Returns:
        int64 array (B,).

    Raises:
        ValueError: if a label is missing, unknown or out of range.
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
    if y.dtype.kind == "b" and set(labels) == BOOLEANS:
        y = y.astype(str)
    if y.dtype.kind in "OSUT":
        return _numbers_of_names(y, labels, name)
    with np.errstate(invalid="ignore"):
        wrong = y[~np.isfinite(y) | (y != np.floor(y))] if y.dtype.kind == "f" else []
    if len(wrong):
        raise ValueError(
            f"`{name}` must hold class numbers. Received: {wrong[0]}. To predict "
            'numbers, load the model with `task="text_regressor"`.'
        )
    numbers = y.astype(np.int64)
    if _are_integers(labels):
        return _numbers_of_names(numbers, labels, name)
    wrong = y[(numbers < 0) | (numbers >= len(labels))]
    if len(wrong):
        raise ValueError(
            f"`{name}` must be in [0, {len(labels)}). Received: {wrong[0]}. The labels "
            f"are {list(labels)}."
        )
    return numbers


def _are_integers(labels):
    """Whether all names are integers, so that an integer is the name of a label."""
    return all(re.fullmatch("0|-?[1-9][0-9]*", label) for label in labels)


def _numbers_of_names(y, labels, name):
    """Class numbers int64 (B,) of names (B,)."""
    names = [v.decode() if isinstance(v, bytes) else str(v) for v in y.tolist()]
    known = {label: index for index, label in enumerate(labels)}
    unknown = sorted(set(names) - set(known))
    if unknown:
        raise ValueError(
            f"`{name}` must hold labels of the model. Received: {unknown[:5]}. The "
            f"labels are {list(labels)}."
        )
    return np.array([known[value] for value in names], np.int64)


def label_tensor(y, labels):
    """`label_ids` for a tensor in a tf.data pipeline.

    An unknown label raises `tf.errors.InvalidArgumentError` during the run.
    """
    if y.shape.rank is not None and y.shape.rank > 1 and y.shape[1:] != (1,):
        raise ValueError(
            "`y` must have one label for each text. Received: a dataset with labels of "
            f"shape {tuple(y.shape)}. For one-hot rows use `tf.argmax(y, -1)`."
        )
    y = tf.reshape(y, (-1,))
    if y.dtype == tf.bool and set(labels) == BOOLEANS:
        y = tf.where(y, "True", "False")
    if y.dtype == tf.string:
        return name_tensor(y, labels)
    numbers = tf.cast(y, tf.int64)
    whole = tf.cast(numbers, y.dtype) == y
    if _are_integers(labels):
        return name_tensor(tf.where(whole, tf.as_string(numbers), ""), labels)
    known = (numbers >= 0) & (numbers < len(labels)) & whole
    message = f"`y` must be in [0, {len(labels)}). The labels are {list(labels)}."
    check = tf.debugging.Assert(tf.reduce_all(known), [message, y])
    with tf.control_dependencies([check]):
        return tf.identity(numbers)


def name_tensor(names, labels):
    """Class numbers int64 (N,) of names, string (N,), in a graph.

    An unknown name raises `tf.errors.InvalidArgumentError` during the run.
    """
    matches = tf.equal(names[:, None], tf.constant(labels)[None])
    message = f"`y` must hold labels of the model, which are {list(labels)}."
    known = tf.reduce_all(tf.reduce_any(matches, axis=1))
    with tf.control_dependencies([tf.debugging.Assert(known, [message, names])]):
        return tf.argmax(tf.cast(matches, tf.int32), axis=1)


def class_weights(weights, labels):
    """Keras' `class_weight` with a number for each class, checked.

    Args:
        weights: dict of a class name or number to its weight.
        labels: tuple of str, the names, in the order of the outputs.

    Returns:
        dict of int to float; a class without a weight has 1.

    Raises:
        ValueError: if a class is unknown or occurs twice, or a weight is negative or
            not finite.
    """
    found = dict.fromkeys(range(len(labels)), 1.0)
    numbers = [int(label_ids([key], labels, "class_weight")[0]) for key in weights]
    if len(set(numbers)) < len(numbers):
        raise ValueError(
            "`class_weight` must have one weight for a class. Received: "
            f"{list(weights)}. Use either the name or the number of a class."
        )
    values = row_weights(list(weights.values()), "class_weight").tolist()
    return found | dict(zip(numbers, values, strict=True))


def label_rows(y):
    """Lists of the labels of words, one list for each sentence.

    Args:
        y: list, array, series or tensor of sentences. A sentence is a list of labels,
            or a str or bytes of labels that are separated by white space.

    Returns:
        list of lists of str, bytes or int.

    Raises:
        ValueError: if `y` or a row is something else.
    """
    y = y.to_list() if isinstance(y, tf.RaggedTensor) else y
    y = y.numpy() if isinstance(y, tf.Tensor) else y
    y = y.to_numpy() if hasattr(y, "to_numpy") else y
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
    """Targets as an array of float32, checked.

    Raises:
        ValueError: if a value is not a number, or is not finite.
    """
    try:
        numbers = np.asarray(as_array(y), "float32")
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"`y` must hold numbers. Received: {error}. Remove the rows without one."
        ) from error
    _check_finite(numbers, as_array(y), "`y` must hold finite numbers.")
    return numbers


def row_weights(weights, name="sample_weight"):
    """Weights of texts as an array of float32 (B,), checked.

    Raises:
        ValueError: if a text has several weights, or a weight is not a number, negative
            or not finite.
    """
    weights = one_for_each_text(weights, name)
    try:
        numbers = weights.astype("float32")
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"`{name}` must hold numbers. Received: {error}. Use 1.0 as the default."
        ) from error
    rule = f"`{name}` must hold finite numbers of at least 0."
    _check_finite(np.where(numbers >= 0, numbers, np.nan), weights, rule)
    return numbers


def _check_finite(numbers, given, rule):
    wrong = np.argwhere(~np.isfinite(numbers))
    if len(wrong):
        place = tuple(wrong[0])
        raise ValueError(
            f"{rule} Received: {given[place]} in row {place[0] if place else 0}. "
            "Correct or remove the row."
        )


def weight_tensor(weights):
    """`row_weights` for a tensor in a tf.data pipeline; it may have any shape."""
    message = "`sample_weight` must hold finite numbers of at least 0."
    weights = tf.cast(weights, tf.float32)
    right = tf.math.is_finite(weights) & (weights >= 0)
    check = tf.debugging.Assert(tf.reduce_all(right), [message, weights])
    with tf.control_dependencies([check]):
        return tf.identity(weights)
