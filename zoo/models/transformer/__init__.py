"""The family of the Transformer (Vaswani et al. 2017)."""

from zoo.family import Family
from zoo.models.transformer.configs import CONFIGS
from zoo.models.transformer.model import Transformer, TransformerConfig
from zoo.models.transformer.weights import LAYOUTS

__all__ = ["CONFIGS", "FAMILY", "Transformer", "TransformerConfig"]

FAMILY = Family(
    backbone=Transformer,
    tokenizers=(
        "SentencePieceTokenizer",
        "BytePairTokenizer",
        "MarianTokenizer",
        "ParsingTokenizer",
        "SubwordTokenizer",
        "TokenListTokenizer",
    ),
    learning_rate=3e-4,
    layouts=LAYOUTS,
    heads={"token_logits": "token_logits"},
    encoder={"num_decoder_layers": 0, "target_vocabulary_size": None},
)
