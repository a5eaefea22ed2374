"""Heads: layers from the vectors of a backbone to the outputs of a task."""

from zoo.tasks.heads.biattentive_head import BiattentiveHead
from zoo.tasks.heads.concat_head import ConcatPoolingHead
from zoo.tasks.heads.delimiter_head import DelimiterHead
from zoo.tasks.heads.head import HEADS, Head, register_head
from zoo.tasks.heads.linear_head import LinearHead

__all__ = [
    "HEADS",
    "BiattentiveHead",
    "ConcatPoolingHead",
    "DelimiterHead",
    "Head",
    "LinearHead",
    "register_head",
]
