"""The steps of a decoder with attention, and their gradient."""

from keras import ops

from zoo.layers.recurrent.lstm_steps import cell, sum_product
from zoo.layers.recurrent.scan import custom_gradient, scan

MASKED_SCORE = -1e9  # the score of a position without a token; finite in float32
NO_CLIPS = (None, None)


def attend(h, memory, keys, mask):
    """The attention (R, L) of h (R, W), with R = B * beams, and the context (R, M)."""
    queries = ops.reshape(h, (ops.shape(memory)[0], -1, h.shape[-1]))
    scores = ops.cast(ops.matmul(queries, keys), "float32")
    scores = ops.where(mask[:, None], scores, MASKED_SCORE)
    # Without the functions of Keras, which warn of a source of one word.
    scores = ops.exp(scores - ops.max(scores, axis=-1, keepdims=True))
    weights = ops.cast(scores / ops.sum(scores, axis=-1, keepdims=True), h.dtype)
    context = ops.matmul(weights, memory)
    weights = ops.reshape(weights, (ops.shape(h)[0], ops.shape(memory)[1]))
    return weights, ops.reshape(context, (-1, context.shape[-1]))


def advance(state, inputs, weights, source):
    """Computes one step.

    `state` is a (R, W), m of each layer (R, W), and c of each layer. `inputs` are x
    (R, 4 W), the product of the token's vector and its kernel, and in training a
    dropout mask (R, W) for each layer, the last one for a. `weights` are the kernels
    (2 W, 4 W) and the biases (4 W,) of each layer, and the kernel of the output
    (M + W, W). `source`: see `attend`.

    Returns the next state; and what the gradient needs: the gates of each layer
    (R, 4 W), the attention (R, L), the context (R, M), and a before dropout.
    """
    (x, *masks), count = inputs, len(weights) // 2
    below, hidden, cells, gates = state[0], [], [], []
    for i in range(count):
        joined = ops.concatenate([below, state[1 + i]], axis=-1)
        z = weights[count + i] + (0 if i else x)
        c = state[1 + count + i]
        below, c, opened = cell(z, joined, c, weights[i], None, NO_CLIPS)
        hidden.append(below)
        cells.append(c)
        gates.append(ops.concatenate(opened, axis=-1))
        if masks and i < count - 1:
            below = below * masks[i]
    attention, context = attend(below, *source)
    joined = ops.concatenate([context, below], axis=-1)
    a = ops.tanh(ops.matmul(joined, weights[-1]))
    after = (a * masks[-1] if masks else a, *hidden, *cells)
    return after, (*gates, attention, context, a)


def run_plain(state, inputs, weights, source):
    """Computes all steps outside training: a after each one (T, R, W); state."""

    def step(state, inputs):
        return advance(state, inputs, weights, source)[0]

    if inputs[0].shape[0] == 1:  # as in a search, where each loop takes time
        last = step(state, tuple(x[0] for x in inputs))
        return last[0][None], last
    last, states = scan(step, state, inputs)
    return states[0], last


def run_trained(state, inputs, weights, source):
    """Computes all steps like `run_plain`, one row per source, with a gradient."""
    # The gradient of each kernel, and that of the source, is one product over all
    # steps.
    count = len(weights) // 2
    sizes = len(state), len(inputs), len(weights)
    ends = [sum(sizes[: i + 1]) for i in range(3)]
    mask = ops.cast(source[2], "float32")

    @custom_gradient
    def run(*tensors):
        state, inputs, weights = (
            tensors[end - size : end] for size, end in zip(sizes, ends, strict=True)
        )
        *vectors, mask = tensors[ends[-1] :]
        source = (*vectors, ops.cast(mask, "bool"))

        def step(before, inputs):
            after, more = advance(before[: sizes[0]], inputs, weights, source)
            return *after, *more

        gates, memory = ops.cast(inputs[0][0], state[-1].dtype), source[0]
        # Of the shapes of what `advance` returns beside the state.
        shaped = [*[gates] * count, memory[:, :, 0], ops.sum(memory, axis=1), state[0]]
        start = (*state, *map(ops.zeros_like, shaped))
        last, states = scan(step, start, inputs)

        def gradient(*upstream):
            upstream = upstream[0] if len(upstream) == 1 else upstream
            return back(upstream, state, inputs, weights, source, states)

        return (states[0], *last[: sizes[0]]), gradient

    vectors, *last = run(*state, *inputs, *weights, *source[:2], mask)
    return vectors, tuple(last)


