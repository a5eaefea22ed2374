"""The family of BERT (Devlin et al. 2019)."""

from zoo.family import Family
from zoo.models.bert.model import BERT, BERTConfig
from zoo.models.bert.weights import LAYOUTS, read, recognise, write

__all__ = ["BERT", "FAMILY", "BERTConfig", "read", "recognise", "write"]

FAMILY = Family(
    backbone=BERT,
    tokenizers=("WordPieceTokenizer",),
    learning_rate=5e-5,
    layouts=LAYOUTS,
    heads={"masked_lm_head": "masked_lm_head", "next_sentence": "next_sentence"},
)
