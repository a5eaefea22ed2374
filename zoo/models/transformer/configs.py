"""The configuration of a Transformer, and published ones of tensor2tensor."""

import dataclasses
from typing import Literal

from zoo.backbone.config import check_heads
from zoo.checks import ranges
from zoo.layers import get_activation
from zoo.layers.attention.position_embedding import SINUSOIDS

# Fields of `TransformerConfig` that all of them have, see `tensor2tensor.py`. None has
# `target_space`: it only matters to a model of several problems.
_ALL = {"positions": "tensor2tensor", "zero_padding": True}
_DROPOUTS = {"dropout": 0.1, "attention_dropout": 0.1, "activation_dropout": 0.1}
_LARGE = {"hidden_dim": 1024, "intermediate_dim": 4096, "num_heads": 16, "dropout": 0.3}

# Name to fields of `TransformerConfig`, where they differ from its defaults.
# "transformer_base_v1" is the paper's base. Version 3 differs from version 2 in the
# optimizer only; "transformer_base" is another name of it. "transformer_big_v1" is the
# paper's big model, for which the released code of today has no name.
CONFIGS = {
    "transformer_base_v1": _ALL,
    "transformer_base_v2": {**_ALL, "norm_first": True, **_DROPOUTS},
    "transformer_base_v3": {**_ALL, "norm_first": True, **_DROPOUTS},
    "transformer_big": {**_ALL, "norm_first": True, **_DROPOUTS, **_LARGE},
    "transformer_big_v1": {**_ALL, **_LARGE},
}


@dataclasses.dataclass(frozen=True)
class TransformerConfig(ranges.CheckedFields):
    """Sizes and options of a Transformer. The defaults are those of the paper's base.

    Source: Vaswani et al. 2017, section 3 and table 3; `transformer_base_v1` of
    tensor2tensor, whose projections have no biases. Its later versions, fairseq, Marian
    and OpenNMT-tf differ in the fields from `activation` on.

    Args:
        vocabulary_size: tokens of the source, special ones included.
        target_vocabulary_size: tokens of the target; None if both share one table.
        hidden_dim: width D.
        num_encoder_layers, num_decoder_layers: blocks; 0 for an encoder alone.
        num_heads: H, must divide `hidden_dim`.
        intermediate_dim: inner width F of the feed-forward network.
        max_sequence_length: positions, of the source and of the target.
        activation: "relu" or another one, see `zoo.layers.get_activation`.
        norm_first: whether the norm stands before each sub-layer.
        final_layer_norm: whether the encoder and the decoder end in one more norm (the
            model garden: always); None for `norm_first`.
        attention_bias: whether the projections of the attentions have biases.
        positions: "learned", "none", or a kind of `zoo.layers.sinusoids`.
        first_position: the position of the first token, of sinusoids.
        scale_embeddings: whether embeddings are multiplied by sqrt(D).
        zero_padding: whether the embedding of padding is the zero vector.
        target_space: whether a learned vector for the kind of target is added to every
            embedding of the source (tensor2tensor).
        embeddings_layer_norm: whether a norm follows the sum of token and position.
        tied_output: whether the logits are products with the target's embeddings.
        output_bias: whether the logits have a bias for each token.
        dropout: probability after embeddings and sub-layers, in [0, 1).
        attention_dropout: probability on attention weights, in [0, 1).
        activation_dropout: probability after the activation, in [0, 1).
        layer_norm_epsilon: added to the variance.
        pad_id: id of padding, from which a missing mask of the source is derived.

    Raises:
        ValueError: if a value is out of its range or unknown.
    """

    vocabulary_size: ranges.Size = 37000
    target_vocabulary_size: ranges.Size | None = None
    hidden_dim: ranges.Size = 512
    num_encoder_layers: ranges.Layers = 6
    num_decoder_layers: ranges.OptionalLayers = 6
    num_heads: ranges.Size = 8
    intermediate_dim: ranges.Size = 2048
    max_sequence_length: ranges.Size = 512
    activation: str = "relu"
    norm_first: bool = False
    final_layer_norm: bool | None = None
    attention_bias: bool = False
    positions: Literal[("learned", "none", *SINUSOIDS)] = "paper"
    first_position: ranges.Count = 0
    scale_embeddings: bool = True
    zero_padding: bool = False
    target_space: bool = False
    embeddings_layer_norm: bool = False
    tied_output: bool = True
    output_bias: bool = False
    dropout: ranges.Probability = 0.1
    attention_dropout: ranges.Probability = 0.0
    activation_dropout: ranges.Probability = 0.0
    layer_norm_epsilon: ranges.Positive = 1e-6
    pad_id: int = 0

    def __post_init__(self):
        """Checks the fields, and which values go together."""
        super().__post_init__()
        smallest = min(self.vocabulary_size, self.target_size)
        if not 0 <= self.pad_id < smallest:
            raise ValueError(
                f"`pad_id` must be in [0, {smallest}). Received: {self.pad_id}."
            )
        check_heads(self)
        get_activation(self.activation)

    @property
    def target_size(self):
        """Tokens of the target, int."""
        return self.target_vocabulary_size or self.vocabulary_size

    @property
    def sides(self):
        """Dict of the sequences to how the names of their tensors begin."""
        if not self.num_decoder_layers:
            return {"encoder": ""}
        return {"encoder": "encoder_", "decoder": "decoder_"}

    @property
    def initializer_range(self):
        """Standard deviation of new heads, float; that of the embeddings."""
        return self.hidden_dim**-0.5

    @property
    def ends_in_norm(self):
        """Whether the encoder and the decoder end in one more norm, bool."""
        final = self.final_layer_norm
        return self.norm_first if final is None else final

    @property
    def num_layers(self):
        """Blocks of the encoder and of the decoder together, int."""
        return self.num_encoder_layers + self.num_decoder_layers
