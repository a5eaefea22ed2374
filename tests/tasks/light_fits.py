"""Data for `fit`, and models that keep what `fit` gives them instead of training."""

import keras
import numpy as np
import tensorflow as tf
import tiny
from tiny_tasks import make_tiny_task

from zoo.tasks import TextClassifier
from zoo.training import WarmupLinearDecay

EAGER = {"run_eagerly": True}
RATE, SIZE = 0.01, 8
TEXTS, LABELS = tiny.make_texts(24)
NUMBERS = [tiny.LABELS.index(label) for label in LABELS]


class Batches(keras.utils.PyDataset):
    """Batches of a list; it counts the ends of epochs."""

    def __init__(self, batches):
        super().__init__()
        self.batches, self.ends = batches, 0

    def __len__(self):
        return len(self.batches)

    def __getitem__(self, index):
        return self.batches[index]

    def on_epoch_end(self):
        self.ends += 1


class StopAfter(keras.callbacks.Callback):
    """Stops a `fit` after some batches of an epoch."""

    def __init__(self, batches):
        super().__init__()
        self.batches = batches

    def on_train_batch_end(self, batch, logs=None):
        self.model.stop_training = batch + 1 >= self.batches


class Stream:
    """Rows without a number, like an `IterableDataset` of Hugging Face or a column."""

    def __init__(self, rows):
        self.rows = rows

    def __iter__(self):
        return iter(self.rows)


def generator(rows):
    yield from rows


def pairs(texts, labels, size):
    """Batches of texts and labels, a list of pairs."""
    begins = range(0, len(texts), size)
    return [(texts[i : i + size], labels[i : i + size]) for i in begins]


def slices(texts, labels, size):
    return tf.data.Dataset.from_tensor_slices((texts, labels)).batch(size)


class Seen:
    """Keeps the rate of every update of a model, and its batch, but does not train.

    Attributes:
        rates: list of float.
        batches: list of what a step was given.
    """

    def __init__(self, model):
        self.rates, self.batches = [], []

        def train_step(data):
            self.rates.append(float(model.optimizer.learning_rate))
            self.batches.append(data)
            model.optimizer.iterations.assign_add(1)
            return {"loss": 0.0}

        model.train_step = train_step
        model.get_metrics_result = lambda: {"loss": 0.0}

    @property
    def labels(self):
        """The labels of every batch, lists of int."""
        return [np.asarray(batch[1]).tolist() for batch in self.batches]

    @property
    def tokens(self):
        """The tokens of every batch, lists of lists of int."""
        return [np.asarray(batch[0]["token_ids"]).tolist() for batch in self.batches]


def formula(updates):
    """The rates of the default schedule, list of float."""
    schedule = WarmupLinearDecay(RATE, updates // 10, updates)
    return [float(schedule(update)) for update in range(updates)]


def make(tokenizer, **options):
    options = {"tokenizer": tokenizer, **options}
    model = make_tiny_task(TextClassifier, config={"num_layers": 1}, seed=1, **options)
    model.compile(learning_rate=RATE, **EAGER)
    return model
