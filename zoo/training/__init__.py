"""Optimizers, schedules and resumable training."""

from zoo.training.optimizers import Adagrad, AdamW, finetuning_optimizer, layer_depths
from zoo.training.resume import train_steps
from zoo.training.schedules import WarmupLinearDecay
from zoo.training.selection import KeepBest
from zoo.training.trainable import follow_trainable

__all__ = [
    "Adagrad",
    "AdamW",
    "KeepBest",
    "WarmupLinearDecay",
    "finetuning_optimizer",
    "follow_trainable",
    "layer_depths",
    "train_steps",
]
