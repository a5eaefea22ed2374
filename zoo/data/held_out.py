"""Rows that are held out of the training, in the shares of their classes."""

import numpy as np


def held_out_rows(classes, count, places=None):
    """The sorted numbers of `count` of N rows, of which each class has its share.

    A class of n of the N rows has `count n / N`, rounded down. The rows that are left
    go first to the classes that would have none and have two rows or more, then to
    those with the largest remainders. Of a class, the rows with the lowest `places`,
    float (N,), are chosen, by default the last ones.
    """
    _, numbers, sizes = np.unique(classes, return_inverse=True, return_counts=True)
    whole, remainders = np.divmod(sizes * count, sizes.sum())
    first = np.lexsort((-remainders, (whole > 0) | (sizes < 2)))
    whole[first[: count - whole.sum()]] += 1
    order = -np.arange(len(numbers)) if places is None else places
    order = np.lexsort((order, numbers))
    rank = np.empty(len(numbers), int)
    rank[order] = np.arange(len(numbers)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.flatnonzero(rank < whole[numbers])
