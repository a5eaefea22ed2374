"""The family of the Transformer (Vaswani et al. 2017)."""

from zoo.family import Family
from zoo.models.transformer.model import Transformer, TransformerConfig

__all__ = ["FAMILY", "Transformer", "TransformerConfig"]

FAMILY = Family(
    backbone=Transformer,
    tokenizers=("SentencePieceTokenizer",),
    learning_rate=3e-4,
)
