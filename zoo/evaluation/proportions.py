"""Wilson's intervals of proportions, such as an accuracy."""

import numpy as np

Z = 1.959963984540054  # the 97.5th percentile of the standard normal distribution


def proportion_interval(right, sizes=None):
    """Computes Wilson's 95% interval of a proportion.

    `(p + z^2 / 2n +- z sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2 / n)`, with the
    proportion p of n. Unlike the bootstrap, it has a width if p is 0 or 1.

    The words of a sentence are not independent. If rows have several, n is divided by
    the design effect, the variance of p over rows divided by `p (1 - p) / n`, but at
    least by 1.

    Source: Wilson 1927; Brown, Cai and DasGupta 2001; Kish 1965 for the design effect.

    Args:
        right: sequence (N,) of how many are right in each row, or bool.
        sizes: sequence (N,), of how many in each row; by default 1.

    Returns:
        Tuple of two float, the ends of the interval; 0 and 1 without anything to count.

    Example:
        >>> low, high = proportion_interval([True] * 61)
        >>> round(low, 3), high
        (0.941, 1.0)
    """
    right = np.asarray(right, "float64")
    sizes = np.ones(len(right)) if sizes is None else np.asarray(sizes, "float64")
    count = sizes.sum()
    if not count:
        return 0.0, 1.0
    share = right.sum() / count
    variance = share * (1 - share) / count
    if variance > 0:
        spread = np.sum((right - share * sizes) ** 2) / count**2
        count /= max(spread / variance, 1.0)
        variance = share * (1 - share) / count
    centre = share + Z**2 / (2 * count)
    width = Z * np.sqrt(variance + (Z / (2 * count)) ** 2)
    ends = np.array([centre - width, centre + width]) / (1 + Z**2 / count)
    low, high = np.clip(np.round(ends, 12), 0.0, 1.0)  # 1, and not an error of rounding
    return float(low), float(high)
