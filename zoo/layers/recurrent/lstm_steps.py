"""The steps of an LSTM and their gradient."""

from keras import ops

from zoo.layers.recurrent.scan import custom_gradient, scan, scan_packed


def clip(x, bound):
    """Clips x to [-bound, bound]; None for no bound."""
    return x if bound is None else ops.clip(x, -bound, bound)


def cell(x, m, c, kernel, projection, clips):
    """One step of x W + b (B, 4 D): m, c and the gates (B, D) after activations."""
    z = ops.cast(x + ops.matmul(m, kernel), c.dtype)
    i, f, g, o = ops.split(z, 4, axis=-1)
    i, f, g, o = ops.sigmoid(i), ops.sigmoid(f), ops.tanh(g), ops.sigmoid(o)
    c = clip(f * c + i * g, clips[0])
    h = ops.cast(o * ops.tanh(c), m.dtype)
    m = h if projection is None else clip(ops.matmul(h, projection), clips[1])
    return m, c, (i, f, g, o)


def run_plain(x, m, c, kernel, projection=None, *, mask, clips, reverse):
    """All steps of x (L, B, 4 D), mask bool (L, B, 1) or None: ms, last m and c."""

    def step(state, inputs):
        after = cell(inputs[0], *state, kernel, projection, clips)[:2]
        return kept(inputs[1:], after, state)

    xs = (x,) if mask is None else (x, mask)
    (m, c), (sequence, _) = scan(step, (m, c), xs, reverse)
    return sequence, m, c


def run_packed(x, m, c, kernel, projection=None, *, multiply, mask, clips, reverse):
    """Like `run_plain`, for the inputs x (N, I) of tokens only; m is 0 elsewhere."""

    def step(state, x):
        return cell(x, *state, kernel, projection, clips)[:2]

    (m, c), sequence = scan_packed(step, multiply, (m, c), x, mask, reverse)
    return sequence, m, c


def kept(mask, after, before):
    """The state after a step: `after` at tokens, `before` at masked steps."""
    if not mask:
        return after
    return tuple(ops.where(mask[0], a, b) for a, b in zip(after, before, strict=True))


def run_trained(x, m, c, *weights, mask, clips, reverse):
    """Computes all steps like `run_plain`, with a custom gradient."""
    # The gradient of each kernel is one product over all steps. The backward loop
    # contains no elementwise operation that can be computed for all steps at once.
    masks = () if mask is None else (ops.cast(mask, c.dtype),)
    count = len(weights)

    @custom_gradient
    def run(x, m, c, *tensors):
        kernel, *projection = tensors[:count]
        project = projection[0] if projection else None
        keep = [ops.cast(mask, "bool") for mask in tensors[count:]]

        def step(state, inputs):
            m, c, gates = cell(inputs[0], *state[:2], kernel, project, clips)
            after = kept(inputs[1:], (m, c), state[:2])
            return *after, ops.concatenate(gates, axis=-1)

        start = (m, c, ops.zeros_like(ops.tile(c, (1, 4))))
        (m_last, c_last, _), (ms, cs, gates) = scan(step, start, (x, *keep), reverse)

        def gradient(*upstream):
            upstream = upstream[0] if len(upstream) == 1 else upstream
            before = states_before(ms, m, reverse), states_before(cs, c, reverse)
            states = (before[0], ms, before[1], cs, ops.split(gates, 4, axis=-1))
            mask = keep[0] if keep else None
            gradients = back(upstream, states, kernel, project, mask, clips, reverse)
            return *gradients, *(ops.zeros_like(m) for m in tensors[count:])

        return (ms, m_last, c_last), gradient

    return run(x, m, c, *weights, *masks)


def states_before(states, first, reverse):
    """The state before each step, from the states after each step."""
    shifted = (states[1:], first[None]) if reverse else (first[None], states[:-1])
    return ops.concatenate(shifted, axis=0)


def back(upstream, states, kernel, projection, mask, clips, reverse):
    """Gradients of x, m, c, kernel and, with one, projection, of `run_trained`."""
    m_before, ms, c_before, cs, (i, f, g, o) = states
    narrow, wide = ms.dtype, cs.dtype
    keep = 1.0 if mask is None else ops.cast(mask, wide)
    squashed = ops.tanh(cs)
    hs = o * squashed
    cell_open = _inside(cs, clips[0]) * keep
    output_open = ops.cast(_inside(ops.cast(ms, wide), clips[1]) * keep, narrow)
    xs = (
        upstream[0],
        output_open,
        # d h / d c
        o * (1 - squashed * squashed),
        # d c / d z of i, f and g, and d h / d z of o
        ops.concatenate(
            [
                cell_open * g * i * (1 - i),
                cell_open * c_before * f * (1 - f),
                cell_open * i * (1 - g * g),
                hs * (1 - o),
            ],
            axis=-1,
        ),
        # d c / d c before
        cell_open * f + (1 - keep),
        ops.cast(ops.zeros_like(cs[:, :, :1]) + 1 - keep, narrow),
    )
    kernel, outward = ops.transpose(kernel), None
    if projection is not None:
        outward = ops.transpose(projection)

    def step(state, inputs):
        m, c, _, _ = state
        m_here, output_open, c_of_h, gates, c_of_c, skipped = inputs
        m = m + m_here
        raw = m * output_open
        h = ops.cast(raw if outward is None else ops.matmul(raw, outward), wide)
        c = c + h * c_of_h
        z = ops.cast(ops.concatenate([c, c, c, h], axis=-1) * gates, narrow)
        return ops.matmul(z, kernel) + m * skipped, c * c_of_c, z, raw

    m, c = upstream[1:]
    nothing = ops.cast(ops.zeros_like(ops.tile(c, (1, 4))), narrow), ops.zeros_like(m)
    (m, c, _, _), (_, _, zs, raws) = scan(step, (m, c, *nothing), xs, not reverse)
    gradients = [zs, m, c, sum_product(m_before, zs)]
    if projection is not None:
        gradients.append(sum_product(ops.cast(hs, narrow), raws))
    return tuple(gradients)


def _inside(x, bound):
    """The derivative of clipping, from the clipped values: 1 inside, 0 at the bound."""
    if bound is None:
        return ops.ones_like(x)
    return ops.cast(ops.abs(x) < bound, x.dtype)


def sum_product(a, b):
    """Sums a^T b over steps and rows."""
    a, b = (ops.reshape(t, (-1, t.shape[-1])) for t in (a, b))
    return ops.matmul(ops.transpose(a), b)
