"""The mask of a decoder whose rows hold one document or several."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="zoo")
class CausalMask(keras.layers.Layer):
    """Which tokens a token attends to: itself and earlier ones of its document.

    Source: Krell et al. 2021, section 3, for rows of several documents.

    Inputs:
        documents, int (B, L), the number of the document of each token, 0 = padding.
        Padding attends to earlier tokens of all documents.

    Returns:
        bool (B, L, L), and int32 (B, L), the position of each token in its document.

    Example:
        >>> mask, places = CausalMask()(keras.ops.convert_to_tensor([[1, 1, 2]]))
        >>> places.numpy().tolist()
        [[0, 1, 0]]
    """

    def call(self, documents):
        """Compares the documents of all pairs of tokens."""
        order = ops.arange(ops.shape(documents)[1], dtype="int32")
        query, key = ops.expand_dims(documents, 2), ops.expand_dims(documents, 1)
        same = ops.equal(query, key) | ops.equal(query, 0)
        mask = same & ops.not_equal(key, 0) & (order[:, None] >= order[None])[None]
        places = ops.sum(ops.cast(mask, "int32"), axis=-1) - 1
        return mask, ops.maximum(places, 0)

    def compute_output_spec(self, documents):
        """The shapes: bool (B, L, L) and int32 (B, L)."""
        rows, length = documents.shape
        mask = keras.KerasTensor((rows, length, length), dtype="bool")
        return mask, keras.KerasTensor((rows, length), dtype="int32")
