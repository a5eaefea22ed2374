"""Heads that several families share: pooling, output layer, language models."""

import math
from typing import Literal

import keras
from keras import ops

from zoo.checks.ranges import NotNegative, Positive, Size, check_values
from zoo.layers.activations import get_activation
from zoo.layers.attention.attention import sizes
from zoo.layers.normalization import LayerNorm
from zoo.layers.quantization import CompositeLayer

POOLINGS = ("cls", "last", "mean", "max")


def output_layer(units, backbone, name):
    """A dense layer without activation, in float32 under every policy.

    Args:
        units: int, the width of the output.
        backbone: `zoo.backbone.Backbone`, whose config has the `initializer_range` of
            the kernel.
        name: str.
    """
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
        mode: str, "cls" for the vector at position 0, "last" for the vector at the last
            position with mask 1, and "mean" or "max" for the mean or the maximum over
            the positions with mask 1, computed in float32. Of no position, "mean" and
            "max" are 0, and "last" is the vector at position 0.
        normalize: bool, whether to divide the vector by its Euclidean norm. A norm
            below 1e-12 counts as 1e-12.

    Inputs:
        sequence (B, L, D); padding_mask (B, L), 1 = token.

    Returns:
        (B, D).

    Raises:
        ValueError: if the mode is unknown.
    """

    def __init__(self, mode="mean", normalize=False, **kwargs):
        super().__init__(**kwargs)
        check_values(Literal[POOLINGS], mode=mode)
        check_values(bool, normalize=normalize)
        self.mode = mode
        self.normalize = normalize

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
            mask = ops.cast(padding_mask, "bool")[:, :, None]
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
        mask = ops.cast(padding_mask, "float32")[:, :, None]
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

    `[m; |u - v|; u v]`, where m is the mean over all tokens, u and v are the means over
    the tokens of segment 0 and of segment 1, and the product is by element. All three
    means are scaled to a mean square of 1, because those of an embedder may be so small
    that a new head on them hardly learns. In a row with one segment only, the second
    and the third part are 0. It computes in float32.

    Source: the features of InferSent, Conneau et al. 2017, section 3.1, and of
    Sentence-BERT, Reimers and Gurevych 2019, which encode each text alone. If a BERT
    reads both texts as one row, every token also attends to the other text.

    Inputs:
        sequence (B, L, D); padding_mask (B, L), 1 = token; segment_ids (B, L).

    Returns:
        (B, 3 D).
    """

    def call(self, sequence, padding_mask, segment_ids):
        """Pools over the L positions."""
        sequence = ops.cast(sequence, "float32")
        mask = ops.cast(padding_mask, "float32")
        second = mask * ops.cast(ops.equal(segment_ids, 1), "float32")
        first, means = mask - second, []
        for part in (mask, first, second):
            total = ops.sum(sequence * part[:, :, None], axis=1)
            square = ops.mean(ops.square(total), axis=-1, keepdims=True)
            means.append(total * ops.rsqrt(ops.maximum(square, 1e-12)))
        m, u, v = means
        pair = (ops.max(first, axis=1) * ops.max(second, axis=1))[:, None]
        pooled = ops.concatenate([m, pair * ops.abs(u - v), pair * u * v], axis=-1)
        return ops.cast(pooled, self.compute_dtype)

    def compute_output_shape(
        self, sequence_shape, padding_mask_shape=None, segment_ids_shape=None
    ):
        """(B, 3 D)."""
        return (sequence_shape[0], 3 * sequence_shape[-1])


