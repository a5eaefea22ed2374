"""Training on several devices and several machines, with Keras' own engines."""

from zoo.distribution.strategies import choose, strategy
from zoo.distribution.workers import chief_first, is_chief, naming_lost_workers

__all__ = ["choose", "chief_first", "is_chief", "naming_lost_workers", "strategy"]
