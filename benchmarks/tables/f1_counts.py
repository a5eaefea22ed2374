"""F1 of counts of each sentence, and its bootstrap intervals."""

import numpy as np

from zoo.evaluation import bootstrap_interval


def f1(counts):
    """F1 from counts (N, 3) of all sentences. For words it is the accuracy.

    The counts of a sentence are those of the right spans, of the found ones and of the
    true ones.
    """
    right, found, there = np.sum(counts, axis=0)
    return float(2 * right / max(found + there, 1))


def f1_interval(fits, others=()):
    """The mean F1 of fits in percent and its 95 % bootstrap interval over sentences.

    Args:
        fits: list of counts (N, 3), one for each seed.
        others: the same of what is compared. The result is then the difference.

    Returns:
        tuple of three float: the value, and the ends of the interval.
    """
    sides = [np.stack(side, 1).astype(float) for side in (fits, others) if len(side)]
    size = len(sides[0])

    def value(chosen):
        times = np.bincount(chosen, minlength=size).astype(float)
        totals = [np.tensordot(times, side, 1) for side in sides]
        means = [np.mean([f1([row]) for row in side]) for side in totals]
        return 100 * (means[0] - sum(means[1:]))

    return value(np.arange(size)), *bootstrap_interval(value, size, seed=0)
