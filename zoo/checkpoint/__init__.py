"""Checkpoints of any format as name -> array, and tables that rename their arrays."""

from zoo.checkpoint.converted import Converted
from zoo.checkpoint.files import Checkpoint, open_checkpoint, save_checkpoint
from zoo.checkpoint.table import Row, assign, convert, expand, revert

__all__ = [
    "Checkpoint",
    "Converted",
    "Row",
    "assign",
    "convert",
    "expand",
    "open_checkpoint",
    "revert",
    "save_checkpoint",
]
