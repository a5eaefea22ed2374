"""Optimizers, schedules and resumable training."""

from zoo.training.adagrad import Adagrad
from zoo.training.averaging import AverageWeights
from zoo.training.optimizers import AdamW, finetuning_optimizer, layer_depths
from zoo.training.rate_range import RangeTest, RateCurve
from zoo.training.resume import train_steps
from zoo.training.schedules import (
    InverseSquareRoot,
    PlannedDecay,
    SlantedTriangle,
    WarmupLinearDecay,
)
from zoo.training.selection import KeepBest
from zoo.training.trainable import follow_trainable
from zoo.training.unfreezing import GradualUnfreezing
from zoo.training.update_plan import PlanUpdates

__all__ = [
    "Adagrad",
    "AdamW",
    "AverageWeights",
    "GradualUnfreezing",
    "InverseSquareRoot",
    "KeepBest",
    "PlanUpdates",
    "PlannedDecay",
    "RangeTest",
    "RateCurve",
    "SlantedTriangle",
    "WarmupLinearDecay",
    "finetuning_optimizer",
    "follow_trainable",
    "layer_depths",
    "train_steps",
]
