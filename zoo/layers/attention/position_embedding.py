"""Positions: learned embeddings and sinusoids."""

import functools
from typing import Literal

import keras
import numpy as np
from keras import ops

from zoo.checks.ranges import Count, NotNegative, Size, check_values
from zoo.layers.checked_arguments import keep_checked


@keras.saving.register_keras_serializable(package="zoo")
class PositionEmbedding(keras.layers.Layer):
    """A learned vector for each position, the same for every row.

    Source: Devlin et al. 2019, section 3.2 (BERT). `keras_nlp.layers.PositionEmbedding`
    copies the vectors for each row of the batch; this layer does not.

    Args:
        max_sequence_length: int, rows of the table.
        stddev: float, standard deviation of the truncated normal initial table.

    Inputs:
        (B, L, D), of which the layer uses only the shape; optional places int32 (B, L),
        by default 0 to L - 1.

    Returns:
        (1, L, D), to be added to the input; (B, L, D) with places.

    Raises:
        ValueError: if L is known and larger than `max_sequence_length`.

    Example:
        >>> layer = PositionEmbedding(max_sequence_length=8)
        >>> tuple(layer(ops.ones((2, 3, 4))).shape)
        (1, 3, 4)
    """

    def __init__(self, max_sequence_length, stddev=0.02, **kwargs):
        super().__init__(**kwargs)
        keep_checked(self, Size, max_sequence_length=max_sequence_length)
        keep_checked(self, NotNegative, stddev=stddev)

    def build(self, input_shape, *args):
        """Creates the table (max_sequence_length, D)."""
        self.embeddings = self.add_weight(
            name="embeddings",
            shape=(self.max_sequence_length, input_shape[-1]),
            initializer=keras.initializers.TruncatedNormal(stddev=self.stddev),
        )

    def call(self, inputs, places=None):
        """Returns rows of the table."""
        return rows_of(ops.cast(self.embeddings, self.compute_dtype), inputs, places)

    def compute_output_shape(self, inputs_shape, places_shape=None):
        """(1, L, D), or (B, L, D) with places."""
        return shape_of_rows(inputs_shape, places_shape)


def shape_of_rows(inputs_shape, places_shape=None):
    """The shape of `rows_of`."""
    return (1 if places_shape is None else inputs_shape[0], *inputs_shape[1:])


def rows_of(table, inputs, places=None):
    """Rows of a table (N, D): the first L, or those at `places` (B, L)."""
    length, longest = inputs.shape[1], table.shape[0]
    if length is not None and length > longest:
        raise ValueError(
            f"A sequence must have at most {longest} positions. Received: length "
            f"{length}. Truncate the input or increase `max_sequence_length`."
        )
    if places is not None:
        return ops.take(table, places, axis=0)
    return table[None, : ops.shape(inputs)[1]]


# The exponent of each pair of columns, and whether sine and cosine alternate.
SINUSOIDS = {
    "paper": (lambda i, n: i / n, True),
    "tensor2tensor": (lambda i, n: i / max(n - 1, 1), False),
    "marian_hugging_face": (lambda i, n: i / n, False),
}


def sinusoids(positions, width, kind):
    """The sinusoids of positions, in float64.

    With `w_i = 10000^-e(i)` for i from 0 to n - 1 and n = D / 2, the row of position p
    holds `sin(p w_i)` and `cos(p w_i)`. The kinds are

    - "paper": `e(i) = i / n`, sine and cosine alternate.
    - "tensor2tensor": `e(i) = i / (n - 1)`, all sines before all cosines. The model
      garden, fairseq, OpenNMT-tf and Marian have the same.
    - "marian_hugging_face": `e(i) = i / n`, all sines before all cosines.

    Source: Vaswani et al. 2017, section 3.5, and the released code of each program. In
    an odd width, the last column is cut off; with "tensor2tensor" it is zero.

    Args:
        positions: int (...), numpy.
        width: int, D.
        kind: str, see above.

    Returns:
        float64 (..., D).

    Raises:
        ValueError: if the kind is unknown.
    """
    check_values(Literal[(*SINUSOIDS,)], kind=kind)
    check_values(Count, width=width)
    exponent, alternate = SINUSOIDS[kind]
    count = width // 2 if kind == "tensor2tensor" else (width + 1) // 2
    half = width / 2 if alternate or kind == "marian_hugging_face" else count
    rates = 10000.0 ** -exponent(np.arange(count), half)
    angles = np.asarray(positions, "float64")[..., None] * rates
    parts = np.sin(angles), np.cos(angles)
    if alternate:
        found = np.stack(parts, axis=-1).reshape(*angles.shape[:-1], -1)
    else:
        found = np.concatenate(parts, axis=-1)
    missing = width - found.shape[-1]
    if missing > 0:
        found = np.pad(found, [(0, 0)] * (found.ndim - 1) + [(0, missing)])
    return found[..., :width]


@keras.saving.register_keras_serializable(package="zoo")
class SinusoidalPositions(keras.layers.Layer):
    """The sinusoids of positions, which are not trained; see `sinusoids`.

    Args:
        max_sequence_length: int, the number of positions.
        kind: str, see `sinusoids`.
        first: int, the position of the first token (fairseq: 2, OpenNMT-tf: 1).

    Inputs:
        As of `PositionEmbedding`.

    Returns:
        (1, L, D), or (B, L, D) with places.

    Raises:
        ValueError: if the kind is unknown, or L is known and larger than
            `max_sequence_length`.

    Example:
        >>> layer = SinusoidalPositions(max_sequence_length=8)
        >>> layer(ops.ones((2, 1, 4))).numpy().tolist()
        [[[0.0, 1.0, 0.0, 1.0]]]
    """

    def __init__(self, max_sequence_length, kind="paper", first=0, **kwargs):
        super().__init__(**kwargs)
        keep_checked(self, Size, max_sequence_length=max_sequence_length)
        keep_checked(self, Literal[(*SINUSOIDS,)], kind=kind)
        keep_checked(self, Count, first=first)

    def build(self, input_shape, *args):
        """Keeps D; the table needs memory, so the first call computes it."""
        self.width = input_shape[-1]

    @functools.cached_property
    def table(self):
        """The table, float32 (max_sequence_length, D)."""
        positions = self.first + np.arange(self.max_sequence_length)
        return sinusoids(positions, self.width, self.kind).astype("float32")

    def call(self, inputs, places=None):
        """Returns rows of the table."""
        table = ops.convert_to_tensor(self.table, self.compute_dtype)
        return rows_of(table, inputs, places)

    def compute_output_shape(self, inputs_shape, places_shape=None):
        """(1, L, D), or (B, L, D) with places."""
        return shape_of_rows(inputs_shape, places_shape)
