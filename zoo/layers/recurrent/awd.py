"""The dropouts and the head of AWD-LSTM."""

import keras
from keras import ops

from zoo.checks.ranges import NotNegative, Probability, Size, check_values
from zoo.layers.checked_arguments import keep_checked
from zoo.layers.token_scores import TokenLogits


@keras.saving.register_keras_serializable(package="zoo")
class EmbeddingDropout(keras.layers.Layer):
    """Drops whole tokens of the vocabulary in training, at all positions of a batch.

    The vectors of the other tokens are divided by `1 - rate`.

    Source: Gal and Ghahramani 2016; Merity et al. 2018, section 4.3.

    Args:
        vocabulary_size: int, V.
        rate: float in [0, 1), probability that a token is dropped.

    Inputs:
        vectors (B, L, D) of the tokens; token_ids int (B, L).

    Returns:
        (B, L, D).

    Raises:
        ValueError: if the rate is not in [0, 1).

    Example:
        >>> layer = EmbeddingDropout(vocabulary_size=9, rate=0.5)
        >>> vectors, token_ids = ops.ones((2, 3, 4)), ops.ones((2, 3), "int32")
        >>> tuple(layer(vectors, token_ids, training=True).shape)
        (2, 3, 4)
    """

    def __init__(self, vocabulary_size, rate, **kwargs):
        super().__init__(**kwargs)
        keep_checked(self, Size, vocabulary_size=vocabulary_size)
        keep_checked(self, Probability, rate=rate)
        self.seed_generator = keras.random.SeedGenerator()
        self.supports_masking = True

    def call(self, vectors, token_ids, training=None):
        """Multiplies each vector by the factor of its token."""
        if not training or not self.rate:
            return vectors
        ones = ops.ones((self.vocabulary_size,), self.compute_dtype)
        factors = keras.random.dropout(ones, self.rate, seed=self.seed_generator)
        return vectors * ops.take(factors, token_ids, axis=0)[:, :, None]

    def compute_output_shape(self, vectors_shape, token_ids_shape=None):
        """(B, L, D)."""
        return vectors_shape


@keras.saving.register_keras_serializable(package="zoo")
class RegularizedLogits(TokenLogits):
    """Scores of all tokens, with AWD-LSTM's dropout and two terms of the loss.

    In training, the vectors h go through dropout, whose mask all positions of a row
    share. The loss then also has `activation mean(dropout(h)^2)` and
    `temporal mean((h_t - h_{t-1})^2)`, means over all elements, masked positions
    included.

    Source: Merity et al. 2018, section 4.5, and their released code. fastai 2 leaves
    the second term out if a batch has one row; this layer keeps it.

    Args:
        num_tokens, token_embedding, use_bias: see `zoo.layers.TokenLogits`.
        dropout: float in [0, 1), probability of zeroing.
        activation, temporal: float, alpha and beta of the paper.

    Inputs:
        (B, L, D), or (B, D) outside training.

    Returns:
        float32 (B, L, V).

    Example:
        >>> layer = RegularizedLogits(9, dropout=0.1)
        >>> tuple(layer(ops.ones((2, 3, 4)), training=True).shape), len(layer.losses)
        ((2, 3, 9), 2)
    """

    def __init__(self, *args, dropout=0.1, activation=2.0, temporal=1.0, **kwargs):
        super().__init__(*args, **kwargs)
        check_values(Probability, dropout=dropout)
        terms = {"activation": activation, "temporal": temporal}
        check_values(NotNegative, **terms)
        self.supports_masking = True
        self.terms = {"dropout": dropout, **terms}
        self.output_dropout = keras.layers.SpatialDropout1D(
            dropout, dtype=self.dtype_policy, name="dropout"
        )

    def call(self, x, matrix=None, training=None):
        """Computes the scores; `matrix` is what `matrix()` returned before."""
        if not training:
            return super().call(x, matrix)
        dropped = self.output_dropout(x, training=True)
        wide = ops.cast(x, "float32")
        for name, values in (
            ("activation", ops.cast(dropped, "float32")),
            ("temporal", wide[:, 1:] - wide[:, :-1]),
        ):
            if self.terms[name]:
                # A row of one token has no step, and the mean of nothing is 0 here.
                count = ops.cast(ops.maximum(ops.size(values), 1), "float32")
                mean = ops.sum(ops.square(values)) / count
                self.add_loss(self.terms[name] * mean)
        return super().call(dropped, matrix)

    def compute_output_spec(self, x, matrix=None, training=None):
        """float32 (B, L, V)."""
        return super().compute_output_spec(x)

    def get_config(self):
        """Adds the factors of the two terms and the dropout."""
        return {**super().get_config(), **self.terms}
