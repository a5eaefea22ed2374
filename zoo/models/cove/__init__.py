"""The family of CoVe (McCann et al. 2017)."""

from zoo.family import Family
from zoo.models.cove.model import CoVe, CoVeConfig
from zoo.models.cove.weights import LAYOUTS

__all__ = ["FAMILY", "CoVe", "CoVeConfig"]

FAMILY = Family(
    backbone=CoVe,
    tokenizers=("BitextTokenizer",),
    learning_rate=1e-3,
    layouts=LAYOUTS,
    heads={name: name for name in ("attentional_decoder", "token_logits")},
)
