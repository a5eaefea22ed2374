"""Recurrent layers."""

import functools
import math

import keras
from keras import ops

from zoo.layers.recurrence import run_packed, run_plain, run_trained


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
            sixth of a batch padding that saves an eighth of ELMo's time on a CPU. The
            other rows of a batch then change a row by rounding only, about 1e-7.

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
        self.packed = packed
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
    def packed(self):
        """Whether steps without a token are not computed."""
        return not self.supports_jit

    @packed.setter
    def packed(self, value):
        self.supports_jit = not value or keras.backend.backend() != "tensorflow"

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
        batch, length = ops.shape(x)[0], ops.shape(x)[1]
        forget = ops.repeat(ops.arange(4) == 1, self.units)
        bias = self.bias + self.forget_bias * ops.cast(forget, self.bias.dtype)

        def share(x):
            return ops.matmul(x, cast(self.kernel)) + cast(bias)

        x = ops.transpose(x, (1, 0, 2))
        if mask is not None:
            mask = ops.transpose(ops.cast(mask, "bool"))
        options = {"clips": (self.cell_clip, self.projection_clip)}
        options["reverse"] = self.reverse
        packed = self.packed and mask is not None and not training
        if packed:
            run = functools.partial(run_packed, share=share, mask=mask, **options)
            x = x[mask]
        else:
            x = share(ops.reshape(x, (-1, x.shape[-1])))
            x = ops.reshape(x, (length, batch, 4 * self.units))
            mask = mask if mask is None else mask[:, :, None]
            run = functools.partial(
                run_trained if training else run_plain, mask=mask, **options
            )
        m, c = initial_state or (
            ops.zeros((batch, self.output_dim)),
            ops.zeros((batch, self.units)),
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