def back(upstream, state, inputs, weights, source, states):
    """The gradients of `run_trained`; `states` is what `advance` returned, (T, ...)."""
    count, (_, *masks) = len(weights) // 2, inputs
    narrow, wide = source[0].dtype, state[-1].dtype
    before = [
        ops.concatenate([first[None], x[:-1]], axis=0)
        for first, x in zip(state, states, strict=False)
    ]
    a, *records = states
    hidden, cells = records[:count], records[count : 2 * count]
    gates, (attention, context, squashed) = records[2 * count : -3], records[-3:]
    slope = ops.cast(1, narrow) - squashed * squashed
    slope = slope * masks[-1] if masks else slope
    factors = [*map(_factors, gates, cells, before[1 + count :])]
    upward, *last = upstream
    xs = (upward, slope, attention, *sum(factors, ()), *masks[:-1])
    zero = ops.cast(ops.zeros_like(ops.tile(state[-1], (1, 4))), narrow)
    nothing = (*[zero] * count, ops.zeros_like(a[0]), context[0], attention[0])
    step = _step_back(weights, source, narrow, wide)
    carried, found = scan(step, (*last, *nothing), xs, reverse=True)
    *dzs, du, dcontext, scores = found[1 + 2 * count :]
    below = [before[0], *hidden[:-1]]
    if masks:
        below[1:] = [h * m for h, m in zip(hidden[:-1], masks, strict=False)]
    products = [
        sum_product(ops.concatenate([low, previous], axis=-1), dz)
        for low, previous, dz in zip(below, before[1 : 1 + count], dzs, strict=True)
    ]
    biases = [ops.sum(ops.cast(dz, wide), axis=(0, 1)) for dz in dzs]
    return (
        *carried[: 1 + 2 * count],
        dzs[0],
        *map(ops.zeros_like, masks),
        *products,
        *(ops.cast(bias, narrow) for bias in biases),
        sum_product(ops.concatenate([context, hidden[-1]], axis=-1), du),
        ops.einsum("tbl,tbm->blm", attention, dcontext),
        ops.einsum("tbw,tbl->bwl", hidden[-1], scores),
        ops.zeros_like(ops.cast(source[2], "float32")),
    )


def _step_back(weights, source, narrow, wide):
    """The function of the gradients after a step to those before it."""
    count, width = len(weights) // 2, source[0].shape[-1]
    kernels = [ops.transpose(kernel) for kernel in weights[:count]]
    output_kernel = ops.transpose(weights[-1])
    memory, keys = (ops.transpose(t, (0, 2, 1)) for t in source[:2])

    def step(carried, inputs):
        upward, slope, attention, *rest = inputs
        dh, dc = [*carried[1 : 1 + count]], [*carried[1 + count : 1 + 2 * count]]
        du = (carried[0] + upward) * slope
        joined = ops.matmul(du, output_kernel)
        dcontext = joined[:, :width]
        attention = ops.cast(attention, "float32")
        dweights = ops.matmul(dcontext[:, None], memory)[:, 0]
        dweights = ops.cast(dweights, "float32") * attention
        scores = dweights - ops.sum(dweights, axis=-1, keepdims=True) * attention
        scores = ops.cast(scores, narrow)
        dh[-1] = dh[-1] + joined[:, width:] + ops.matmul(scores[:, None], keys)[:, 0]
        dzs = [None] * count
        for i in reversed(range(count)):
            c_of_h, c_of_c, of_gates = rest[3 * i : 3 * i + 3]
            h = ops.cast(dh[i], wide)
            c = dc[i] + h * c_of_h
            z = ops.concatenate([c, c, c, h], axis=-1) * of_gates
            dzs[i] = ops.cast(z, narrow)
            below, dh[i] = ops.split(ops.matmul(dzs[i], kernels[i]), 2, axis=-1)
            dc[i] = c * c_of_c
            if i:
                # Without masks there are no inputs after the factors.
                dropped = rest[3 * count + i - 1] if rest[3 * count :] else 1
                dh[i - 1] = dh[i - 1] + below * dropped
        return (below, *dh, *dc, *dzs, du, dcontext, scores)

    return step


def _factors(gates, c, c_before):
    """Derivatives d c / d h, d c / d c before, d c / d z of i, f, g; d h / d z of o."""
    i, f, g, o = ops.split(gates, 4, axis=-1)
    squashed = ops.tanh(c)
    of_gates = [
        g * i * (1 - i),
        c_before * f * (1 - f),
        i * (1 - g * g),
        squashed * o * (1 - o),
    ]
    return o * (1 - squashed * squashed), f, ops.concatenate(of_gates, axis=-1)
