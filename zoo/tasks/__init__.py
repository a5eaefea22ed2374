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

import importlib

# The tasks and their modules, in the order of registration. `zoo` has these names, too,
# and nothing is imported before one of them is used.
MODULES = {
    "TextClassifier": "classifiers.text_classifier",
    "TextRegressor": "classifiers.text_classifier",
    "MaskedLM": "language_models.masked_lm",
    "CausalLM": "language_models.causal_lm",
    "BidirectionalLM": "language_models.bidirectional_lm",
    "TextEmbedder": "classifiers.embedding",
    "TokenClassifier": "taggers.token_classifier",
    "MultipleChoice": "classifiers.multiple_choice",
    "QuestionAnswerer": "questions.question_answerer",
    "Translator": "writers.translator",
    "Parser": "writers.parser",
    "Summarizer": "writers.summarizer",
}
_OTHERS = {
    "Head": "heads",
    "TASKS": "registration",
    "Task": "base",
    "TextEnsemble": "classifiers.ensemble",
    "find_task": "registration",
    "register_head": "heads",
    "register_task": "registration",
}

__all__ = [*MODULES, *_OTHERS]


def __getattr__(name):
    """Imports and registers all tasks, when the first name is used."""
    if not name.startswith("_"):
        found = {
            item: getattr(importlib.import_module(f"zoo.tasks.{module}"), item)
            for item, module in {**_OTHERS, **MODULES}.items()
        }
        for task in MODULES:
            found["register_task"](found[task])
        globals().update(found)
    if name not in globals():
        raise AttributeError(f"module 'zoo.tasks' has no attribute {name!r}")
    return globals()[name]


def __dir__():
    return sorted(__all__)
