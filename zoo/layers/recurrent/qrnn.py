"""A quasi-recurrent layer."""

from typing import Literal

import keras
from keras import ops

from zoo.checks.ranges import Probability, Size
from zoo.layers.checked_arguments import keep_checked
from zoo.layers.recomputation import RecomputedLayer
from zoo.layers.recurrent.lstm_steps import kept, states_before
from zoo.layers.recurrent.scan import scan


@keras.saving.register_keras_serializable(package="zoo")
class QRNN(RecomputedLayer, keras.layers.Layer):
    """A quasi-recurrent layer: convolution over time, then a loop without products.

    `z, f, o = split([x_t, x_{t-1}] W + b)`,
    `c_t = sigmoid(f) tanh(z) + (1 - sigmoid(f)) c_{t-1}`, `h_t = sigmoid(o) c_t`.

    The columns of W and b are in the order z, f, o. f multiplies the new value, as in
    the released code; the paper has it the other way round. At masked steps the state
    does not change and the output is 0.

    Source: Bradbury et al. 2017; released code pytorch-qrnn, which fastai 1 follows.

    Args:
        units: int, width D.
        window: 1 or 2, the inputs that a step reads; with 1, x_t only.
        reverse: bool, whether to read from the last position to the first.
        weight_dropout: float in [0, 1), probability that an element of W is dropped in
            a training call.

    Inputs:
        x (B, L, I); optional mask (B, L), 1 = token; optional initial_state, a tuple of
        the input before the first (B, I) and c (B, D), zeros by default.

    Returns:
        Tuple of the sequence (B, L, D) and the state after its last token: its input
        (B, I), and c (B, D) in float32.

    Raises:
        ValueError: if an argument is out of its range.

    Example:
        >>> sequence, last, cell = QRNN(4, window=2)(ops.ones((2, 3, 5)))
        >>> tuple(sequence.shape), tuple(last.shape), tuple(cell.shape)
        ((2, 3, 4), (2, 5), (2, 4))
    """

    def __init__(self, units, window=1, reverse=False, weight_dropout=0.0, **kwargs):
        super().__init__(**kwargs)
        keep_checked(self, Size, units=units)
        keep_checked(self, Literal[1, 2], window=window)
        keep_checked(self, bool, reverse=reverse)
        keep_checked(self, Probability, weight_dropout=weight_dropout)
        self.seed_generator = keras.random.SeedGenerator() if weight_dropout else None
        self.supports_masking = True

    def build(self, input_shape, *args, **kwargs):
        """Creates the weights. `input_shape` is (B, L, I)."""
        rows = self.window * input_shape[-1]
        self.kernel = self.add_weight(name="kernel", shape=(rows, 3 * self.units))
        self.bias = self.add_weight(
            name="bias", shape=(3 * self.units,), initializer="zeros"
        )

    def call(self, x, mask=None, initial_state=None, training=None):
        """Reads the sequence; see the class for shapes."""
        wide = "float64" if self.compute_dtype == "float64" else "float32"
        previous, c = initial_state or (
            ops.zeros_like(x[:, 0]),
            ops.zeros((ops.shape(x)[0], self.units), wide),
        )
        x = ops.transpose(x, (1, 0, 2))
        masks = ()
        if mask is not None:
            masks = (ops.transpose(ops.cast(mask, "bool"))[:, :, None],)
        previous = ops.cast(previous, self.compute_dtype)
        (last,), (inputs,) = scan(_latest, (previous,), (x, *masks), self.reverse)
        if self.window == 2:
            before = states_before(inputs, previous, self.reverse)
            x = ops.concatenate([x, before], axis=-1)
        kernel, rate = ops.cast(self.kernel, self.compute_dtype), self.weight_dropout
        if training and rate:
            kernel = keras.random.dropout(kernel, rate, seed=self.seed_generator)
        gates = ops.cast(ops.matmul(x, kernel) + self.bias, wide)
        z, f, o = ops.split(gates, 3, axis=-1)
        z, f, o = ops.tanh(z), ops.sigmoid(f), ops.sigmoid(o)
        start = (ops.cast(c, wide),)
        (c,), (cs,) = scan(_mix, start, (z, f, *masks), self.reverse)
        sequence = o * cs * (ops.cast(masks[0], wide) if masks else 1.0)
        sequence = ops.transpose(ops.cast(sequence, self.compute_dtype), (1, 0, 2))
        return sequence, last, c

    def compute_output_shape(self, input_shape, *args, **kwargs):
        """The shapes of the sequence and of the two states."""
        batch, length, width = input_shape
        return (batch, length, self.units), (batch, width), (batch, self.units)

    def compute_mask(self, inputs, mask=None, *args, **kwargs):
        """The sequence has the mask of the input, the states have none."""
        return mask, None, None


def _latest(state, inputs):
    """The input of the latest token."""
    return kept(inputs[1:], inputs[:1], state)


def _mix(state, inputs):
    """C after a step."""
    z, f, *mask = inputs
    return kept(mask, (f * z + (1 - f) * state[0],), state)
