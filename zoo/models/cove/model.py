"""CoVe: the encoder of a translator, which gives words vectors of their context."""

import dataclasses
from typing import Literal

import keras
from keras import ops

from zoo.backbone import Backbone
from zoo.checks.ranges import CheckedFields, Layers, Positive, Probability, Size
from zoo.layers import (
    LSTM,
    AttentionalDecoder,
    EncoderDecoder,
    TokenLogits,
    WordEmbedding,
)
from zoo.layers.recurrent.layer_outputs import stack_outputs

DIRECTIONS = ("forward", "backward")


@dataclasses.dataclass(frozen=True)
class CoVeConfig(CheckedFields):
    """Sizes and options of a CoVe. The defaults are those of the original model.

    Source: McCann et al. 2017, section 3; `cove/encoder.py` of the authors.

    Args:
        vocabulary_size: words, with the special ones of `zoo.text.WordTokenizer`.
        embedding_dim: width of a word's vector.
        lstm_dim: width of an LSTM; each layer has two LSTMs.
        num_layers: layers of LSTMs.
        output: which layers a word's vector has: "first", "last", or "all", the first
            one first (layer0, layer1, and both in the authors' program).
        output_words: whether the vector of the word without context stands before them,
            as with `residual_embeddings` in the authors' program.
        train_words: whether the vectors of words without context are trained.
        num_zero: the number of first ids with the zero vector: padding, unknown words
            and the markers of sentences.
        dropout: probability on the input and the output of every layer, in [0, 1).
        target_vocabulary_size: tokens that the decoder writes; None for no decoder.
        target_embedding_dim: width of the vectors of these tokens.
        max_sequence_length: None. An LSTM reads texts of any length.
        initializer_range: bound of the uniform initial weights of the decoder, and
            standard deviation of the kernels of task heads.

    Raises:
        ValueError: if a value is out of its range.
    """

    vocabulary_size: Size = 30000
    embedding_dim: Size = 300
    lstm_dim: Size = 300
    num_layers: Layers = 2
    output: Literal["first", "last", "all"] = "last"
    output_words: bool = False
    train_words: bool = False
    num_zero: Size = 4
    dropout: Probability = 0.2
    target_vocabulary_size: Size | None = None
    target_embedding_dim: Size = 300
    max_sequence_length: Size | None = None
    initializer_range: Positive = 0.1

    def __post_init__(self):
        """Checks the fields, and which values go together."""
        super().__post_init__()
        if self.num_zero > self.vocabulary_size:
            raise ValueError(
                "`num_zero` must be at most `vocabulary_size`. Received: "
                f"{self.num_zero} and {self.vocabulary_size}."
            )


