"""ULMFiT's pooling of a text."""

import keras
from keras import ops

from zoo.layers.checked_arguments import keep_checked


@keras.saving.register_keras_serializable(package="zoo")
class ConcatPooling(keras.layers.Layer):
    """One vector per row: the last vector, the maximum and the mean over all tokens.

    `[h_last; max_t h_t; mean_t h_t]`, without masked positions on either side, in
    float32. The vector of a row without tokens is 0.

    Source: Howard and Ruder 2018, section 3.3; fastai 2 `masked_concat_pool`. fastai
    0.7, with which the paper's results were made, does not mask padding.

    Args:
        reverse: bool, whether the last vector is that of the first token, as in a model
            that reads from the last token to the first.

    Inputs:
        sequence (B, L, D); padding_mask (B, L), 1 = token.

    Returns:
        (B, 3 D).

    Example:
        >>> sequence = ops.convert_to_tensor([[[1.0], [3.0], [9.0]]])
        >>> mask = ops.convert_to_tensor([[1, 1, 0]])
        >>> ConcatPooling()(sequence, mask).numpy().tolist()
        [[3.0, 3.0, 2.0]]
    """

    def __init__(self, reverse=False, **kwargs):
        super().__init__(**kwargs)
        keep_checked(self, bool, reverse=reverse)

    def call(self, sequence, padding_mask):
        """Pools over the L positions."""
        start = self.start(ops.shape(sequence)[0], sequence.shape[-1])
        return self.finish(self.read(start, sequence, padding_mask))

    def start(self, rows, width):
        """What is known before the first token; see `read`."""
        zeros = ops.zeros((rows, width))
        value = {"last": zeros, "most": zeros - 1e9, "total": zeros}
        return {**value, "count": ops.zeros((rows, 1))}

    def read(self, value, sequence, padding_mask):
        """What is known after more tokens; a reverse model reads its end first."""
        wide = ops.cast(sequence, "float32")
        mask = ops.cast(padding_mask, "float32")[:, :, None]
        numbers, count = ops.cumsum(mask, axis=1), ops.sum(mask, axis=1)
        latest = 1.0 if self.reverse else count[:, None]
        latest = mask * ops.cast(ops.equal(numbers, latest), "float32")
        latest = ops.sum(wide * latest, axis=1)
        most = ops.max(ops.where(mask > 0, wide, -1e9), axis=1, initial=-1e9)
        return {
            "last": ops.where(count > 0, latest, value["last"]),
            "most": ops.maximum(value["most"], most),
            "total": value["total"] + ops.sum(wide * mask, axis=1),
            "count": value["count"] + count,
        }

    def finish(self, value):
        """The output, from what is known after the last token."""
        count = value["count"]
        most = ops.where(count > 0, value["most"], 0.0)
        mean = value["total"] / ops.maximum(count, 1.0)
        pooled = ops.concatenate([value["last"], most, mean], axis=-1)
        return ops.cast(pooled, self.compute_dtype)

    def compute_output_shape(self, sequence_shape, padding_mask_shape=None):
        """(B, 3 D)."""
        return (sequence_shape[0], 3 * sequence_shape[-1])
