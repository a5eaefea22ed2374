"""What every strategy must do alike; also a program, one of several workers.

As a program, it takes the file that it writes its results to; TF_CONFIG says which
worker it is.
"""

import sys

import keras
import numpy as np
import tensorflow as tf
import tiny

from zoo.registry import build_backbone
from zoo.tasks import TextClassifier
from zoo.text import WordPieceTokenizer
from zoo.training import AdamW

STEPS = 10
ROWS = 33  # with batches of 8, the last has one row, and a replica none


def make_model(strategy, dtype=None, rate=3e-3, num_layers=1, **options):
    """The same classifier under any strategy."""
    with strategy.scope():
        keras.utils.set_random_seed(3)
        model = TextClassifier(
            build_backbone("bert", {**tiny.CONFIG, "num_layers": num_layers}, dtype),
            WordPieceTokenizer(tiny.VOCABULARY),
            tiny.LABELS,
            head_dropout=0.0,
        )
        # A key's bias has no gradient but noise, which Adam would make a step of.
        model.compile(AdamW(rate, epsilon=1e-3, global_clipnorm=0.5), **options)
    return model


def run(strategy):
    """Trains ten updates on raw strings, then evaluates and predicts.

    Returns:
        dict of arrays: losses (10,), weights (W,), and evaluation and prediction of 37
        and 33 rows, whose last batches are short.
    """
    model = make_model(strategy)
    texts, labels = tiny.make_texts(37)
    weights = np.random.default_rng(0).uniform(0, 3, ROWS)
    options = {"steps_per_epoch": 1, "sample_weight": weights, "verbose": 0}
    history = model.fit(texts[:ROWS], labels[:ROWS], 8, STEPS, **options)
    results = {
        "losses": np.array(history.history["loss"]),
        "accuracies": np.array(history.history["accuracy"]),
        "weights": np.concatenate([w.ravel() for w in model.get_weights()]),
    }
    for rows in (37, ROWS):
        x, y = texts[:rows], labels[:rows]
        results[f"evaluate_{rows}"] = np.array(
            model.evaluate(x, y, batch_size=8, verbose=0)
        )
        results[f"predict_{rows}"] = model.predict(x, batch_size=8, verbose=0)
    return results


if __name__ == "__main__":
    results = run(tf.distribute.MultiWorkerMirroredStrategy())
    np.savez(sys.argv[1], **results)
