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
