"""The family of TagLM (Peters et al. 2017). Its authors published no weights."""

from zoo.family import Family
from zoo.models.taglm.model import TagLM, TagLMConfig

__all__ = ["FAMILY", "TagLM", "TagLMConfig"]

FAMILY = Family(
    backbone=TagLM,
    tokenizers=("TaggerTokenizer",),
    learning_rate=1e-3,
)
