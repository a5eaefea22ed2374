"""BERT: a bidirectional Transformer encoder."""

import dataclasses

import keras
from keras import ops

from zoo.backbone import Backbone
from zoo.backbone.config import check_heads
from zoo.checks.ranges import CheckedFields, Layers, Positive, Probability, Size
from zoo.layers import (
    LayerNorm,
    MaskedLMHead,
    PositionEmbedding,
    TransformerEncoderBlock,
    get_activation,
)
from zoo.layers.attention import stack


@dataclasses.dataclass(frozen=True)
class BERTConfig(CheckedFields):
    """Sizes and options of a BERT. The defaults are those of BERT-base uncased.

    Source: Devlin et al. 2019, section 3, and `modeling.py` of the released code.
    Google's first release and Hugging Face use the exact GELU, Google's later code and
    the model garden its approximation with tanh.

    Args:
        vocabulary_size: tokens, special ones included.
        hidden_dim: width D.
        num_layers: encoder blocks.
        num_heads: H, must divide `hidden_dim`.
        intermediate_dim: inner width F of the feed-forward network.
        max_sequence_length: rows in the table of positions.
        num_segments: rows in the table of segments (model garden: 16).
        activation: "gelu" or "gelu_tanh", see `zoo.layers.get_activation`.
        dropout: probability after embeddings and sub-layers, in [0, 1).
        attention_dropout: probability on attention weights, in [0, 1).
        layer_norm_epsilon: added to the variance.
        initializer_range: standard deviation of the truncated normal initial weights.
        pad_id: id of padding, from which a missing mask is derived.
        pooler: whether there is a pooled output. Some Hugging Face files have none.
        causal: whether a position attends only to itself and to earlier positions, as
            in the paper's ablation (section 5.1).

    Raises:
        ValueError: if a value is out of its range or unknown.
    """

    vocabulary_size: Size = 30522
    hidden_dim: Size = 768
    num_layers: Layers = 12
    num_heads: Size = 12
    intermediate_dim: Size = 3072
    max_sequence_length: Size = 512
    num_segments: Size = 2
    activation: str = "gelu_tanh"
    dropout: Probability = 0.1
    attention_dropout: Probability = 0.1
    layer_norm_epsilon: Positive = 1e-12
    initializer_range: Positive = 0.02
    pad_id: int = 0
    pooler: bool = True
    causal: bool = False

    def __post_init__(self):
        """Checks the fields, and which values go together."""
        super().__post_init__()
        if not 0 <= self.pad_id < self.vocabulary_size:
            raise ValueError(
                "`pad_id` must be in [0, vocabulary_size). Received: pad_id="
                f"{self.pad_id}, vocabulary_size={self.vocabulary_size}."
            )
        check_heads(self)
        get_activation(self.activation)


