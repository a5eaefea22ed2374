"""Optimizers, schedules and resumable training."""

from zoo.training.optimizers import Adagrad, AdamW, finetuning_optimizer, layer_depths
from zoo.training.rate_range import RangeTest, RateCurve, unchanged
from zoo.training.resume import train_steps
from zoo.training.schedules import (
    PlannedDecay,
    WarmupLinearDecay,
    check_learning_rate,
)
from zoo.training.selection import KeepBest
from zoo.training.trainable import follow_trainable
from zoo.training.update_plan import PlanUpdates, wrapped

__all__ = [
    "Adagrad",
    "AdamW",
    "KeepBest",
    "PlanUpdates",
    "PlannedDecay",
    "RangeTest",
    "RateCurve",
    "WarmupLinearDecay",
    "check_learning_rate",
    "finetuning_optimizer",
    "follow_trainable",
    "layer_depths",
    "train_steps",
    "unchanged",
    "wrapped",
]
