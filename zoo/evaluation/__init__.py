"""Metrics by their official definitions, on arrays of references and predictions."""

from zoo.evaluation.bootstrap import bootstrap_interval, paired_bootstrap
from zoo.evaluation.classification import accuracy, confusion_matrix
from zoo.evaluation.glue import evaluate_glue, glue_metrics

__all__ = [
    "accuracy",
    "bootstrap_interval",
    "confusion_matrix",
    "evaluate_glue",
    "glue_metrics",
    "paired_bootstrap",
]
