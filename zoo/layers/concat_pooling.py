"""ULMFiT's pooling of a text."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="zoo")
class ConcatPooling(keras.layers.Layer):
    """One vector per row: the last vector, the maximum and the mean over all tokens.

    `[h_last; max_t h_t; mean_t h_t]`. Masked positions have no influence, on either
    side. The vector of a row without tokens is 0. The mean is computed in float32.

    Source: Howard and Ruder 2018, section 3.3; fastai 2 `masked_concat_pool`. fastai
    0.7, with which the paper's results were made, does not mask padding.

    Args:
        reverse: bool, whether the last vector is that of the first token, as in a model
            that reads from the last token to the first.

    Inputs:
        sequence (B, L, D); padding_mask (B, L), 1 = token.

    Returns:
        (B, 3 D).
    """

    def __init__(self, reverse=False, **kwargs):
        super().__init__(**kwargs)
        self.reverse = reverse

    def call(self, sequence, padding_mask):
        """Pools over the L positions."""
        wide = ops.cast(sequence, "float32")
        mask = ops.cast(padding_mask, "float32")[:, :, None]
        # Of equal numbers, `argmax` takes the first one.
        order = -1.0 if self.reverse else 1.0
        number = order * (ops.cumsum(mask, axis=1) * mask) - 1e9 * (1 - mask)
        length = ops.shape(sequence)[1]
        last = ops.cast(
            ops.equal(ops.arange(length)[None], ops.argmax(number, axis=1)), "float32"
        )
        last = ops.sum(wide * last[:, :, None] * mask, axis=1)
        some = ops.max(mask, axis=1)
        most = ops.max(ops.where(mask > 0, wide, -1e9), axis=1)
        mean = ops.sum(wide * mask, axis=1) / ops.maximum(ops.sum(mask, axis=1), 1.0)
        pooled = ops.concatenate([last, ops.where(some > 0, most, 0.0), mean], axis=-1)
        return ops.cast(pooled, self.compute_dtype)

    def compute_output_shape(self, sequence_shape, padding_mask_shape=None):
        """(B, 3 D)."""
        return (sequence_shape[0], 3 * sequence_shape[-1])
