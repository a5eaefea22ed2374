"""Backbone to task model, with its text input, the same for every family."""

from zoo.tasks.base import Task
from zoo.tasks.classification import TextClassifier, TextRegressor
from zoo.tasks.embedding import TextEmbedder
from zoo.tasks.language_model import LanguageModel
from zoo.tasks.masked_lm import MaskedLM
from zoo.tasks.tagging import TokenClassifier

TASKS = {
    task.task_name: task
    for task in (
        TextClassifier,
        TextRegressor,
        MaskedLM,
        LanguageModel,
        TextEmbedder,
        TokenClassifier,
    )
}

__all__ = [
    "TASKS",
    "LanguageModel",
    "MaskedLM",
    "Task",
    "TextClassifier",
    "TextEmbedder",
    "TextRegressor",
    "TokenClassifier",
]
