"""Backbone to task model, with its text input, the same for every family."""

from zoo.tasks.base import Task
from zoo.tasks.bidirectional_lm import BidirectionalLM
from zoo.tasks.causal_lm import CausalLM
from zoo.tasks.embedding import TextEmbedder
from zoo.tasks.ensemble import TextEnsemble
from zoo.tasks.masked_lm import MaskedLM
from zoo.tasks.multiple_choice import MultipleChoice
from zoo.tasks.parser import Parser
from zoo.tasks.question_answerer import QuestionAnswerer
from zoo.tasks.registration import TASKS, find_task, register_task
from zoo.tasks.summarizer import Summarizer
from zoo.tasks.text_classifier import TextClassifier, TextRegressor
from zoo.tasks.token_classifier import TokenClassifier
from zoo.tasks.translator import Translator

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
    "register_task",
]
