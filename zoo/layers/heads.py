"""Heads that several families share: pooling and output layer."""

import math
from typing import Literal

import keras
from keras import ops

from zoo.layers.checked_arguments import keep_checked

POOLINGS = ("cls", "last", "mean", "max")

SIMILARITIES = 5  # the numbers of `ComparedTexts` that do not depend on the width
MEANS_WEIGHT, SIMILARITY_WEIGHT = 0.25, 100.0  # of the parts of `ComparedTexts`


def output_layer(units, backbone, name, zeros=False):
    """A dense layer in float32 with the initial range of the backbone's config.

    With `zeros` the kernel is 0 at first, for vectors so large that the outputs of
    random weights would be large, too.
    """
    stddev = backbone.config.initializer_range
    normal = keras.initializers.TruncatedNormal(stddev=stddev)
    return keras.layers.Dense(
        units,
        kernel_initializer="zeros" if zeros else normal,
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
            last = ops.max(places, axis=1, initial=0)[:, None, None]
            vectors = ops.take_along_axis(sequence, last, axis=1)[:, 0]
            return self._normalized(ops.cast(vectors, "float32"))
        if self.mode == "max":
            mask = ops.expand_dims(ops.cast(padding_mask, "bool"), 2)
            masked = ops.where(mask, ops.cast(sequence, "float32"), -math.inf)
            largest = ops.max(masked, axis=1, initial=-math.inf)
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
    tokens of segment 0 and of segment 1, and the product is by element. All are scaled
    to a mean square of 1, because a new head hardly learns from small ones. In a row
    with one segment only, `|u - v|` and `u v` are 0. It computes in float32.

    Source: the features of InferSent, Conneau et al. 2017, section 3.1, and of
    Sentence-BERT, Reimers and Gurevych 2019, which encode each text alone, see
    `ComparedTexts`. If a BERT reads both texts as one row, every token also attends to
    the other text.

    Inputs:
        sequence (B, L, D); padding_mask (B, L), 1 = token; segment_ids (B, L).

    Returns:
        (B, 3 D).

    Example:
        >>> sequence, mask = ops.ones((1, 2, 4)), ops.ones((1, 2))
        >>> segments = ops.convert_to_tensor([[0, 1]])
        >>> tuple(ComparedSegments()(sequence, mask, segments).shape)
        (1, 12)
    """

    def call(self, sequence, padding_mask, segment_ids):
        """Pools over the L positions."""
        sequence = ops.cast(sequence, "float32")
        mask = ops.cast(padding_mask, "float32")
        second = mask * ops.cast(ops.equal(segment_ids, 1), "float32")
        first = mask - second
        m, u, v = (scaled_mean(sequence, part) for part in (mask, first, second))
        compared = difference_and_product(u, v, first, second)
        return ops.cast(ops.concatenate([m, *compared], axis=-1), self.compute_dtype)

    def compute_output_shape(
        self, sequence_shape, padding_mask_shape=None, segment_ids_shape=None
    ):
        """(B, 3 D)."""
        return (sequence_shape[0], 3 * sequence_shape[-1])


@keras.saving.register_keras_serializable(package="zoo")
class ComparedTexts(keras.layers.Layer):
    """One vector per pair of texts, each of which a model has read alone.

    `[[u; v; |u - v|; u v] / 4; 100 s]`. u and v are the means over the tokens of both
    texts, scaled to a mean square of 1. s has five similarities between -1 and 1: the
    cosine of u and v, and for each text the mean and the minimum over its tokens of the
    largest cosine with a token of the other text. The factors are chosen so that a new
    head learns first from s, which is a better guide with few labels. If a text has no
    token, `|u - v|`, `u v` and s are 0. It computes in float32.

    Source: u, v, `|u - v|` and `u v` are the features of InferSent, Conneau et al.
    2017, section 3.1. The means of largest cosines are precision and recall of
    BERTScore, Zhang et al. 2020, section 3, without weights of words. The minima are
    ours: in entailment, one word that has no match may decide.

    Inputs:
        first (B, L, D), first_mask (B, L), 1 = token; second (B, M, D), second_mask
        (B, M).

    Returns:
        (B, 4 D + 5).

    Example:
        >>> first, second = ops.ones((1, 2, 4)), ops.ones((1, 3, 4))
        >>> masks = ops.ones((1, 2)), ops.ones((1, 3))
        >>> tuple(ComparedTexts()(first, masks[0], second, masks[1]).shape)
        (1, 21)
    """

    def call(self, first, first_mask, second, second_mask):
        """Compares the L tokens of one text with the M tokens of the other."""
        texts = [ops.cast(text, "float32") for text in (first, second)]
        masks = [ops.cast(mask, "float32") for mask in (first_mask, second_mask)]
        u, v = map(scaled_mean, texts, masks)
        compared = difference_and_product(u, v, *masks)
        cosine = ops.mean(compared[1], axis=-1, keepdims=True)
        similar = [cosine, *token_similarities(texts, masks)]
        parts = [MEANS_WEIGHT * part for part in (u, v, *compared)]
        parts += [SIMILARITY_WEIGHT * value for value in similar]
        vector = ops.concatenate(parts, axis=-1)
        return ops.cast(vector, self.compute_dtype)

    def compute_output_shape(
        self, first_shape, first_mask_shape=None, *second_shapes, **kwargs
    ):
        """(B, 4 D + 5)."""
        return (first_shape[0], 4 * first_shape[-1] + SIMILARITIES)


def scaled_mean(sequence, mask):
    """The mean (B, D) over the tokens of a mask, with a mean square of 1, or 0."""
    total = ops.sum(sequence * ops.expand_dims(mask, 2), axis=1)
    square = ops.mean(ops.square(total), axis=-1, keepdims=True)
    return total * ops.rsqrt(ops.maximum(square, 1e-12))


def difference_and_product(u, v, first_mask, second_mask):
    """`|u - v|` and `u v`, or 0 if one of the masks is empty."""
    # A replica may have no rows. TensorFlow needs an initial value for these.
    first, second = (ops.max(m, axis=1, initial=0) for m in (first_mask, second_mask))
    both = (first * second)[:, None]
    return both * ops.abs(u - v), both * u * v


def token_similarities(texts, masks):
    """For each text the mean and the minimum of its largest cosines, four (B, 1).

    Args:
        texts: float32 (B, L, D) and (B, M, D).
        masks: float32 (B, L) and (B, M).
    """
    squares = [ops.sum(ops.square(text), axis=-1, keepdims=True) for text in texts]
    units = [
        text * ops.rsqrt(ops.maximum(square, 1e-12))
        for text, square in zip(texts, squares, strict=True)
    ]
    cosines = ops.matmul(units[0], ops.transpose(units[1], (0, 2, 1)))
    both = ops.expand_dims(masks[0], 2) * ops.expand_dims(masks[1], 1)
    cosines = ops.where(both > 0, cosines, -1.0)
    found = []
    for axis, mask in ((2, masks[0]), (1, masks[1])):
        largest = ops.max(cosines, axis=axis, initial=-1.0)
        count = ops.maximum(ops.sum(mask, axis=1, keepdims=True), 1.0)
        least = ops.where(mask > 0, largest, 1.0)
        least = ops.min(least, axis=1, keepdims=True, initial=1.0)
        found += [ops.sum(largest * mask, axis=1, keepdims=True) / count, least]
    pair = ops.max(both, axis=(1, 2), initial=0)[:, None]
    return [pair * value for value in found]
