"""Optimizers, schedules and resumable training."""

from zoo.training.optimizers import (
    AdamW,
    WarmupLinearDecay,
    finetuning_optimizer,
    layer_depths,
)
from zoo.training.resume import train_steps

__all__ = [
    "AdamW",
    "WarmupLinearDecay",
    "finetuning_optimizer",
    "layer_depths",
    "train_steps",
]
