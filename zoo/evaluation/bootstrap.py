"""Bootstrap intervals: whether a difference on a test set is significant."""

import numpy as np

from zoo.checks.ranges import Size, check_values


def paired_bootstrap(correct_a, correct_b, seed, samples=10000):
    """Computes the difference of two systems with a 95% bootstrap interval.

    Each resampled test set has N examples, drawn with replacement, the same for both
    systems. The interval is from the 2.5th to the 97.5th percentile of
    `mean(a) - mean(b)`. If it does not contain 0, the difference is significant at 5%.

    Source: Efron and Tibshirani 1993, section 13.3 (percentile interval); Koehn 2004,
    section 5 (pairs). The number of examples with each difference is drawn from a
    multinomial distribution. That is equivalent to drawing the examples.

    Args:
        correct_a, correct_b: sequences (N,) for the same examples, 1 if A or B is right
            and 0 if it is wrong, or another score.
        seed: int.
        samples: int, number of resampled test sets.

    Returns:
        Tuple of three float: the mean difference, and the two ends of the interval.

    Raises:
        ValueError: if the lengths differ, there are no examples, or `samples` is not
            positive.

    Example:
        >>> paired_bootstrap([1, 1, 1, 1], [0, 0, 0, 0], seed=0)
        (1.0, 1.0, 1.0)
    """
    a, b = np.asarray(correct_a, "float64"), np.asarray(correct_b, "float64")
    check_values(Size, samples=samples)
    if a.ndim != 1 or a.shape != b.shape or not len(a):
        raise ValueError(
            "`correct_a` and `correct_b` must have one axis and the same length, and "
            f"must not be empty. Received: shapes {a.shape} and {b.shape}."
        )
    values, counts = np.unique(a - b, return_counts=True)
    draws = np.random.default_rng(seed).multinomial(len(a), counts / len(a), samples)
    low, high = np.percentile(draws @ values / len(a), [2.5, 97.5])
    return float(np.mean(a - b)), float(low), float(high)


def bootstrap_interval(statistic, size, seed, samples=1000):
    """Computes a 95% bootstrap interval of any statistic of a test set.

    Use it for metrics that are not a mean over examples, such as a correlation or F1.
    For a mean, use `paired_bootstrap`. The statistic may be the difference between two
    systems.

    Source: Efron and Tibshirani 1993, section 13.3 (percentile interval).

    Args:
        statistic: function of row numbers int (N,), drawn with replacement, to float.
        size: int, N, number of examples in the test set.
        seed: int.
        samples: int, number of resampled test sets.

    Returns:
        Tuple of two float, the ends of the interval.

    Raises:
        ValueError: if `size` or `samples` is not positive.

    Example:
        >>> right = np.ones(4)
        >>> bootstrap_interval(lambda rows: right[rows].mean(), 4, seed=0)
        (1.0, 1.0)
    """
    check_values(Size, size=size, samples=samples)
    generator = np.random.default_rng(seed)
    found = [statistic(generator.integers(size, size=size)) for _ in range(samples)]
    low, high = np.percentile(found, [2.5, 97.5])
    return float(low), float(high)
