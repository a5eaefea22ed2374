"""The family of ELMo (Peters et al. 2018)."""

from zoo.family import Family
from zoo.models.elmo.model import ELMo, ELMoConfig
from zoo.models.elmo.token_vectors import TokenVectors
from zoo.models.elmo.weights import LAYOUTS, read, recognise, write

__all__ = ["ELMo", "ELMoConfig", "FAMILY", "TokenVectors", "read", "recognise", "write"]

FAMILY = Family(
    backbone=ELMo,
    tokenizers=("CharacterTokenizer", "UnicodeSpeller"),
    learning_rate=1e-3,
    layouts=LAYOUTS,
    heads={"softmax": "softmax"},
)
