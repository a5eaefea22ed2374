"""What the runs of all objectives share."""

import numpy as np
import tensorflow as tf

from zoo.data import untuned

TEXTS_AT_ONCE = 65536  # that are tokenized together


class Objective:
    """The base of the runs of recipes.

    A subclass also has `build`, which makes the compiled model at the start; `batches`,
    the training batches from an update on; `evaluate`, a dict of scores of the held-out
    files; and `finished`, a copy of the model with the config for fine-tuning.

    Args:
        recipe: `zoo.pretraining.Recipe`.
        data: directory with the text.
        output: pathlib.Path of the run.

    Attributes:
        sizes: list of int, tokens of each update.
        prepares: bool, whether the constructor takes another `Preparation`.
        in_parts: bool, whether an update can be computed in parts of its rows: a row
            does not depend on the others, nor on those of the update before.
        task: class of the task, or None if the model depends on the data.
    """

    prepares, in_parts, task = False, True, None
    # A function of a recipe, a tokenizer, the number of a part and its documents to an
    # iterator of rows, dicts of arrays; None if rows are not made of documents.
    rows = None

    @staticmethod
    def task_options(recipe):
        """Arguments of the task, beside its backbone and its tokenizer, dict."""
        return {"sequence_length": recipe.sequence_length}

    @staticmethod
    def check(recipe):
        """Raises ValueError if the options are wrong, or do not fit the recipe."""
        _ = recipe.options

    def tokens(self):
        """The number of tokens in all updates, int."""
        return sum(self.sizes)

    def evaluate(self, model):
        """The scores of the rows in `valid`, by the name of their held-out file."""
        return {
            name: model.files.measure(model, *rows) for name, rows in self.valid.items()
        }

    def record(self):
        """What the record of the preset says of this run, a dict."""
        return {}


class StagedObjective(Objective):
    """The base of the runs whose stages have batches of their own."""

    def stage(self, model, length, rows, steps, done):
        """The batches left after `done` of the `steps` updates of a stage."""
        raise NotImplementedError

    def batches(self, model, start):
        """The training batches from update `start` on, stage after stage."""
        dataset, begin = None, 0
        for length, rows, steps in self.recipe.stages:
            done = max(start - begin, 0)
            if done < steps:
                part = self.stage(model, length, rows, steps, done)
                dataset = dataset.concatenate(part) if dataset else part
            begin += steps
        return dataset.with_options(untuned())

    def rest(self, model, columns, updates, steps, done, **options):
        """The batches of a stage after `done` of its `steps`, `updates` in an epoch."""
        options |= {"shuffle": True, "seed": self.recipe.seed}
        options["epochs"] = range(done // updates, -(-steps // updates))
        batches = model.batches(*columns, **options)
        return batches.skip(done % updates).take(steps - done)


def rows_of_replica(rows):
    """The rows of a batch that each replica of the present strategy reads, int.

    ValueError unless all have equally many: a model that carries states has a fixed
    number of them.
    """
    replicas = tf.distribute.get_strategy().num_replicas_in_sync
    if rows % replicas:
        raise ValueError(
            "The rows of an update must be a multiple of the replicas if a model "
            f"carries states. Received: {rows} rows and {replicas} replicas. Use "
            "another number of devices."
        )
    return rows // replicas


def only_stage(recipe, model):
    """The only stage of a recipe of a kind of `model`; ValueError for several."""
    if len(recipe.stages) > 1:
        raise ValueError(
            f"The recipe of {model} must have one stage. Received: {recipe.stages}."
        )
    return recipe.stages[0]


def count_tokens(tokenize, texts, specials):
    """The tokens of each text with some special ones, int (N,)."""
    parts = range(0, len(texts), TEXTS_AT_ONCE)
    found = [tokenize(texts[s : s + TEXTS_AT_ONCE]).row_lengths() for s in parts]
    counts = np.concatenate([[], *(part.numpy() for part in found)])
    return counts.astype(int) + specials
