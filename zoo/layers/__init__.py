"""Layers shared by the families, usable in any Keras model."""

from zoo.layers.attention import MultiHeadAttention
from zoo.layers.embeddings import PositionEmbedding
from zoo.layers.heads import MaskedLMHead, Pooling
from zoo.layers.normalization import LayerNorm
from zoo.layers.transformer import TransformerEncoderBlock, WithScores, get_activation

__all__ = [
    "LayerNorm",
    "MaskedLMHead",
    "MultiHeadAttention",
    "Pooling",
    "PositionEmbedding",
    "TransformerEncoderBlock",
    "WithScores",
    "get_activation",
]
