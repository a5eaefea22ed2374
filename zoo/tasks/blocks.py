"""Computation on a few rows at a time."""

import tensorflow as tf


def in_blocks(compute, rows, size, empty):
    """Computes in a graph, a block of rows after the other, to save memory.

    `compute` maps a block of `rows`, a nest of tensors (B, ...), to a nest of tensors
    (M, ...); `empty` is what it returns for no rows. Returns those of all blocks,
    concatenated.
    """
    count = tf.shape(tf.nest.flatten(rows)[0])[0]
    # `concat` needs at least one element, also without rows.
    arrays = [
        tf.TensorArray(
            part.dtype,
            1 - (-count // size),
            infer_shape=False,
            element_shape=(None, *part.shape[1:]),
        ).write(0, part)
        for part in tf.nest.flatten(empty)
    ]

    def body(number, arrays):
        start = number * size
        block = tf.nest.map_structure(lambda row: row[start : start + size], rows)
        found = tf.nest.flatten(compute(block))
        pairs = zip(arrays, found, strict=True)
        return number + 1, [array.write(number + 1, part) for array, part in pairs]

    _, arrays = tf.while_loop(
        lambda number, _: number * size < count,
        body,
        (0, arrays),
        parallel_iterations=1,
    )
    return tf.nest.pack_sequence_as(empty, [array.concat() for array in arrays])
