"""Heads that several families share: pooling and output layer."""

import math
from typing import Literal

import keras
from keras import ops

from zoo.layers.checked_arguments import keep_checked

POOLINGS = ("cls", "last", "mean", "max")


def output_layer(units, backbone, name):
    """A dense layer in float32 with the initial range of the backbone's config."""
    stddev = backbone.config.initializer_range
    return keras.layers.Dense(
        units,
        kernel_initializer=keras.initializers.TruncatedNormal(stddev=stddev),
        dtype="float32",
        name=name,
    )


@keras.saving.register_keras_serializable(package="zoo")
class Pooling(keras.layers.Layer):
    """One vector per row from a sequence of vectors.

    Args:
        mode: str, "cls" for the vector at position 0, "last" for that at the last
            position with mask 1, and "mean" or "max" over the positions with mask 1,
            computed in float32. Of no position, "mean" and "max" are 0, and "last" is
            position 0.
        normalize: bool, whether to divide the vector by its Euclidean norm, at least
            1e-12.

    Inputs:
        sequence (B, L, D); padding_mask (B, L), 1 = token.

    Returns:
        (B, D).

    Raises:
        ValueError: if the mode is unknown.

    Example:
        >>> sequence = ops.convert_to_tensor([[[1.0], [3.0], [9.0]]])
        >>> mask = ops.convert_to_tensor([[1, 1, 0]])
        >>> Pooling("mean")(sequence, mask).numpy().tolist()
        [[2.0]]
    """

    def __init__(self, mode="mean", normalize=False, **kwargs):
        super().__init__(**kwargs)
        keep_checked(self, Literal[POOLINGS], mode=mode)
        keep_checked(self, bool, normalize=normalize)

    def call(self, sequence, padding_mask):
        """Pools over the L positions."""
        if self.mode == "cls":
            return self._normalized(ops.cast(sequence[:, 0], "float32"))
        if self.mode == "last":
            places = ops.arange(ops.shape(padding_mask)[1], dtype="int32")
            places = ops.cast(padding_mask, "int32") * places
            last = ops.max(places, axis=1)[:, None, None]
            vectors = ops.take_along_axis(sequence, last, axis=1)[:, 0]
            return self._normalized(ops.cast(vectors, "float32"))
        if self.mode == "max":
            mask = ops.expand_dims(ops.cast(padding_mask, "bool"), 2)
            masked = ops.where(mask, ops.cast(sequence, "float32"), -math.inf)
            largest = ops.max(masked, axis=1)
            return self._normalized(ops.where(ops.isinf(largest), 0.0, largest))
        start = self.start(ops.shape(sequence)[0], sequence.shape[-1])
        return self.finish(self.read(start, sequence, padding_mask))

    def start(self, rows, width):
        """The mean before the first token; see `zoo.layers.ConcatPooling.read`."""
        return {"total": ops.zeros((rows, width)), "count": ops.zeros((rows, 1))}

    def read(self, value, sequence, padding_mask):
        """The mean after more tokens; see `zoo.layers.ConcatPooling.read`."""
        mask = ops.expand_dims(ops.cast(padding_mask, "float32"), 2)
        total = ops.sum(ops.cast(sequence, "float32") * mask, axis=1)
        return {
            "total": value["total"] + total,
            "count": value["count"] + ops.sum(mask, axis=1),
        }

    def finish(self, value):
        """The output, from the mean after the last token."""
        return self._normalized(value["total"] / ops.maximum(value["count"], 1.0))

    def _normalized(self, pooled):
        if self.normalize:
            norm = ops.sqrt(ops.sum(ops.square(pooled), axis=-1, keepdims=True))
            pooled = pooled / ops.maximum(norm, 1e-12)
        return ops.cast(pooled, self.compute_dtype)

    def compute_output_shape(self, sequence_shape, padding_mask_shape=None):
        """(B, D)."""
        return (sequence_shape[0], sequence_shape[-1])


@keras.saving.register_keras_serializable(package="zoo")
class ComparedSegments(keras.layers.Layer):
    """One vector per row, which compares the two segments of a pair.

    `[m; |u - v|; u v]`, where m is the mean over all tokens, u and v are those over the
    tokens of segment 0 and of segment 1, and the product is by element. With `sides` it
    is `[u; v; |u - v|; u v]`, which tells the order of the texts. All are scaled to a
    mean square of 1, because a new head hardly learns from small ones. In a row with
    one segment only, `|u - v|` and `u v` are 0. It computes in float32.

    Source: the features of InferSent, Conneau et al. 2017, section 3.1, and of
    Sentence-BERT, Reimers and Gurevych 2019, which encode each text alone. If a BERT
    reads both texts as one row, every token also attends to the other text.

    Args:
        sides: bool, whether u and v replace m.

    Inputs:
        sequence (B, L, D); padding_mask (B, L), 1 = token; segment_ids (B, L).

    Returns:
        (B, 3 D), or with `sides` (B, 4 D).

    Example:
        >>> sequence, mask = ops.ones((1, 2, 4)), ops.ones((1, 2))
        >>> segments = ops.convert_to_tensor([[0, 1]])
        >>> tuple(ComparedSegments()(sequence, mask, segments).shape)
        (1, 12)
    """

    def __init__(self, sides=False, **kwargs):
        super().__init__(**kwargs)
        keep_checked(self, bool, sides=sides)

    def call(self, sequence, padding_mask, segment_ids):
        """Pools over the L positions."""
        sequence = ops.cast(sequence, "float32")
        mask = ops.cast(padding_mask, "float32")
        second = mask * ops.cast(ops.equal(segment_ids, 1), "float32")
        first, means = mask - second, []
        for part in (mask, first, second):
            total = ops.sum(sequence * ops.expand_dims(part, 2), axis=1)
            square = ops.mean(ops.square(total), axis=-1, keepdims=True)
            means.append(total * ops.rsqrt(ops.maximum(square, 1e-12)))
        m, u, v = means
        pair = (ops.max(first, axis=1) * ops.max(second, axis=1))[:, None]
        texts = [u, v] if self.sides else [m]
        compared = [pair * ops.abs(u - v), pair * u * v]
        pooled = ops.concatenate([*texts, *compared], axis=-1)
        return ops.cast(pooled, self.compute_dtype)

    def compute_output_shape(
        self, sequence_shape, padding_mask_shape=None, segment_ids_shape=None
    ):
        """(B, 3 D), or with `sides` (B, 4 D)."""
        return (sequence_shape[0], (3 + self.sides) * sequence_shape[-1])
