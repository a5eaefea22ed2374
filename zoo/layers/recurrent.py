"""Recurrent layers."""

import functools
import math

import keras
from keras import ops

from zoo.layers.scanning import scan, scan_packed


@keras.saving.register_keras_serializable(package="zoo")
class LSTM(keras.layers.Layer):
    """A long short-term memory with optional projection and clipping.

    With input x, output m and cell c, the gates i, f, o and the candidate g:

    `i, f, g, o = split(x_t W + m_{t-1} U + b)`,
    `c_t = clip(sigmoid(f + forget_bias) c_{t-1} + sigmoid(i) tanh(g), cell_clip)`,
    `m_t = clip((sigmoid(o) tanh(c_t)) P, projection_clip)`.

    The columns of W, U and b are in the order i, f, g, o, as in Keras. The forget bias
    is added at every step and not stored in b. Where the mask is 0 the state is handed
    on unchanged and the output is 0, so that padding on either side has no influence.

    Source: Sak et al. 2014 for the projection; TensorFlow 1's `LSTMCell` for the
    clipping. `keras.layers.LSTM` has neither; it multiplies x_t in every step, and
    its gradient adds up U's in every step: here both are one product each.

    Args:
        units: int, width D of the cell.
        projection_dim: int, width P of the output; None for D and no projection.
        cell_clip: float, bound of |c|; None for none.
        projection_clip: float, bound of |m| after the projection; None for none.
        forget_bias: float, 1.0 as in Jozefowicz et al. 2015.
        reverse: bool, whether it reads from the last position to the first. The
            output stays in the order of the input.
        packed: bool, whether, outside training, steps without a token are not even
            computed, which XLA and other backends than TensorFlow cannot do. With a
            sixth of a batch padding that saves an eighth of ELMo's time on a CPU.

    Inputs:
        x (B, L, I); optional mask (B, L), bool or number, 1 = token; optional
        initial_state, a tuple of m (B, P) and c (B, D), zeros by default.

    Returns:
        Tuple of the sequence (B, L, P) and the state after its last token, m (B, P)
        and c (B, D). Gates and cell are float32 under 16-bit policies, c stays so.

    Raises:
        ValueError: if a width or a bound is not positive, or `projection_clip` is
            given without a projection.

    Example:
    >>> layer = LSTM(8, projection_dim=4)
    >>> sequence, output, cell = layer(keras.ops.ones((2, 3, 5)))
    >>> tuple(sequence.shape), tuple(output.shape), tuple(cell.shape)
    ((2, 3, 4), (2, 4), (2, 8))
    """

    def __init__(
        self,
        units,
        projection_dim=None,
        cell_clip=None,
        projection_clip=None,
        forget_bias=1.0,
        reverse=False,
        packed=False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.packed = packed and keras.backend.backend() == "tensorflow"
        self.supports_jit = not self.packed
        sizes = (units, projection_dim, cell_clip, projection_clip)
        if any(size is not None and size <= 0 for size in sizes):
            raise ValueError(
                "`units`, `projection_dim`, `cell_clip` and `projection_clip` must be "
                f"positive. Received: {sizes}. None leaves the last three out."
            )
        if projection_clip and not projection_dim:
            raise ValueError(
                "`projection_clip` bounds what the projection gives. Received: "
                f"{projection_clip}, and no `projection_dim`."
            )
        self.units = units
        self.projection_dim = projection_dim
        self.cell_clip = cell_clip
        self.projection_clip = projection_clip
        self.forget_bias = forget_bias
        self.reverse = reverse
        self.supports_masking = True

    @property
    def output_dim(self):
        """Width of the output."""
        return self.projection_dim or self.units

    def build(self, input_shape, *args, **kwargs):
        """Creates the weights. `input_shape` is (B, L, I)."""
        gates = 4 * self.units
        # W and U are one Glorot matrix, as in TensorFlow 1.
        limit = math.sqrt(6 / (input_shape[-1] + self.output_dim + gates))
        uniform = keras.initializers.RandomUniform
        self.kernel = self.add_weight(
            name="kernel",
            shape=(input_shape[-1], gates),
            initializer=uniform(-limit, limit),
        )
        self.recurrent_kernel = self.add_weight(
            name="recurrent_kernel",
            shape=(self.output_dim, gates),
            initializer=uniform(-limit, limit),
        )
        self.bias = self.add_weight(name="bias", shape=(gates,), initializer="zeros")
        self.projection_kernel = None
        if self.projection_dim:
            self.projection_kernel = self.add_weight(
                name="projection_kernel",
                shape=(self.units, self.projection_dim),
                initializer="glorot_uniform",
            )
        self.built = True

    def call(self, x, mask=None, initial_state=None, training=None):
        """Runs over the sequence; see the class for shapes."""
        wide = "float64" if self.compute_dtype == "float64" else "float32"
        cast = functools.partial(ops.cast, dtype=self.compute_dtype)
        gates = 4 * self.units
        batch, length = ops.shape(x)[0], ops.shape(x)[1]
        forget = ops.repeat(ops.arange(4) == 1, self.units)
        bias = self.bias + self.forget_bias * ops.cast(forget, self.bias.dtype)
        x = ops.transpose(x, (1, 0, 2))
        if mask is not None:
            mask = ops.transpose(ops.cast(mask, "bool"))
        packed = self.packed and mask is not None and not training
        x = x[mask] if packed else ops.reshape(x, (-1, x.shape[-1]))
        x = ops.matmul(x, cast(self.kernel)) + cast(bias)
        if not packed:
            x = ops.reshape(x, (length, batch, gates))
            mask = mask if mask is None else mask[:, :, None]
        m, c = initial_state or (
            ops.zeros((batch, self.output_dim)),
            ops.zeros((batch, self.units)),
        )
        run = functools.partial(
            run_packed if packed else run_trained if training else run_plain,
            mask=mask,
            clips=(self.cell_clip, self.projection_clip),
            reverse=self.reverse,
        )
        weights = [cast(self.recurrent_kernel)]
        if self.projection_dim:
            weights.append(cast(self.projection_kernel))
        sequence, m, c = run(x, cast(m), ops.cast(c, wide), *weights)
        if mask is not None and not packed:
            sequence = sequence * cast(mask)
        return ops.transpose(sequence, (1, 0, 2)), m, c

    def compute_output_shape(self, input_shape, *args, **kwargs):
        """Of the sequence and the state."""
        batch, length, _ = input_shape
        sequence = (batch, length, self.output_dim)
        return sequence, (batch, self.output_dim), (batch, self.units)

    def compute_mask(self, inputs, mask=None, *args, **kwargs):
        """The sequence keeps the mask, the state has none."""
        return mask, None, None


def clip(x, bound):
    """X between -bound and bound; None is no bound."""
    return x if bound is None else ops.clip(x, -bound, bound)


def cell(x, m, c, kernel, projection, clips):
    """One step.

    Args:
        x: (B, 4 D), the input's share of the gates.
        m, c: (B, P) and (B, D), the state before.
        kernel: (P, 4 D).
        projection: (D, P), or None.
        clips: bounds of c and m, float or None.

    Returns:
        m, c and gates (B, 4 D), the activations.
    """
    z = ops.cast(x + ops.matmul(m, kernel), c.dtype)
    i, f, g, o = ops.split(z, 4, axis=-1)
    i, f, g, o = ops.sigmoid(i), ops.sigmoid(f), ops.tanh(g), ops.sigmoid(o)
    c = clip(f * c + i * g, clips[0])
    h = ops.cast(o * ops.tanh(c), m.dtype)
    m = h if projection is None else clip(ops.matmul(h, projection), clips[1])
    return m, c, (i, f, g, o)


def run_plain(x, m, c, kernel, projection=None, *, mask, clips, reverse):
    """All steps; keeps nothing for a gradient.

    Args:
        x: (L, B, 4 D), the input's share of the gates.
        m, c, kernel, projection, clips: see `cell`.
        mask: bool (L, B, 1), or None.
        reverse: bool.

    Returns:
        The states m (L, B, P), and the last m and c.
    """

    def step(state, inputs):
        after = cell(inputs[0], *state, kernel, projection, clips)[:2]
        return _kept(inputs[1:], after, state)

    xs = (x,) if mask is None else (x, mask)
    (m, c), (sequence, _) = scan(step, (m, c), xs, reverse)
    return sequence, m, c


def run_packed(x, m, c, kernel, projection=None, *, mask, clips, reverse):
    """`run_plain` on tokens only; the states m are 0 where none is.

    Args:
        x: (N, 4 D), of the tokens, step by step.
        mask: bool (L, B).
        m, c, kernel, projection, clips, reverse: as there.
    """

    def step(state, x):
        return cell(x, *state, kernel, projection, clips)[:2]

    (m, c), sequence = scan_packed(step, (m, c), x, mask, reverse)
    return sequence, m, c


def _kept(mask, after, before):
    """The state after a token, or the one before where the mask says there is none."""
    if not mask:
        return after
    return tuple(ops.where(mask[0], a, b) for a, b in zip(after, before, strict=True))


def run_trained(x, m, c, *weights, mask, clips, reverse):
    """`run_plain`, with a gradient of its own: the kernels' is one product each.

    Everything that is elementwise is done for all steps at once, before the loop back.
    """

    @ops.custom_gradient
    def run(x, m, c, kernel, *projection):
        project = projection[0] if projection else None

        def step(state, inputs):
            m, c, gates = cell(inputs[0], *state[:2], kernel, project, clips)
            after = _kept(inputs[1:], (m, c), state[:2])
            return *after, ops.concatenate(gates, axis=-1)

        xs = (x,) if mask is None else (x, mask)
        start = (m, c, ops.zeros_like(ops.tile(c, (1, 4))))
        (m_last, c_last, _), (ms, cs, gates) = scan(step, start, xs, reverse)

        def gradient(*upstream):
            upstream = upstream[0] if len(upstream) == 1 else upstream
            states = (_before(ms, m, reverse), ms, _before(cs, c, reverse), cs)
            states = (*states, ops.split(gates, 4, axis=-1))
            return back(upstream, states, kernel, project, mask, clips, reverse)

        return (ms, m_last, c_last), gradient

    return run(x, m, c, *weights)


def _before(states, first, reverse):
    """The states before each step, from those after it."""
    parts = (states[1:], first[None]) if reverse else (first[None], states[:-1])
    return ops.concatenate(parts, axis=0)


def back(upstream, states, kernel, projection, mask, clips, reverse):
    """Gradients of `run_trained`.

    Args:
        upstream: gradients of its three outputs.
        states: m before and after every step, c before and after every step, all
            (L, B, ...), and the gates, a tuple of four.
        kernel, projection, mask, clips, reverse: as there.

    Returns:
        Gradients of x, m, c, kernel and, if there is one, the projection.
    """
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
        o * (1 - squashed * squashed),  # d h / d c
        ops.concatenate(  # d c / d z of i, f and g, and d h / d z of o
            [
                cell_open * g * i * (1 - i),
                cell_open * c_before * f * (1 - f),
                cell_open * i * (1 - g * g),
                hs * (1 - o),
            ],
            axis=-1,
        ),
        cell_open * f + (1 - keep),  # d c / d c before
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
    gradients = [zs, m, c, _product(m_before, zs)]
    if projection is not None:
        gradients.append(_product(ops.cast(hs, narrow), raws))
    return tuple(gradients)


def _inside(x, bound):
    """1 where the clipped x depends on what was clipped, else 0."""
    if bound is None:
        return ops.ones_like(x)
    return ops.cast(ops.abs(x) < bound, x.dtype)


def _product(a, b):
    """Sum over steps and rows of a^T b."""
    a, b = (ops.reshape(t, (-1, t.shape[-1])) for t in (a, b))
    return ops.matmul(ops.transpose(a), b)
