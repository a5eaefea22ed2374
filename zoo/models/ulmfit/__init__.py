"""The family of ULMFiT (Howard and Ruder 2018)."""

from zoo.family import Family
from zoo.models.ulmfit.model import ULMFiT, ULMFiTConfig
from zoo.models.ulmfit.shapes import weight_shapes

__all__ = ["FAMILY", "ULMFiT", "ULMFiTConfig"]

FAMILY = Family(
    backbone=ULMFiT,
    tokenizers=("FastaiTokenizer", "WordPieceTokenizer"),
    learning_rate=4e-3,
    heads={"lm_head": "lm_head"},
    shapes=weight_shapes,
)
