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
