"""Names of labels, and the label that a target equals by its name or as a number."""

import collections
import decimal
import functools
import math
import numbers
import operator
import re
from collections.abc import Iterable, Mapping

import numpy as np
import tensorflow as tf

from zoo.backbone.config import LARGEST_OPTION
from zoo.tasks.inputs.text_input import SURROGATES

FALSE, TRUE = ("false", "False", "FALSE"), ("true", "True", "TRUE")
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
# The names of equal numbers of different types become one, that of an int.
SPELLINGS = (
    (r"(-?(?:0|[1-9][0-9]*))\.0", r"\1"),
    (f"({'|'.join(FALSE)})", "0"),
    (f"({'|'.join(TRUE)})", "1"),
)


def label_names(labels):
    """The names of a model's outputs, list of str, checked.

    `labels` are two or more different str, or numbers or bool, which are named as
    Python writes them; or their number, which names them "0", "1" and so on.
    """
    count = _number_of(labels)
    no_list = isinstance(labels, (str, bytes, Mapping))
    if no_list or not isinstance(labels, Iterable) or getattr(labels, "shape", 1) == ():
        values = range(count or 0)
    else:
        values = labels.numpy() if isinstance(labels, tf.Tensor) else labels
    names = [*map(_label_name, values)]
    if len(names) < 2 or None in names or len(set(names)) < len(names):
        raise ValueError(
            "`labels` must be two or more different names, or their number. "
            f"Received: {labels!r:.200}. Give a list such as ['no', 'yes'], or 2."
        )
    return names


def _number_of(labels):
    """A number of labels as an int; None if it is something else, or too large."""
    try:
        count = None if isinstance(labels, bool) else operator.index(labels)
    except TypeError:
        return None
    return None if count is None or count > LARGEST_OPTION else count


def _label_name(label):
    """The name of a label, or None if it has none."""
    label = label.decode("utf-8", "replace") if isinstance(label, bytes) else label
    known = isinstance(label, (str, numbers.Number, np.bool_)) and label == label
    return str(label) if known and not SURROGATES.search(str(label)) else None


def label_value(name):
    """The number that a name stands for, int or float; None for another text."""
    if name in (*FALSE, *TRUE):
        return int(name in TRUE)
    number = float(name) if NUMBER.fullmatch(name) else math.nan
    if not math.isfinite(number):
        return None
    exact = decimal.Decimal(name)  # an int64 may be no float
    whole = abs(number) < 2.0**64 and exact == exact.to_integral_value()
    return int(exact) if whole else number


def values_in(labels, dtype):
    """Pairs of a number that a label stands for, in `dtype`, and its class number.

    A fraction is rounded, since 0.1 in float32 is not the 0.1 of Python.
    """
    found = []
    for index, value in enumerate(map(label_value, labels)):
        if value is None:
            continue
        whole = isinstance(value, int)
        if dtype.is_integer:
            known = whole and dtype.min <= value <= dtype.max
        else:
            with np.errstate(over="ignore"):
                rounded = float(dtype.as_numpy_dtype(value))
            known = math.isfinite(rounded) and (rounded == value or not whole)
            value = rounded
        if known:
            found.append((value, index))
    return found


def takes_class_numbers(labels):
    """Whether a number that equals no label may be a class number.

    It may not if it could be mistaken for a label: if a class number is the name of
    another class, as in "1", "2", "3+", or if all names are numbers and one of them is
    a class number, as in "0", "1", "5".
    """
    values = [label_value(label) for label in labels]
    numbers = range(len(labels))
    both = [index for index, value in enumerate(values) if value in numbers]
    return all(values[index] == index for index in both) and (
        not both or None in values
    )


def spelling(name):
    """A name in the spelling that it shares with the names of equal numbers."""
    for pattern, other in SPELLINGS:
        found = re.fullmatch(pattern, name)
        name = found.expand(other) if found else name
    return name


