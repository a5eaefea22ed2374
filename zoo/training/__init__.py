"""Optimizers, schedules and resumable training."""

from zoo.training.optimizers import (
    Adagrad,
    AdamW,
    WarmupLinearDecay,
    finetuning_optimizer,
    layer_depths,
)
from zoo.training.resume import train_steps
from zoo.training.selection import KeepBest

__all__ = [
    "Adagrad",
    "AdamW",
    "KeepBest",
    "WarmupLinearDecay",
    "finetuning_optimizer",
    "layer_depths",
    "train_steps",
]
