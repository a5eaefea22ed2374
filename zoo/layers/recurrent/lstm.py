"""A long short-term memory with projection and clipping."""

import functools
import math

import keras
from keras import ops

from zoo.checks.ranges import Number, Positive, Probability, Size
from zoo.layers.checked_arguments import keep_checked
from zoo.layers.quantization import MatrixLayer
from zoo.layers.recomputation import RecomputedLayer
from zoo.layers.recurrent.lstm_steps import run_packed, run_plain, run_trained


@keras.saving.register_keras_serializable(package="zoo")
class LSTM(RecomputedLayer, MatrixLayer):
    """A long short-term memory with optional projection and clipping.

    With input x, output m, cell c, gates i, f, o and candidate g:

    `i, f, g, o = split(x_t W + m_{t-1} U + b)`,
    `c_t = clip(sigmoid(f + forget_bias) c_{t-1} + sigmoid(i) tanh(g), cell_clip)`,
    `m_t = clip((sigmoid(o) tanh(c_t)) P, projection_clip)`.

    The columns of W, U and b are in the order i, f, g, o, as in Keras. The forget bias
    is added at every step and is not stored in b. At masked steps the state does not
    change and the output is 0. `quantize("int8")` stores W, U and P as int8 with a
    scale for each column.

    Source: Sak et al. 2014 for the projection; `LSTMCell` of TensorFlow 1 for the
    clipping. `keras.layers.LSTM` has neither, and computes x_t W and the gradient of U
    step by step; here each is one product.

    Args:
        units: int, width D of the cell.
        projection_dim: int, width P of the output; None for D and no projection.
        cell_clip, projection_clip: float, bounds of |c| and |m|; None for no bound.
        forget_bias: float; 1.0 as in Jozefowicz et al. 2015.
        reverse: bool, whether to read from the last position to the first. The output
            is in the order of the input.
        packed: bool, whether to skip masked steps outside training, which only
            TensorFlow without XLA can do. If a sixth of a batch is padding, it saves an
            eighth of the time of ELMo on a CPU. Other rows of a batch then change a row
            by rounding, about 1e-7.
        weight_dropout: float in [0, 1), probability that an element of U is dropped in
            all steps and rows of a training call (Merity et al. 2018, section 2).

    Inputs:
        x (B, L, I); optional mask (B, L), bool or number, 1 = token; optional
        initial_state, a tuple of m (B, P) and c (B, D), zeros by default.

    Returns:
        Tuple of the sequence (B, L, P) and the state after its last token, m (B, P) and
        c (B, D). Gates and cell are float32 under 16-bit policies.

    Raises:
        ValueError: if an argument is out of its range, or `projection_clip` is given
            without a projection.

    Example:
        >>> layer = LSTM(8, projection_dim=4)
        >>> sequence, output, cell = layer(keras.ops.ones((2, 3, 5)))
        >>> tuple(sequence.shape), tuple(output.shape), tuple(cell.shape)
        ((2, 3, 4), (2, 4), (2, 8))
    """

    matrices = {"kernel": 0, "recurrent_kernel": 0, "projection_kernel": 0}

    def __init__(
        self,
        units,
        projection_dim=None,
        cell_clip=None,
        projection_clip=None,
        forget_bias=1.0,
        reverse=False,
        packed=False,
        weight_dropout=0.0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        clips = {"cell_clip": cell_clip, "projection_clip": projection_clip}
        keep_checked(self, Size, units=units)
        keep_checked(self, Size | None, projection_dim=projection_dim)
        keep_checked(self, Positive | None, **clips)
        keep_checked(self, Number, forget_bias=forget_bias)
        keep_checked(self, bool, reverse=reverse, packed=packed)
        keep_checked(self, Probability, weight_dropout=weight_dropout)
        if projection_clip and not projection_dim:
            raise ValueError(
                "`projection_clip` needs `projection_dim`. Received: projection_clip="
                f"{projection_clip}, projection_dim={projection_dim}. Use `cell_clip` "
                "to bound the cell."
            )
        self.seed_generator = keras.random.SeedGenerator() if weight_dropout else None
        self.supports_masking = True

    @property
    def packed(self):
        """Whether masked steps are skipped outside training."""
        return not self.supports_jit

    @packed.setter
    def packed(self, value):
        self.supports_jit = not value or keras.backend.backend() != "tensorflow"

    @property
    def output_dim(self):
        """Width P of the output."""
        return self.projection_dim or self.units

    def build(self, input_shape, *args, **kwargs):
        """Creates the weights. `input_shape` is (B, L, I)."""
        gates = 4 * self.units
        # The limit is that of one Glorot matrix of W and U, as in TensorFlow 1.
        limit = math.sqrt(6 / (input_shape[-1] + self.output_dim + gates))
        rows = {"kernel": input_shape[-1], "recurrent_kernel": self.output_dim}
        for name, count in rows.items():
            uniform = keras.initializers.RandomUniform(-limit, limit)
            self.add_matrix(name, (count, gates), initializer=uniform)
        self.bias = self.add_weight(name="bias", shape=(gates,), initializer="zeros")
        self.projection_kernel = None
        if self.projection_dim:
            shape = self.units, self.projection_dim
            self.add_matrix("projection_kernel", shape, initializer="glorot_uniform")

    def call(self, x, mask=None, initial_state=None, training=None):
        """Reads the sequence; see the class for shapes."""
        wide = "float64" if self.compute_dtype == "float64" else "float32"
        cast = functools.partial(ops.cast, dtype=self.compute_dtype)
        batch, length = ops.shape(x)[0], ops.shape(x)[1]
        forget = ops.repeat(ops.arange(4) == 1, self.units)
        bias = self.bias + self.forget_bias * ops.cast(forget, self.bias.dtype)

        def multiply(x):
            return ops.matmul(x, self.matrix("kernel")) + cast(bias)

        x = ops.transpose(x, (1, 0, 2))
        if mask is not None:
            mask = ops.transpose(ops.cast(mask, "bool"))
        options = {"clips": (self.cell_clip, self.projection_clip)}
        options["reverse"] = self.reverse
        packed = self.packed and mask is not None and not training
        if packed:
            run = functools.partial(run_packed, multiply=multiply)
            x = x[mask]
        else:
            run = run_trained if training else run_plain
            x = multiply(ops.reshape(x, (-1, x.shape[-1])))
            x = ops.reshape(x, (length, batch, 4 * self.units))
            mask = mask if mask is None else mask[:, :, None]
        m, c = initial_state or (
            ops.zeros((batch, self.output_dim)),
            ops.zeros((batch, self.units)),
        )
        kernel, rate = self.matrix("recurrent_kernel"), self.weight_dropout
        if training and rate:
            kernel = keras.random.dropout(kernel, rate, seed=self.seed_generator)
        weights = [kernel]
        if self.projection_dim:
            weights.append(self.matrix("projection_kernel"))
        m, c = cast(m), ops.cast(c, wide)
        sequence, m, c = run(x, m, c, *weights, mask=mask, **options)
        if mask is not None and not packed:
            sequence = sequence * cast(mask)
        return ops.transpose(sequence, (1, 0, 2)), m, c

    def compute_output_shape(self, input_shape, *args, **kwargs):
        """The shapes of the sequence and of the two states."""
        batch, length, _ = input_shape
        sequence = (batch, length, self.output_dim)
        return sequence, (batch, self.output_dim), (batch, self.units)

    def compute_mask(self, inputs, mask=None, *args, **kwargs):
        """The sequence has the mask of the input, the states have none."""
        return mask, None, None
