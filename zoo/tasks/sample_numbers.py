"""The random numbers by which samples are drawn."""

import numpy as np
import tensorflow as tf


def uniform_numbers(rows, options):
    """Numbers in [0, 1) by which samples of some rows are drawn, float32 (R, T).

    A row has the same numbers in every batch.

    Args:
        rows: int (B,), the numbers of the rows in the list of all.
        options: `GenerationOptions`.
    """
    if not options.samples:
        return np.zeros((len(rows), 0), "float32")
    shape = options.num_return, options.max_new_tokens
    parts = [np.random.default_rng([options.seed, row]).random(shape) for row in rows]
    numbers = np.concatenate([np.zeros((0, shape[1])), *parts]).astype("float32")
    return np.minimum(numbers, np.nextafter(np.float32(1), np.float32(0)))


def numbers_of_first_row(texts, options):
    """The numbers of row 0 for every text, in a graph, float32 (R, T).

    An answer must not depend on the other texts of a batch.

    Args:
        texts: string (B,).
        options: `GenerationOptions`.
    """
    numbers = tf.constant(uniform_numbers([0], options))
    return tf.tile(numbers, [tf.shape(texts)[0], 1])
