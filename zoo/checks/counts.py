"""Checks of integers: numbers of rows, steps and epochs, and the ids of a corpus."""

import operator

import numpy as np

from zoo.checks.ranges import LARGEST_INTEGER


def whole_number(value, name, least=None, way="", most=LARGEST_INTEGER):
    """An integer, int, from `least`, if any, to `most`; ValueError for other values.

    The integers of NumPy are integers, booleans are not. The message has the `name` of
    the argument, and ends with `way`: what to use instead.
    """
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None or not (least is None or number >= least) or number > most:
        bound = "" if least is None else f" of at least {least}"
        if number is not None and number > most:
            bound += f" and at most {most}"
        message = f"`{name}` must be an integer{bound}. Received: {value!r:.60}. {way}"
        raise ValueError(message.strip())
    return number


def check_corpus(ids, offsets):
    """Checks ids (T,), integers, and `offsets` (D + 1,), which do not fall.

    Text i is `ids[offsets[i] : offsets[i + 1]]`. Returns ids, unchanged, and offsets,
    int64. ValueError if they have another shape or type, an id is negative or above
    int32, or a text is not within `ids`.
    """
    ids, starts = np.asanyarray(ids), np.asarray(offsets)
    for name, values in (("ids", ids), ("offsets", starts)):
        if values.ndim != 1 or values.dtype.kind not in "iu":
            raise ValueError(
                f"`{name}` must be an array of integers with one axis. Received: "
                f"{values.dtype} of shape {values.shape}."
            )
    known = len(starts) and starts[0] >= 0 and starts[-1] <= len(ids)
    if not known or (starts[1:] < starts[:-1]).any():
        raise ValueError(
            f"`offsets` must rise from 0 to {len(ids)}, the number of ids. Received: "
            f"{np.array2string(starts, threshold=6)}."
        )
    if not isinstance(ids, np.memmap):  # it may be large, and is one of ours
        part = ids[starts[0] : starts[-1]]
        if part.size and not (0 <= part.min() and part.max() <= LARGEST_INTEGER):
            raise ValueError(
                f"`ids` must hold integers from 0 to {LARGEST_INTEGER}. Received: "
                f"{part.min()} to {part.max()}."
            )
    return ids, starts.astype("int64")
