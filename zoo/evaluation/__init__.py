"""Metrics with their official definitions, on arrays and lists."""

from zoo.evaluation.bootstrap import bootstrap_interval, paired_bootstrap
from zoo.evaluation.classification import accuracy, confusion_matrix
from zoo.evaluation.glue_scores import evaluate_glue, glue_metrics
from zoo.evaluation.spans import (
    allowed_transitions,
    convert_tags,
    find_spans,
    span_scores,
    write_spans,
)

__all__ = [
    "accuracy",
    "allowed_transitions",
    "bootstrap_interval",
    "confusion_matrix",
    "convert_tags",
    "evaluate_glue",
    "find_spans",
    "glue_metrics",
    "paired_bootstrap",
    "span_scores",
    "write_spans",
]
