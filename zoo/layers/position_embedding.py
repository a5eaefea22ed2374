"""Learned embeddings of positions."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="zoo")
class PositionEmbedding(keras.layers.Layer):
    """A learned vector for each position, the same for every row.

    Source: Devlin et al. 2019, section 3.2 (BERT). The first position is 0.
    `keras_nlp.layers.PositionEmbedding` copies the vectors for each row of the batch;
    this layer does not.

    Args:
        max_sequence_length: int, rows of the table.
        stddev: float, standard deviation of the truncated normal initial table.

    Inputs:
        (B, L, D), of which the layer uses only the shape.

    Returns:
        (1, L, D), to be added to the input.

    Raises:
        ValueError: if L is known and larger than `max_sequence_length`.
    """

    def __init__(self, max_sequence_length, stddev=0.02, **kwargs):
        super().__init__(**kwargs)
        self.max_sequence_length = max_sequence_length
        self.stddev = stddev

    def build(self, input_shape):
        """Creates the table (max_sequence_length, D)."""
        self.embeddings = self.add_weight(
            name="embeddings",
            shape=(self.max_sequence_length, input_shape[-1]),
            initializer=keras.initializers.TruncatedNormal(stddev=self.stddev),
        )
        self.built = True

    def call(self, inputs):
        """Returns the first L rows of the table."""
        if inputs.shape[1] is not None and inputs.shape[1] > self.max_sequence_length:
            raise ValueError(
                f"A sequence must have at most {self.max_sequence_length} positions. "
                f"Received: length {inputs.shape[1]}. Truncate the input or increase "
                "`max_sequence_length`."
            )
        return ops.cast(self.embeddings, self.compute_dtype)[
            None, : ops.shape(inputs)[1]
        ]

    def compute_output_shape(self, input_shape):
        """(1, L, D)."""
        return (1, *input_shape[1:])
