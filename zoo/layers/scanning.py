"""A loop over the steps of a sequence."""

import keras
from keras import ops


def scan(step, state, inputs, reverse=False):
    """Calls a function for every step of a sequence.

    `keras.ops.scan` is not used on TensorFlow: of several inputs it does not take an
    unknown length.

    Args:
        step: function of state and inputs of a step to the state after it.
        state: tuple of tensors.
        inputs: tuple of tensors (L, ...).
        reverse: bool, whether the last step comes first.

    Returns:
        The last state, and the states after every step, a tuple of tensors (L, ...).
    """
    if keras.backend.backend() != "tensorflow":
        return ops.scan(lambda *a: (step(*a),) * 2, state, inputs, reverse=reverse)
    import tensorflow as tf

    length, steps = tf.shape(inputs[0])[0], inputs[0].shape[0]
    inputs = [
        tf.TensorArray(x.dtype, length, element_shape=x.shape[1:]).unstack(x)
        for x in inputs
    ]
    states = [tf.TensorArray(s.dtype, length, element_shape=s.shape) for s in state]

    def body(count, state, states):
        index = length - 1 - count if reverse else count
        state = tuple(step(state, tuple(x.read(index) for x in inputs)))
        states = [a.write(index, s) for a, s in zip(states, state, strict=True)]
        return count + 1, state, states

    _, state, states = tf.while_loop(
        lambda count, *_: count < length, body, (0, tuple(state), states)
    )
    states = tuple(array.stack() for array in states)
    for stacked in states:
        stacked.set_shape([steps, *stacked.shape[1:]])
    return state, states


def scan_packed(step, state, inputs, mask, reverse=False):
    """`scan` of the rows alone that have a token in a step, in TensorFlow.

    Rows without one are neither computed nor changed. Needs shapes that depend on
    values, so XLA cannot do it.

    Args:
        step: function of state and input, both of some rows, to the state after it.
        state: tuple of tensors (B, ...).
        inputs: (N, ...), of the tokens in the order of `tf.where(mask)`.
        mask: bool (L, B), true at the N tokens.
        reverse: bool, whether the last step comes first.

    Returns:
        The last state, and the first part of the states after every step, (L, B, ...),
        0 where no token is.
    """
    import tensorflow as tf

    length, tokens = tf.shape(mask)[0], tf.where(mask)
    counts = tf.math.count_nonzero(mask, axis=1)
    starts = tf.cumsum(counts, exclusive=True)
    outputs = tf.TensorArray(
        state[0].dtype,
        length + 1,
        element_shape=(None, *state[0].shape[1:]),
        infer_shape=False,
    ).write(length, state[0][:0])  # nothing cannot be concatenated, if there is no step

    def body(count, state, outputs):
        index = length - 1 - count if reverse else count
        here = slice(starts[index], starts[index] + counts[index])
        rows = tokens[here, 1]
        before = tuple(tf.gather(part, rows) for part in state)
        after = step(before, inputs[here])
        state = tuple(
            tf.tensor_scatter_nd_update(part, rows[:, None], new)
            for part, new in zip(state, after, strict=True)
        )
        return count + 1, state, outputs.write(index, after[0])

    _, state, outputs = tf.while_loop(
        lambda count, *_: count < length, body, (0, tuple(state), outputs)
    )
    shape = tf.concat([tf.shape(mask), tf.shape(state[0])[1:]], axis=0)
    sequence = tf.scatter_nd(tokens, outputs.concat(), tf.cast(shape, tokens.dtype))
    sequence.set_shape([*mask.shape, *state[0].shape[1:]])
    return state, sequence
