"""A loop over the steps of a sequence."""

import keras
from keras import ops

# The inputs of this many steps are prepared at once.
STEPS_AT_ONCE = 64


def scan(step, state, inputs, reverse=False):
    """Calls a function for each step (L, ...); the last state, and all of them."""
    # On TensorFlow, `keras.ops.scan` does not accept several inputs of unknown length.
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


def custom_gradient(function):
    """`ops.custom_gradient`, in a graph of its own on TensorFlow."""
    if keras.backend.backend() != "tensorflow":
        return ops.custom_gradient(function)
    import tensorflow as tf

    function = tf.custom_gradient(function)
    if tf.executing_eagerly():
        return function
    # TensorFlow keeps the graph of every custom gradient as long as the process lives.
    # Without a graph of its own, this would be the whole training step. The closure of
    # the function has no tensors.
    return tf.function(function, autograph=False)


def scan_packed(step, prepare, state, inputs, mask, reverse=False):
    """Calls a function for each step, with only the rows that have a token there.

    The state of the other rows does not change. Needs TensorFlow without XLA. `step` is
    a function of the state and the prepared input of some rows to their next state,
    `prepare` one of the inputs of up to 64 steps (M, ...) to (M, G). The state is a
    tuple of tensors (B, ...), `inputs` (N, ...) are those of the N tokens where mask,
    bool (L, B), is True, in the order of `tf.where`. Returns the last state, and its
    first tensor after each step (L, B, ...), 0 if masked.
    """
    import tensorflow as tf

    length, tokens = tf.shape(mask)[0], tf.where(mask)
    counts = tf.math.count_nonzero(mask, axis=1)
    starts = tf.concat([[0], tf.cumsum(counts)], axis=0)
    prepared = prepare(inputs[:0])
    shape = (None, *state[0].shape[1:])
    outputs = tf.TensorArray(
        state[0].dtype, length + 1, element_shape=shape, infer_shape=False
    )
    # Without any step `concat` would fail, so an empty tensor is added.
    outputs = outputs.write(length, state[0][:0])

    def body(count, state, prepared, outputs):
        index = length - 1 - count if reverse else count
        first, last = _block(index, length)
        prepared = tf.cond(
            index == (last - 1 if reverse else first),
            lambda: prepare(inputs[starts[first] : starts[last]]),
            lambda: prepared,
        )
        number = counts[index]
        # TensorFlow multiplies a single row in another way, with different last bits. A
        # single row of several is therefore computed twice. With oneDNN on AVX-512, the
        # other rows of the batch then change no bit of it. Elsewhere they may change
        # the last bits.
        twice = (tf.shape(mask)[1] > 1) & (number == 1)
        size = tf.where(twice, tf.cast(2, tf.int64), number)
        places = starts[index] + tf.minimum(tf.range(size), number - 1)
        rows = tf.gather(tokens, places)[:, 1]
        before = tuple(tf.gather(tensor, rows) for tensor in state)
        after = step(before, tf.gather(prepared, places - starts[first]))
        after, rows = tuple(tensor[:number] for tensor in after), rows[:number, None]
        state = tuple(
            map(tf.tensor_scatter_nd_update, state, (rows,) * len(after), after)
        )
        return count + 1, state, prepared, outputs.write(index, after[0])

    shapes = tf.TensorShape([None, *prepared.shape[1:]]), None
    _, state, _, outputs = tf.while_loop(
        lambda count, *_: count < length,
        body,
        (0, tuple(state), prepared, outputs),
        (tf.TensorShape([]), tuple(tensor.shape for tensor in state), *shapes),
    )
    shape = tf.concat([tf.shape(mask), tf.shape(state[0])[1:]], axis=0)
    sequence = tf.scatter_nd(tokens, outputs.concat(), tf.cast(shape, tokens.dtype))
    sequence.set_shape([*mask.shape, *state[0].shape[1:]])
    return state, sequence


def _block(index, length):
    """The block of steps that contains a step: its first step and its end."""
    first = index // STEPS_AT_ONCE * STEPS_AT_ONCE
    return first, ops.minimum(first + STEPS_AT_ONCE, length)
