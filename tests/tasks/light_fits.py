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
    """Texts and labels in batches."""

    def __init__(self, texts, labels, size):
        super().__init__()
        self.rows = texts, labels, size

    def __len__(self):
        return -(-len(self.rows[0]) // self.rows[2])

    def __getitem__(self, index):
        texts, labels, size = self.rows
        return (
            texts[index * size : (index + 1) * size],
            labels[index * size : (index + 1) * size],
        )


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
