"""The family of ULMFiT (Howard and Ruder 2018)."""

from zoo.family import Family
from zoo.models.ulmfit.model import ULMFiT, ULMFiTConfig
from zoo.models.ulmfit.weights import LAYOUTS, read, recognise

__all__ = ["FAMILY", "ULMFiT", "ULMFiTConfig", "read", "recognise"]

FAMILY = Family(
    backbone=ULMFiT,
    tokenizers=("FastaiTokenizer", "WordPieceTokenizer"),
    learning_rate=4e-3,
    head="concat_pooling",
    layouts=LAYOUTS,
    heads={"lm_head": "lm_head"},
)
