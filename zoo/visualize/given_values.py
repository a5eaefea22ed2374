"""What pictures are made from: numbers, names and texts, checked."""

import reprlib

import numpy as np

from zoo.visualize.plain_text import to_text


def to_numbers(name, values, shape, gaps=False):
    """Numbers of an argument, float64; ValueError if they are no finite numbers.

    `shape` says what the dimensions are, none of them empty. With `gaps`, None and NaN
    may stand between the numbers, and the array may be empty.
    """
    try:
        array = np.asarray(values, "float64")
    except (TypeError, ValueError, OverflowError):
        received = reprlib.repr(values)
    else:
        wrong = np.count_nonzero(~np.isfinite(array))
        received = f"shape {array.shape}, {wrong} values that are not finite"
        if array.ndim == len(shape) and (gaps or (array.size and not wrong)):
            return array
    raise ValueError(
        f"`{name}` must hold finite numbers in the shape ({', '.join(shape)}). "
        f"Received: {received}."
    )


def to_texts(name, values, count):
    """A list of `count` names or numbers as str; the ValueError names the argument."""
    listed = to_list(values)
    if listed is None or len(listed) != count:
        raise ValueError(
            f"`{name}` must be a list of {count} names. Received: "
            f"{reprlib.repr(values) if listed is None else len(listed)}."
        )
    return [*map(to_text, listed)]


def to_list(values):
    """A list of the values, or None for what is no list."""
    single = isinstance(values, (str, bytes, dict)) or getattr(values, "ndim", 1) == 0
    return list(values) if hasattr(values, "__iter__") and not single else None


def to_dict(name, values):
    """A dict with names as keys; raises ValueError for what is no dict."""
    if not isinstance(values, dict):
        raise ValueError(f"`{name}` must be a dict. Received: {reprlib.repr(values)}.")
    return {to_text(key): value for key, value in values.items()}
