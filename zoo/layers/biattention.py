"""The attention and the pooling of the biattentive classification network."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="zoo")
class Biattention(keras.layers.Layer):
    """The vectors of a text, and what they attend to in another text.

    `[x; x - a; x * a]` with `a_i = sum_j softmax_j(x_i . y_j) y_j`, over the tokens of
    the other text; 0 if it has none. The product is by element. The softmax is float32
    under every policy.

    Source: McCann et al. 2017, section 4, where a is C_y. For a single text, AllenNLP's
    `bcn` is followed: x and y are the same vectors.

    Inputs:
        x (B, L, D), the text; y (B, M, D), the other text; y_mask (B, M), 1 = token of
        y. The masked positions of x are computed like all others.

    Returns:
        (B, L, 3 D).

    Example:
        >>> x, y = ops.full((1, 1, 1), 2.0), ops.full((1, 2, 1), 3.0)
        >>> Biattention()(x, y, ops.ones((1, 2))).numpy().tolist()
        [[[2.0, -1.0, 6.0]]]
    """

    def call(self, x, y, y_mask):
        """Compares the L positions of x with the M positions of y."""
        scores = ops.matmul(x, ops.transpose(y, (0, 2, 1)))
        shares = masked_softmax(scores, y_mask[:, None])
        attended = ops.matmul(ops.cast(shares, self.compute_dtype), y)
        return ops.concatenate([x, x - attended, x * attended], axis=-1)

    def compute_output_shape(self, x_shape, y_shape=None, y_mask_shape=None):
        """(B, L, 3 D)."""
        return (*x_shape[:-1], 3 * x_shape[-1])


@keras.saving.register_keras_serializable(package="zoo")
class AttentivePooling(keras.layers.Layer):
    """One vector per row: maximum, minimum, mean and a weighted mean over all tokens.

    `[max_t h_t; min_t h_t; mean_t h_t; sum_t softmax_t(h_t . v) h_t]` with a learned v,
    without masked positions; 0 for a row without tokens. It computes in float32.

    Source: McCann et al. 2017, section 4. The paper and AllenNLP add a bias to
    `h_t . v`, which does not change the softmax.

    Inputs:
        sequence (B, L, D); padding_mask (B, L), 1 = token.

    Returns:
        (B, 4 D).

    Example:
        >>> layer = AttentivePooling()
        >>> tuple(layer(ops.ones((2, 3, 4)), ops.ones((2, 3))).shape)
        (2, 16)
    """

    def build(self, sequence_shape, *args, **kwargs):
        """Creates v (D, 1)."""
        self.vector = self.add_weight(name="vector", shape=(sequence_shape[-1], 1))

    def call(self, sequence, padding_mask):
        """Pools over the L positions."""
        wide = ops.cast(sequence, "float32")
        mask = ops.cast(padding_mask, "float32")[:, :, None]
        filled = ops.max(mask, axis=1, initial=0)
        most = ops.max(ops.where(mask > 0, wide, -1e9), axis=1, initial=-1e9)
        least = ops.min(ops.where(mask > 0, wide, 1e9), axis=1, initial=1e9)
        mean = ops.sum(wide * mask, axis=1) / ops.maximum(ops.sum(mask, axis=1), 1.0)
        scores = ops.matmul(wide, ops.cast(self.vector, "float32"))
        shares = masked_softmax(scores, mask, axis=1)
        pooled = ops.concatenate(
            [
                ops.where(filled > 0, most, 0.0),
                ops.where(filled > 0, least, 0.0),
                mean,
                ops.sum(wide * shares, axis=1),
            ],
            axis=-1,
        )
        return ops.cast(pooled, self.compute_dtype)

    def compute_output_shape(self, sequence_shape, padding_mask_shape=None):
        """(B, 4 D)."""
        return (sequence_shape[0], 4 * sequence_shape[-1])


def masked_softmax(scores, mask, axis=-1):
    """Softmax over the positions with mask 1, float32; 0 where the mask is 0."""
    mask = ops.cast(mask, "float32")
    scores = ops.where(mask > 0, ops.cast(scores, "float32"), -1e9)
    # Where the mask is 0 along the whole axis, the result is 0.
    return ops.softmax(scores, axis=axis) * mask
