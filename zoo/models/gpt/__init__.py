"""The family of GPT (Radford et al. 2018 and 2019)."""

from zoo.family import Family
from zoo.models.gpt.model import GPT, GPTConfig
from zoo.models.gpt.shapes import weight_shapes
from zoo.models.gpt.weights import layouts, read, recognise

__all__ = ["FAMILY", "GPT", "GPTConfig", "read", "recognise"]

FAMILY = Family(
    backbone=GPT,
    # GPT-2's also takes the arguments of GPT-1's, and converters name no class.
    tokenizers=("GPT1Tokenizer", "GPT2Tokenizer"),
    learning_rate=6.25e-5,
    head="delimiter",
    layouts=layouts(),
    shapes=weight_shapes,
)
