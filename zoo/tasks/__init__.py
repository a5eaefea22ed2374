"""Backbone to task model, with its text input, the same for every family."""

from zoo.tasks.base import Task
from zoo.tasks.classifiers.embedding import TextEmbedder
from zoo.tasks.classifiers.ensemble import TextEnsemble
from zoo.tasks.classifiers.multiple_choice import MultipleChoice
from zoo.tasks.classifiers.text_classifier import TextClassifier, TextRegressor
from zoo.tasks.heads import Head, register_head
from zoo.tasks.language_models.bidirectional_lm import BidirectionalLM
from zoo.tasks.language_models.causal_lm import CausalLM
from zoo.tasks.language_models.masked_lm import MaskedLM
from zoo.tasks.questions.question_answerer import QuestionAnswerer
from zoo.tasks.registration import TASKS, find_task, register_task
from zoo.tasks.taggers.token_classifier import TokenClassifier
from zoo.tasks.writers.parser import Parser
from zoo.tasks.writers.summarizer import Summarizer
from zoo.tasks.writers.translator import Translator

for task in (
    TextClassifier,
    TextRegressor,
    MaskedLM,
    CausalLM,
    BidirectionalLM,
    TextEmbedder,
    TokenClassifier,
    MultipleChoice,
    QuestionAnswerer,
    Translator,
    Parser,
    Summarizer,
):
    register_task(task)

__all__ = [
    "TASKS",
    "Head",
    "BidirectionalLM",
    "CausalLM",
    "MaskedLM",
    "MultipleChoice",
    "Parser",
    "QuestionAnswerer",
    "Summarizer",
    "Task",
    "TextClassifier",
    "TextEmbedder",
    "TextEnsemble",
    "TextRegressor",
    "TokenClassifier",
    "Translator",
    "find_task",
    "register_head",
    "register_task",
]
