"""Weights of single words, which become one str for each text as its labels do."""

import numpy as np
import tensorflow as tf

from zoo.tasks.inputs.targets import as_array, row_weights

ROW_TYPES = (list, tuple, np.ndarray, str, bytes)


def are_word_weights(weights):
    """Whether weights are rows of numbers, and not one number for each text."""
    weights = weights.to_pylist() if hasattr(weights, "to_pylist") else weights
    weights = weights.to_numpy() if hasattr(weights, "to_numpy") else weights
    if isinstance(weights, (tf.RaggedTensor, tf.Tensor, np.ndarray)):
        kind, shape = tf.as_dtype(weights.dtype), tuple(weights.shape)
        if kind != tf.string:
            return len(shape) == 2 and shape[1] != 1
    if isinstance(weights, tf.Tensor):
        return True
    if not hasattr(weights, "__iter__") or getattr(weights, "shape", 1) == ():
        return False  # one number
    rows = [row for row in weights if isinstance(row, ROW_TYPES)]
    numbers = [row for row in rows if isinstance(row, (list, tuple)) and len(row) == 1]
    return bool(rows) and len(numbers) < len(weights)


def word_weights(weights, labels):
    """Weights of words as a str for each text, an array (B,), checked.

    Args:
        weights: for each text, a list of numbers, one for each word, or a str of them
            that are separated by white space.
        labels: the encoded labels of the words of each text, see `word_classes`.

    Raises:
        ValueError: if a word has no weight, or it is no number of at least 0.
    """
    weights = weights.to_list() if isinstance(weights, tf.RaggedTensor) else weights
    weights = as_array(weights).tolist() if isinstance(weights, tf.Tensor) else weights
    weights = weights.to_pylist() if hasattr(weights, "to_pylist") else weights
    rows = [_numbers(row, place) for place, row in enumerate(weights)]
    classes = word_classes(labels)
    if len(rows) != len(classes):
        raise ValueError(
            "`sample_weight` must have a row for each text. Received: "
            f"{len(rows)} rows for {len(classes)} texts."
        )
    for place, (row, words) in enumerate(zip(rows, classes, strict=True)):
        if len(row) != len(words):
            raise ValueError(
                "`sample_weight` must have a number for every word. Received: "
                f"{len(row)} numbers for {len(words)} words in row {place}."
            )
    flat = iter(row_weights([value for row in rows for value in row]).tolist())
    texts = [" ".join(str(next(flat)) for _ in row) for row in rows]
    return np.array(texts, object)


def _numbers(row, place):
    """The weights of one text, a list."""
    row = row.decode() if isinstance(row, bytes) else row
    row = row.split() if isinstance(row, str) else row
    if not isinstance(row, (list, tuple, np.ndarray)):
        raise ValueError(
            "`sample_weight` must have a list of numbers for each text. Received: "
            f"{row!r:.60} in row {place}."
        )
    return [*row]


def word_classes(labels):
    """The class numbers of the words of each text, list of lists of int.

    Args:
        labels: array (B,) of str, the numbers of the words of each text; or
            tf.RaggedTensor (B, None, T) of probabilities, of which the likeliest count.
    """
    if isinstance(labels, tf.RaggedTensor):
        return labels.with_values(tf.argmax(labels.values, axis=-1)).to_list()
    return [[int(number) for number in row.split()] for row in labels]


def weighted_words(labels, weights, class_weight):
    """Weights of words as `word_weights`, times those of their classes.

    Args:
        labels: see `word_classes`.
        weights: float (B,), or strings (B,) of `word_weights`; None for 1.
        class_weight: dict of class number to float.
    """
    texts, classes = [], word_classes(labels)
    weights = [1.0] * len(classes) if weights is None else weights
    for numbers, weight in zip(classes, weights, strict=True):
        found = [class_weight[number] for number in numbers]
        if isinstance(weight, (str, bytes)):
            pairs = zip(found, weight.split(), strict=True)
            found = [value * float(other) for value, other in pairs]
        else:
            found = [value * float(weight) for value in found]
        texts.append(" ".join(map(str, found)))
    return np.array(texts, object)
