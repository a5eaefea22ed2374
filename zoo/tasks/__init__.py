"""Tasks: a head on a backbone, with text as its input, the same for every family.

The way of one text, as a reader may follow it in eight files:

1. `fit` (`fitting/text_training.py`) checks its numbers, a `Run`, and reads the data.
2. `inputs/reading.py` makes `Texts` (`inputs/texts.py`) of lists, tables and streams:
   columns of strings, encoded labels and weights, all of them checked. The task says
   what its labels are (`encode_labels`). Nothing is checked again.
3. `inputs/text_batches.py` calls the packer of the task, which tokenises the columns
   (`zoo.data.Packer`), sorts rows by length and pads batches.
4. The graph was made when the task was: `heads/` connects a head to the backbone.
5. Keras' `fit` calls `train_step` (`fitting/distribution.py`): global means of losses.
6. `answer` (`answering.py`) predicts in the same batches; `answers` of the task
   (`classifiers/`, `taggers/`, ...) makes labels, spans or texts of the outputs.
7. `export` (`signatures.py`) traces `answer_batch`, the same packer and graph, as a
   SavedModel with strings as its inputs.
"""

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