@keras.saving.register_keras_serializable(package="zoo")
class CoVe(Backbone):
    """Bidirectional LSTMs over word vectors, trained as the encoder of a translator.

    `h_0 = word`, `h_i = [forward_i(h_{i-1}); backward_i(h_{i-1})]`. An unknown word has
    the zero vector in training, too. The decoder is a head of the translator.

    Source: McCann et al. 2017, section 3. The word vectors of the original are GloVe.

    Args:
        config: `CoVeConfig`.
        dtype, name: see `zoo.backbone.Backbone`.

    Inputs:
        dict of word_ids int (B, L); optional padding_mask (B, L), 1 = word; by default,
        it is 1 where the id is not 0.

    Returns:
        dict of sequence_output (B, L, D), where D is `2 lstm_dim` for one layer.
        `with_outputs` adds layer_outputs (B, N + 1, L, max(E, 2 `lstm_dim`)), padded
        with zeros; memory (B, L, 2 `lstm_dim`), the last layer; and last_hidden and
        last_cell (B, N, 2 `lstm_dim`), the last states, those of forward LSTMs first.

    Example:
        >>> cove = CoVe(CoVeConfig(11, embedding_dim=4, lstm_dim=3))
        >>> tuple(cove(keras.ops.ones((1, 5), "int32"))["sequence_output"].shape)
        (1, 5, 6)
    """

    family = "cove"
    config_class = CoVeConfig
    on_request = ("layer_outputs", "memory", "last_hidden", "last_cell")
    tokens = "word_ids"

    def __init__(self, config, dtype=None, name=None, parts=None, **kwargs):
        super().__init__(config, dtype, name, parts, **kwargs)
        self.named_layers["word_embedding"].trainable = config.train_words

    @property
    def predicts(self):
        """The target, from a source, if the config has the tokens of a decoder."""
        return None if self.config.target_vocabulary_size is None else "target"

    def groups(self):
        """Returns the word vectors, and the LSTMs of each layer."""
        layers = range(self.config.num_layers)
        lstms = (tuple(f"{side}_{i}" for side in DIRECTIONS) for i in layers)
        return ("word_embedding", "dropout"), *lstms

    def layers_for(self, output="sequence_output", number=None):
        """Names of the layers that an output depends on; see `Backbone`."""
        first = self.config.output == "first" and output == "sequence_output"
        return super().layers_for(output, 1 if first and number is None else number)

    @staticmethod
    def make_layers(config, dtype):
        """Makes the layers by name; they are not built yet."""
        layers = [
            WordEmbedding(
                config.vocabulary_size,
                config.embedding_dim,
                random_stddev=0.0,
                num_zero=config.num_zero,
                dtype=dtype,
                name="word_embedding",
            ),
            keras.layers.Dropout(config.dropout, dtype=dtype, name="dropout"),
        ]
        for i in range(config.num_layers):
            for side in DIRECTIONS:
                named = {"dtype": dtype, "name": f"{side}_{i}"}
                options = {"reverse": side == "backward", "packed": True, **named}
                layers.append(LSTM(config.lstm_dim, forget_bias=0.0, **options))
        return {layer.name: layer for layer in layers}

    @classmethod
    def connect(cls, config, layers, inputs, scores=False):
        """Connects the layers."""
        mask, dropout = inputs["padding_mask"], layers["dropout"]
        words = layers["word_embedding"](inputs["word_ids"])
        words = words * ops.cast(mask, words.dtype)[:, :, None]
        x, outputs, states = words, [], []
        for i in range(config.num_layers):
            x = dropout(x)
            pair = [layers[f"{side}_{i}"](x, mask=mask) for side in DIRECTIONS]
            x, *after = (ops.concatenate(p, axis=-1) for p in zip(*pair, strict=True))
            outputs.append(x)
            states.append(after)
        outputs[-1] = dropout(outputs[-1])
        chosen = {"first": outputs[:1], "last": outputs[-1:], "all": outputs}
        vectors = chosen[config.output]
        if config.output_words:
            vectors = [words, *vectors]
        last_hidden, last_cell = (
            ops.stack(s, axis=1) for s in zip(*states, strict=True)
        )
        # The copy has no Keras mask, which heads would warn about.
        joined = (
            ops.concatenate(vectors, axis=-1) if vectors[1:] else ops.copy(vectors[0])
        )
        return {
            "sequence_output": joined,
            "layer_outputs": stack_outputs([words, *outputs]),
            "memory": outputs[-1],
            "last_hidden": last_hidden,
            "last_cell": last_cell,
        }

    def make_decoder(self):
        """A new decoder with this encoder, see `zoo.layers.EncoderDecoder`."""
        config = self.config
        layer = AttentionalDecoder(
            config.target_vocabulary_size,
            config.target_embedding_dim,
            2 * config.lstm_dim,
            config.num_layers,
            config.dropout,
            config.initializer_range,
            dtype=self.dtype_policy.name,
            name="attentional_decoder",
        )
        return EncoderDecoder(self, layer)

    def make_token_head(self, activation=None, layer_norm_epsilon=None):
        """A new head that predicts tokens of the target, (B, T, W) to (B, T, V)."""
        size, named = self.config.target_vocabulary_size, {"name": "token_logits"}
        return TokenLogits(size, use_bias=True, dtype=self.dtype_policy, **named)
