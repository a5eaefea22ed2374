"""Pretraining of a model whose vectors of texts and words are those of another one."""

from zoo.pretraining.distillation.run import Distillation

__all__ = ["Distillation"]
