"""Pretraining by a recipe."""

from zoo.pretraining.running import run

__all__ = ["run"]
