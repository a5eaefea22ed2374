"""The family of GPT (Radford et al. 2018 and 2019)."""

from zoo.family import Family
from zoo.models.gpt.model import GPT, GPTConfig
from zoo.models.gpt.weights import LAYOUTS, read, recognise

__all__ = ["FAMILY", "GPT", "GPTConfig", "read", "recognise"]

FAMILY = Family(
    backbone=GPT,
    tokenizers=("GPT2Tokenizer", "GPT1Tokenizer"),
    learning_rate=6.25e-5,
    warmup_share=0.002,
    head="delimiter",
    layouts=LAYOUTS,
)