def as_labels(values, labels):
    """Values of which those that equal a label are this label; others do not change."""
    known = {spelling(str(label)): label for label in labels}
    exact = {*labels}
    return [
        value if value in exact else known.get(spelling(str(value)), value)
        for value in values
    ]


def numbers_of_names(names, labels, name="y"):
    """Class numbers, int64 (B,), of names, which are str, bytes or other values.

    Raises ValueError if a name is unknown, or has the number of several labels.
    """
    exact, similar = _numbers_of_labels(tuple(labels))
    texts = [
        v.decode("utf-8", "replace") if isinstance(v, bytes) else str(v) for v in names
    ]
    known = {text: exact.get(text) or similar.get(spelling(text)) for text in {*texts}}
    unknown = sorted(text for text, found in known.items() if not found)
    if unknown:
        raise ValueError(
            f"`{name}` must hold labels of the model. Received: {unknown[:5]}. The "
            f"labels are {list(labels)}."
        )
    for text in sorted(known.keys() - exact.keys()):
        _check_one_label(text, known[text], labels, name)
    return np.array([known[text][0] for text in texts], np.int64)


@functools.lru_cache
def _numbers_of_labels(labels):
    """Class numbers by name, and by the spelling of a name, two dicts of lists."""
    similar = collections.defaultdict(list)
    for index, label in enumerate(labels):
        similar[spelling(label)].append(index)
    return {label: [index] for index, label in enumerate(labels)}, dict(similar)


def numbers_of_values(y, labels, name="y"):
    """Class numbers, int64 (B,), of targets that are numbers (B,).

    Raises ValueError if a number is unknown, equals several labels, or may be both a
    label and a class number.
    """
    known = collections.defaultdict(list)
    for value, index in values_in(labels, tf.as_dtype(y.dtype)):
        known[value].append(index)
    values, inverse = np.unique(y, return_inverse=True)
    values = values.tolist()
    found = [known.get(value, []) for value in values]
    for value, same in zip(values, found, strict=True):
        _check_one_label(value, same, labels, name)
    if all(found):
        values = [same[0] for same in found]
    else:
        _check_class_numbers(values, found, labels, name)
    return np.array(values, np.int64)[inverse]


def _check_one_label(value, found, labels, name):
    """Raises ValueError if a target equals several labels, whose numbers are found."""
    if len(found) > 1:
        equal = " and ".join(repr(labels[index]) for index in found)
        raise ValueError(
            f"`{name}` must equal one label. Received: {value!r}, which equals {equal}."
            " Give the name of the label."
        )


def _check_class_numbers(values, found, labels, name):
    """Raises ValueError unless numbers that are no labels are class numbers."""
    wrong = [value for value in values if value != value or value % 1]
    if wrong:
        raise ValueError(
            f"`{name}` must hold class numbers. Received: {wrong[0]}. To predict "
            'numbers, load the model with `task="text_regressor"`.'
        )
    size = len(labels)
    outside = [value for value in values if not 0 <= value < size]
    if outside and all(label_value(label) is None for label in labels):
        raise ValueError(
            f"`{name}` must be in [0, {size}). Received: {outside[0]}. The labels are "
            f"{list(labels)}."
        )
    unknown = [str(v) for v, same in zip(values, found, strict=True) if not same]
    if outside:
        raise ValueError(
            f"`{name}` must hold labels of the model. Received: {unknown[:5]}. The "
            f"labels are {list(labels)}."
        )
    if not takes_class_numbers(labels):
        named = [repr(labels[same[0]]) if same else "unknown" for same in found[:5]]
        raise ValueError(
            f"`{name}` must be clear about labels and class numbers. Received: "
            f"{values[:5]}. As labels, they are {', '.join(named)}. As class numbers, "
            f"they are {', '.join(repr(labels[int(v)]) for v in values[:5])}. Give the "
            "names of the labels."
        )
