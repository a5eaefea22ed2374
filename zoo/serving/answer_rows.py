"""Arrays of answers: joined from batches, and as rows of plain values."""

import numpy as np

# What fills up answers (B, W) whose widths differ, by `dtype.kind`.
PADDING = {"O": "", "f": 0.0, "i": -1}


def join_rows(parts, order):
    """Joins dicts of arrays (B, ...), reorders the rows, and pads differing widths."""
    joined = {}
    for key in parts[0]:
        arrays = [part[key] for part in parts]
        if len({array.shape[1:] for array in arrays}) > 1:
            width = max(array.shape[1] for array in arrays)
            arrays = [
                np.pad(
                    array,
                    ((0, 0), (0, width - array.shape[1])),
                    constant_values=PADDING[array.dtype.kind],
                )
                for array in arrays
            ]
        joined[key] = np.concatenate(arrays)[order]
    return joined


def plain_rows(answers, names=None, padded=()):
    """Yields a dict of plain values for each row of answers, without padding.

    `answers` is a dict of arrays (B, ...). `names` are those of a row, by default all.
    `padded` has the names of the arrays that end in padding. The first of them has
    strings, and "" is its padding.
    """
    names = names or [*answers]
    padded = [name for name in padded if name in answers]
    counts = np.sum(answers[padded[0]] != "", axis=1).tolist() if padded else None
    columns = [answers[name].tolist() for name in names]
    for number, values in enumerate(zip(*columns, strict=True)):
        row = dict(zip(names, values, strict=True))
        for name in padded:
            if name in row:
                row[name] = row[name][: counts[number]]
        yield row
