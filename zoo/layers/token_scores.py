"""Layers that score all tokens of a vocabulary, with the table of an embedding."""

import keras
from keras import ops

from zoo.checks.ranges import NotNegative, Positive, Size, check_values
from zoo.layers.activations import get_activation
from zoo.layers.attention.attention import sizes
from zoo.layers.checked_arguments import keep_checked
from zoo.layers.normalization import LayerNorm
from zoo.layers.quantization import CompositeLayer


def embedding_table(embedding):
    """The vectors of all tokens (V, D) of a `keras.layers.Embedding`."""
    if embedding.quantization_mode is None:
        return embedding.embeddings
    # `embedding.embeddings` holds integers without their scales.
    return embedding(ops.arange(embedding.input_dim, dtype="int32"))


class EmbeddingLogits(CompositeLayer):
    """The base of layers with a `token_embedding`, which is in their config."""

    def get_config(self):
        """Adds the config of the embedding layer."""
        embedding = keras.saving.serialize_keras_object(self.token_embedding)
        return {**super().get_config(), "token_embedding": embedding}

    @classmethod
    def from_config(cls, config):
        """Restores the embedding layer, then the head."""
        embedding = keras.saving.deserialize_keras_object(config.get("token_embedding"))
        return cls(**{**config, "token_embedding": embedding})


@keras.saving.register_keras_serializable(package="zoo")
class MaskedLMHead(EmbeddingLogits):
    """Predicts tokens with the table of token embeddings.

    `logits = norm(act(h W + b)) E^T + c`, where E is the table that the head shares
    with the embedding, with the update of LoRA or dequantized, and c has a bias for
    each token.

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

    Example:
        >>> embedding = keras.layers.Embedding(9, 4)
        >>> embedding.build()
        >>> tuple(MaskedLMHead(embedding)(ops.ones((2, 3, 4))).shape)
        (2, 3, 9)
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
        normal = keras.initializers.TruncatedNormal(stddev=self.options["stddev"])
        self.add_dense("transform", hidden_dim, hidden_dim, normal)
        self.layer_norm.build((None, hidden_dim))
        shape = (self.token_embedding.input_dim,)
        self.output_bias = self.add_weight(shape, "zeros", name="output_bias")

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
        """Adds the options."""
        return {**super().get_config(), **self.options}

    def compute_output_spec(self, sequence, mask_positions=None):
        """float32 (B, P, V)."""
        rows = sequence.shape[:2] if mask_positions is None else mask_positions.shape
        shape = (*rows, self.token_embedding.input_dim)
        return keras.KerasTensor(shape, dtype="float32")


@keras.saving.register_keras_serializable(package="zoo")
class TokenLogits(EmbeddingLogits):
    """Scores of all tokens: `x E^T + c` with the table E of an embedding, or `x W + c`.

    Source: Vaswani et al. 2017, section 3.4. `keras_nlp.layers.ReversibleEmbedding`
    returns logits in the compute dtype; here they are float32 under every policy.

    Args:
        num_tokens: int, V.
        token_embedding: `keras.layers.Embedding` (V, D), whose table is shared, or
            None.
        use_bias: bool, whether there is a bias c for each token.

    Inputs:
        (..., D).

    Returns:
        float32 (..., V).

    Example:
        >>> tuple(TokenLogits(9)(ops.ones((2, 3, 4))).shape)
        (2, 3, 9)
    """

    def __init__(self, num_tokens, token_embedding=None, use_bias=False, **kwargs):
        super().__init__(**kwargs)
        keep_checked(self, Size, num_tokens=num_tokens)
        keep_checked(self, bool, use_bias=use_bias)
        self.token_embedding = token_embedding

    def build(self, input_shape):
        """Creates the bias, and the kernel if there is no table."""
        self.output_bias = self.kernel = None
        if self.token_embedding is None:
            shape = input_shape[-1], self.num_tokens
            self.kernel = self.add_weight(shape, name="kernel")
        if self.use_bias:
            shape = (self.num_tokens,)
            self.output_bias = self.add_weight(shape, "zeros", name="output_bias")

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
        """Adds the options."""
        options = {"num_tokens": self.num_tokens, "use_bias": self.use_bias}
        return {**super().get_config(), **options}

    def compute_output_spec(self, x, matrix=None):
        """float32 (..., V)."""
        return keras.KerasTensor((*x.shape[:-1], self.num_tokens), dtype="float32")
