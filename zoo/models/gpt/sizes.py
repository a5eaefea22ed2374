"""The sizes and options of a GPT."""

import dataclasses

from zoo.backbone.config import check_heads
from zoo.checks.ranges import CheckedFields, Layers, Positive, Probability, Size
from zoo.layers import get_activation


@dataclasses.dataclass(frozen=True)
class GPTConfig(CheckedFields):
    """Sizes and options of a GPT. The defaults are those of GPT-2 small.

    Source: Radford et al. 2018 and 2019, and the released code. That of GPT-2 has no
    dropout; 0.1 is that of Hugging Face's files.

    Args:
        vocabulary_size: V, tokens.
        hidden_dim: width D.
        num_layers: decoder blocks.
        num_heads: H, must divide `hidden_dim`.
        intermediate_dim: inner width F of the feed-forward network.
        max_sequence_length: positions.
        norm_first: whether a norm stands before each sub-layer and after the last
            block, as in GPT-2. In GPT-1 a norm follows each sub-layer.
        activation: str, see `zoo.layers.get_activation`.
        dropout: probability after sub-layers, in [0, 1).
        embedding_dropout: probability after the embeddings, in [0, 1).
        attention_dropout: probability on attention weights, in [0, 1).
        layer_norm_epsilon: added to the variance.
        initializer_range: standard deviation of the truncated normal initial weights.

    Raises:
        ValueError: if a size, epsilon or range is not positive, or a probability is not
            in [0, 1). Also if the activation is unknown, or `num_heads` does not divide
            `hidden_dim`.
    """

    vocabulary_size: Size = 50257
    hidden_dim: Size = 768
    num_layers: Layers = 12
    num_heads: Size = 12
    intermediate_dim: Size = 3072
    max_sequence_length: Size = 1024
    norm_first: bool = True
    activation: str = "gelu_tanh"
    dropout: Probability = 0.1
    embedding_dropout: Probability = 0.1
    attention_dropout: Probability = 0.1
    layer_norm_epsilon: Positive = 1e-5
    initializer_range: Positive = 0.02

    def __post_init__(self):
        """Checks the fields, and which values go together."""
        super().__post_init__()
        check_heads(self)
        get_activation(self.activation)
