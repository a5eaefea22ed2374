"""Whether one system is better than another, or only luckier with the test set."""

import numpy as np


def paired_bootstrap(correct_a, correct_b, seed, samples=10000):
    """How much better A is than B, with a 95% interval over resampled test sets.

    A resample draws N examples with replacement, the same for both systems; the
    interval reaches from the 2.5th to the 97.5th percentile of `mean(a) - mean(b)`. If
    it excludes 0, the difference is significant at 5%.

    Source: Efron and Tibshirani 1993, section 13.3 (the percentile interval); Koehn
    2004, section 5 (pairs). How often a resample has each difference is drawn at once,
    from a multinomial, which is the same as drawing the examples.

    Args:
        correct_a: sequence (N,), 1 where A is right and 0 where it is wrong, or
            another score of each example.
        correct_b: sequence (N,) of the same examples.
        seed: int.
        samples: int, resamples.

    Returns:
        float, the mean difference; float, float, the interval.

    Raises:
        ValueError: if the lengths differ, there are no examples or no samples.

    Example:
    >>> paired_bootstrap([1, 1, 1, 1], [0, 0, 0, 0], seed=0)
    (1.0, 1.0, 1.0)
    """
    a, b = np.asarray(correct_a, "float64"), np.asarray(correct_b, "float64")
    if a.ndim != 1 or a.shape != b.shape or not len(a) or samples < 1:
        raise ValueError(
            "`correct_a` and `correct_b` must be of one axis, equally long and not "
            f"empty, `samples` positive. Received: shapes {a.shape} and {b.shape}, "
            f"samples={samples}."
        )
    values, counts = np.unique(a - b, return_counts=True)
    draws = np.random.default_rng(seed).multinomial(len(a), counts / len(a), samples)
    low, high = np.percentile(draws @ values / len(a), [2.5, 97.5])
    return float(np.mean(a - b)), float(low), float(high)


def bootstrap_interval(statistic, size, seed, samples=1000):
    """The 95% interval of a statistic of a test set, over resampled test sets.

    For metrics that are no mean over examples, where `paired_bootstrap` does not fit:
    a correlation, an F1. The difference of two systems is such a statistic, too.

    Source: Efron and Tibshirani 1993, section 13.3 (the percentile interval).

    Args:
        statistic: function of row numbers int (N,), drawn with replacement, to float.
        size: int, N, examples in the test set.
        seed: int.
        samples: int, resamples.

    Returns:
        float, float, the interval.

    Raises:
        ValueError: if there are no examples or no samples.

    Example:
    >>> right = np.ones(4)
    >>> bootstrap_interval(lambda rows: right[rows].mean(), 4, seed=0)
    (1.0, 1.0)
    """
    if size < 1 or samples < 1:
        raise ValueError(
            "`size` and `samples` must be positive. Received: "
            f"size={size}, samples={samples}."
        )
    generator = np.random.default_rng(seed)
    found = [statistic(generator.integers(size, size=size)) for _ in range(samples)]
    low, high = np.percentile(found, [2.5, 97.5])
    return float(low), float(high)