@keras.saving.register_keras_serializable(package="zoo")
class MaskedLMHead(CompositeLayer):
    """Predicts tokens with the table of token embeddings.

    `logits = norm(act(h W + b)) E^T + c`, where E is the table of the token embedding
    and c has a bias for each token. The head and the embedding share E. With LoRA, E is
    the sum of the table and its update. With an int8 embedding, E is the dequantized
    table.

    Source: Devlin et al. 2019, released code `run_pretraining.py`.
    `keras_nlp.layers.MaskedLMHead` returns logits in the compute dtype; here they are
    float32 under every policy.

    Args:
        token_embedding: `keras.layers.Embedding`, (V, D).
        activation: str, see `zoo.layers.get_activation`.
        layer_norm_epsilon: float, added to the variance.
        stddev: float, standard deviation of the truncated normal initial kernel.

    Inputs:
        sequence (B, L, D); optional mask_positions int (B, P), the positions to
        predict, by default all L positions.

    Returns:
        float32 (B, P, V).
    """

    def __init__(
        self,
        token_embedding,
        activation="gelu",
        layer_norm_epsilon=1e-12,
        stddev=0.02,
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_values(Positive, layer_norm_epsilon=layer_norm_epsilon)
        check_values(NotNegative, stddev=stddev)
        self.token_embedding = token_embedding
        self.activation = get_activation(activation)
        self.options = {
            "activation": activation,
            "layer_norm_epsilon": layer_norm_epsilon,
            "stddev": stddev,
        }
        self.layer_norm = LayerNorm(
            epsilon=layer_norm_epsilon, dtype=self.dtype_policy, name="layer_norm"
        )

    def build(self, sequence_shape, *args, **kwargs):
        """Creates the dense layer and the bias. The table belongs to the embedding."""
        hidden_dim = sequence_shape[-1]
        self.transform = keras.layers.Dense(
            hidden_dim,
            kernel_initializer=keras.initializers.TruncatedNormal(
                stddev=self.options["stddev"]
            ),
            dtype=self.dtype_policy,
            name="transform",
        )
        self.transform.build((None, hidden_dim))
        self.layer_norm.build((None, hidden_dim))
        self.output_bias = self.add_weight(
            name="output_bias",
            shape=(self.token_embedding.input_dim,),
            initializer="zeros",
        )
        self.built = True

    def call(self, sequence, mask_positions=None):
        """Computes a score for every token of the vocabulary; see the class."""
        hidden_dim = sequence.shape[-1]
        if mask_positions is not None:
            index = ops.cast(mask_positions, "int32")[:, :, None]
            sequence = ops.take_along_axis(sequence, index, axis=1)
        hidden = self.transform(ops.reshape(sequence, (-1, hidden_dim)))
        hidden = self.layer_norm(self.activation(hidden))
        logits = ops.cast(ops.matmul(hidden, ops.transpose(self.table())), "float32")
        logits = logits + ops.cast(self.output_bias, "float32")
        shape = (*ops.shape(sequence)[:2], self.token_embedding.input_dim)
        return ops.reshape(logits, shape)

    def table(self):
        """The vectors of all tokens (V, D), in the compute dtype."""
        return ops.cast(embedding_table(self.token_embedding), self.compute_dtype)

    def get_config(self):
        """Adds the options and the config of the embedding layer."""
        embedding = keras.saving.serialize_keras_object(self.token_embedding)
        return {**super().get_config(), **self.options, "token_embedding": embedding}

    @classmethod
    def from_config(cls, config):
        """Restores the embedding layer, then the head."""
        embedding = keras.saving.deserialize_keras_object(config["token_embedding"])
        return cls(**{**config, "token_embedding": embedding})

    def compute_output_spec(self, sequence, mask_positions=None):
        """float32 (B, P, V)."""
        rows = sequence.shape[:2] if mask_positions is None else mask_positions.shape
        shape = (*rows, self.token_embedding.input_dim)
        return keras.KerasTensor(shape, dtype="float32")


@keras.saving.register_keras_serializable(package="zoo")
class TokenLogits(CompositeLayer):
    """Scores of all tokens: `x E^T + c` with the table E of an embedding, or `x W + c`.

    Source: Vaswani et al. 2017, section 3.4. `keras_nlp.layers.ReversibleEmbedding`
    returns logits in the compute dtype; here they are float32 under every policy.

    Args:
        num_tokens: int, V.
        token_embedding: `keras.layers.Embedding` (V, D), whose table is shared; None
            for a kernel of its own.
        use_bias: bool, whether there is a bias c for each token.

    Inputs:
        (..., D).

    Returns:
        float32 (..., V).
    """

    def __init__(self, num_tokens, token_embedding=None, use_bias=False, **kwargs):
        super().__init__(**kwargs)
        check_values(Size, num_tokens=num_tokens)
        check_values(bool, use_bias=use_bias)
        self.num_tokens = num_tokens
        self.token_embedding = token_embedding
        self.use_bias = use_bias

    def build(self, input_shape):
        """Creates the bias, and the kernel if there is no table."""
        self.output_bias = self.kernel = None
        if self.token_embedding is None:
            self.kernel = self.add_weight(
                name="kernel", shape=(input_shape[-1], self.num_tokens)
            )
        if self.use_bias:
            self.output_bias = self.add_weight(
                name="output_bias", shape=(self.num_tokens,), initializer="zeros"
            )
        self.built = True

    def matrix(self):
        """The matrix (D, V) of the product, in the compute dtype."""
        if self.kernel is not None:
            return ops.cast(self.kernel, self.compute_dtype)
        table = embedding_table(self.token_embedding)
        return ops.cast(ops.transpose(table), self.compute_dtype)

    def call(self, x, matrix=None):
        """Computes the scores; `matrix` is what `matrix()` returned before."""
        matrix = self.matrix() if matrix is None else matrix
        flat = ops.matmul(ops.reshape(x, (-1, x.shape[-1])), matrix)
        logits = ops.cast(flat, "float32")
        if self.output_bias is not None:
            logits = logits + ops.cast(self.output_bias, "float32")
        return ops.reshape(logits, (*sizes(x)[:-1], self.num_tokens))

    def get_config(self):
        """Adds the config of the embedding layer."""
        embedding = self.token_embedding
        return {
            **super().get_config(),
            "num_tokens": self.num_tokens,
            "use_bias": self.use_bias,
            "token_embedding": embedding
            and keras.saving.serialize_keras_object(embedding),
        }

    @classmethod
    def from_config(cls, config):
        """Restores the embedding layer, then the head."""
        embedding = config.get("token_embedding")
        if embedding:
            embedding = keras.saving.deserialize_keras_object(embedding)
        return cls(**{**config, "token_embedding": embedding})

    def compute_output_spec(self, x, matrix=None):
        """float32 (..., V)."""
        return keras.KerasTensor((*x.shape[:-1], self.num_tokens), dtype="float32")


def embedding_table(embedding):
    """The vectors of all tokens (V, D) of a `keras.layers.Embedding`."""
    if embedding.quantization_mode is None:
        return embedding.embeddings
    # `embedding.embeddings` holds integers without their scales.
    return embedding(ops.arange(embedding.input_dim, dtype="int32"))