@keras.saving.register_keras_serializable(package="zoo")
class BERT(Backbone):
    """BERT's encoder. Layer norm follows each residual connection (post-norm).

    `x = norm(token + segment + position)`, followed by `num_layers` blocks. The pooled
    output is `tanh(x[:, 0] W + b)`.

    Source: Devlin et al. 2019, section 3; released code `modeling.py`.
    `keras_nlp.models.BertBackbone` has a fixed tanh GELU, a fixed epsilon and two
    segments, so it cannot hold every published checkpoint.

    Args:
        config: `BERTConfig`.
        dtype, name: see `zoo.backbone.Backbone`.

    Inputs:
        dict of int (B, L): token_ids, and optional segment_ids, by default 0, and
        padding_mask, 1 = token, by default every one other than `pad_id`.

    Returns:
        dict of sequence_output (B, L, D) and, with a pooler, pooled_output (B, D).
        `with_outputs` adds layer_outputs (B, N + 1, L, D) and attention_scores float32
        (B, N, H, L, L).

    Example:
        >>> bert = BERT(BERTConfig(11, 4, 1, 2, 8))
        >>> tuple(bert(keras.ops.ones((1, 3), "int32"))["sequence_output"].shape)
        (1, 3, 4)
    """

    family = "bert"
    config_class = BERTConfig
    own_layers = {"pooled_output": ("pooler",)}
    derived_inputs = {
        "segment_ids": lambda ids, config: ops.zeros_like(ids),
        "padding_mask": lambda ids, config: ops.cast(
            ops.not_equal(ids, config.pad_id), "int32"
        ),
    }

    @property
    def predicts(self):
        """The tokens to predict: "next" if the model is causal, or else "masked"."""
        return "next" if self.config.causal else "masked"

    def make_token_head(self, activation=None, layer_norm_epsilon=None):
        """Makes the masked language model's head; it shares the token embedding."""
        config = self.config
        return MaskedLMHead(
            self.named_layers["token_embedding"],
            activation or config.activation,
            layer_norm_epsilon or config.layer_norm_epsilon,
            config.initializer_range,
            dtype=self.dtype_policy,
            name="masked_lm_head",
        )

    def groups(self):
        """Returns the embeddings as one group, and each block as a group."""
        return stack.block_groups(
            name for name in self.named_layers if name != "pooler"
        )

    @staticmethod
    def make_layers(config, dtype):
        """Makes the layers by name; they are not built yet."""
        stddev = config.initializer_range
        normal = keras.initializers.TruncatedNormal(stddev=stddev)

        named, width = {"dtype": dtype}, config.hidden_dim

        def embedding(rows, name):
            return keras.layers.Embedding(
                rows, width, normal.clone(), **named, name=name
            )

        places, epsilon = config.max_sequence_length, config.layer_norm_epsilon
        layers = [
            embedding(config.vocabulary_size, "token_embedding"),
            embedding(config.num_segments, "segment_embedding"),
            PositionEmbedding(places, stddev, **named, name="position_embedding"),
            LayerNorm(epsilon=epsilon, **named, name="embeddings_layer_norm"),
            keras.layers.Dropout(config.dropout, **named, name="embeddings_dropout"),
        ]
        names = [f"block_{i}" for i in range(config.num_layers)]
        options = {"stddev": stddev, "causal": config.causal, **named}
        layers += stack.make_blocks(TransformerEncoderBlock, config, names, **options)
        if config.pooler:
            options = {"kernel_initializer": normal.clone(), **named, "name": "pooler"}
            layers.append(keras.layers.Dense(width, "tanh", **options))
        return {layer.name: layer for layer in layers}

    @classmethod
    def connect(cls, config, layers, inputs, scores=False):
        """Connects the layers; `scores` adds the attention weights to the outputs."""
        x, mask, blocks = cls._begin(layers, inputs)
        hidden, weights = stack.run_blocks(blocks, x, scores, padding_mask=mask)
        x = hidden[-1]
        outputs = {"sequence_output": x, "layer_outputs": ops.stack(hidden, axis=1)}
        if "pooler" in layers:
            outputs["pooled_output"] = layers["pooler"](x[:, 0])
        if scores:
            (outputs["attention_scores"],) = weights
        return outputs

    @classmethod
    def connect_at(cls, config, layers, inputs, positions):
        """Connects the layers; the last block computes position 0 and `positions`."""
        x, mask, blocks = cls._begin(layers, inputs)
        x = stack.run_blocks(blocks[:-1], x, padding_mask=mask)[0][-1]
        x = blocks[-1](x, mask, ops.pad(positions, ((0, 0), (1, 0))))
        outputs = {"sequence_output": x[:, 1:]}
        if "pooler" in layers:
            outputs["pooled_output"] = layers["pooler"](x[:, 0])
        return outputs

    @staticmethod
    def _begin(layers, inputs):
        """Returns the embeddings (B, L, D), the mask and the blocks."""
        x = layers["token_embedding"](inputs["token_ids"])
        x = x + layers["segment_embedding"](inputs["segment_ids"])
        x = x + layers["position_embedding"](x)
        x = layers["embeddings_dropout"](layers["embeddings_layer_norm"](x))
        return x, inputs["padding_mask"], stack.find_blocks(layers)
