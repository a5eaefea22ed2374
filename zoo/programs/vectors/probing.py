"""What the layers of a model know, measured by linear classifiers on their vectors."""

import dataclasses
import os

import keras
import numpy as np
import tensorflow as tf

from zoo import visualize
from zoo.checks.number_rules import numbers_checked
from zoo.checks.ranges import check_choice
from zoo.data import untuned
from zoo.layers import ScalarMix
from zoo.programs.finetune.labelled_rows import draw_rows
from zoo.programs.vectors.layer_examples import EXAMPLES
from zoo.programs.vectors.model_and_texts import load_model
from zoo.tasks import TextClassifier, find_task
from zoo.tasks.inputs.label_values import as_labels
from zoo.training import AdamW, WarmupLinearDecay

EPOCHS, UPDATES, BATCH_SIZE, RATE = 20, 2000, 128, 3e-3
MAX_ROWS = 2000
NO_TAG = "O"  # the tag of words without a name


@dataclasses.dataclass(frozen=True)
class ProbeResult:
    """What linear classifiers find in the layers of a model.

    Args:
        metric: str, "accuracy"; or "f1" of the labels other than "O".
        layers: list of float, the score of each layer, the embeddings first.
        mix: float, the score of a learned weighted sum of all layers.
        weights: list of float, the weights of this sum; their sum is 1.
        baseline: float, the score of a plain predictor without the model: the most
            frequent tag of each word, TF-IDF with logistic regression, or the most
            frequent label of phrases with the same first and last word.
        train, test: int, the numbers of examples.
    """

    metric: str
    layers: list
    mix: float
    weights: list
    baseline: float
    train: int
    test: int

    @property
    def center(self):
        """The mean number of the layer under the weights, float."""
        return float(np.dot(self.weights, np.arange(len(self.weights))))


@numbers_checked()
def probe(preset, train, test, task=None, *, seed=0, limit=MAX_ROWS, **options):
    """Measures what each layer of a model knows.

    Linear classifiers are trained on the vectors of each layer, and on a learned
    weighted sum of all layers. The model itself is not trained. Its vectors are:

    - for `task="token_classifier"`, those of words, with tags as labels;
    - for "text_classifier", the default, the means over the tokens of texts;
    - for "parser", those of the first and the last word of phrases.

    Each dimension is scaled to mean 0 and variance 1 on the examples for training.
    AdamW trains the classifiers for 20 epochs, but at least 2,000 updates, with batches
    of 128 examples and a rate that falls from 0.003 to 0.

    Source: Peters et al. 2018, section 5.3, for the layers; Tenney et al. 2019 for the
    weighted sum, the center of its weights, and phrases.

    Args:
        preset: see `zoo.from_preset`; or a backbone with a tokenizer, or a task.
        train, test: texts and labels, as `files.read` of the task gives them.
        task: str, see above.
        seed: int, of the classifiers, and of random weights.
        limit: int, the most rows of each part; of more, always the same are drawn.
        **options: of `zoo.from_preset`, such as `load_weights=False`.

    Returns:
        `ProbeResult`.

    Raises:
        ValueError: if the task has no probe, there are fewer than two labels, a text
            has no label, or options are given for a model.
    """
    kind = find_task(task) if task else TextClassifier
    examples = next((EXAMPLES[base] for base in kind.__mro__ if base in EXAMPLES), None)
    if examples is None:
        check_choice("task", task, [base.task_name for base in EXAMPLES])
    model = load_model(preset, options, seed=seed)
    rows = [_draw(*part, limit) for part in (train, test)]
    train, test = (examples.make(model, *part) for part in rows)
    labels = sorted({*train[1]})
    test = test[0], as_labels(test[1], labels)
    if len(labels) < 2 or not test[1]:
        raise ValueError(
            "A probe needs at least two labels, and an example for the test. Received: "
            f"labels {labels}, {len(test[1])} examples."
        )
    # Before the training, since it may lack a package.
    predicted = examples.predict(*rows[0], *rows[1])
    metric = "f1" if examples.sparse and NO_TAG in labels else "accuracy"
    found = _probe(train, test, labels, metric, seed)
    baseline = score(np.array(test[1]), np.array(predicted), found["metric"])
    return ProbeResult(
        **found, baseline=baseline, train=len(train[1]), test=len(test[1])
    )


def _draw(texts, labels, limit):
    """At most so many rows, always the same ones."""
    if not isinstance(texts, tuple) and len(texts) != len(labels):
        raise ValueError(
            "Every text must have a label. Received: "
            f"{len(texts)} texts and {len(labels)} labels."
        )
    return draw_rows(texts, labels, limit)


def _probe(train, test, labels, metric, seed):
    """The scores of all classifiers, a dict.

    `train` and `test` are vectors float32 (N, layers, D), which are changed, and lists
    of N labels; `labels` are the different ones for training.
    """
    mean = train[0].mean(axis=0)
    deviation = np.maximum(train[0].std(axis=0), 1e-6)
    for vectors in (train[0], test[0]):
        vectors -= mean
        vectors /= deviation
    x, test_vectors = train[0], test[0]
    numbers = {label: number for number, label in enumerate(labels)}
    y = np.array([numbers[label] for label in train[1]])
    names, truth = np.array(labels), np.array(test[1])

    def fit(layer=None):
        """The classifier of a layer, or of the weighted sum of all."""
        part = slice(None) if layer is None else slice(layer, layer + 1)
        batches = _batches(x[:, part], y, seed)
        weighted = ScalarMix(None if layer is None else 0, name="mix")
        shape = batches.element_spec[0].shape[1:]
        model = _classifier(shape, len(labels), weighted, len(batches), seed)
        model.fit(batches, shuffle=False, verbose=0)
        found = model.predict(test_vectors[:, part], batch_size=1024, verbose=0)
        return model, score(truth, names[found.argmax(axis=1)], metric)

    layers = [fit(layer)[1] for layer in range(x.shape[1])]
    if len(layers) == 1:
        return {"metric": metric, "layers": layers, "mix": layers[0], "weights": [1.0]}
    mixed, mix = fit()
    weights = keras.ops.softmax(mixed.get_layer("mix").scalars)
    weights = keras.ops.convert_to_numpy(weights).tolist()
    return {"metric": metric, "layers": layers, "mix": mix, "weights": weights}


def _batches(x, y, seed):
    """All batches of the training, as one `tf.data.Dataset`.

    An epoch of Keras takes longer than the few updates that it may have.
    """
    epochs = max(EPOCHS, -(-UPDATES * BATCH_SIZE // len(x)))
    draw = np.random.default_rng(seed)
    order = np.concatenate([draw.permutation(len(x)) for _ in range(epochs)])
    rows = tf.data.Dataset.from_tensor_slices(order).batch(BATCH_SIZE)
    vectors, numbers = tf.constant(x), tf.constant(y)
    batches = rows.map(lambda row: (tf.gather(vectors, row), tf.gather(numbers, row)))
    return batches.prefetch(2).with_options(untuned())


def score(truth, found, metric):
    """The accuracy of predicted labels, arrays of str (N,); or F1 of those but "O"."""
    if metric == "accuracy":
        return float(np.mean(truth == found))
    right = np.sum((truth == found) & (truth != NO_TAG))
    return float(2 * right / max(np.sum(truth != NO_TAG) + np.sum(found != NO_TAG), 1))


def _classifier(shape, classes, weighted, steps, seed):
    """A compiled linear classifier of what a `ScalarMix` makes of layers."""
    keras.utils.set_random_seed(seed)
    inputs = keras.Input(shape)
    x = weighted(inputs[:, :, None])[:, 0]
    outputs = keras.layers.Dense(classes, name="classifier")(x)
    model = keras.Model(inputs, outputs)
    model.compile(
        AdamW(WarmupLinearDecay(RATE, 0, steps)),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    return model


def format_result(result):
    """A Markdown table of a `ProbeResult` with a row for each layer, str."""
    lines = [f"| layer | {result.metric} | weight |", "|---|---|---|"]
    rows = zip(result.layers, result.weights, strict=True)
    for number, (layer_score, weight) in enumerate(rows):
        name = f"{number}" if number else "0, embeddings"
        lines.append(f"| {name} | {100 * layer_score:.1f} | {weight:.2f} |")
    lines.append(f"| weighted sum | {100 * result.mix:.1f} | |")
    lines.append(f"| baseline | {100 * result.baseline:.1f} | |\n")
    about = f"{result.train:,} examples for training, {result.test:,} for the test."
    lines.append(f"{about} Center of the weights: {result.center:.2f}")
    return "\n".join(lines)


def plot_results(results, path, title=""):
    """Plots the scores over the layers, and the baselines as lines; returns the path.

    `results` is a dict of the name of a preset to `ProbeResult`.
    """
    curves = {}
    for name, result in results.items():
        name, count = os.path.basename(os.path.normpath(name)), len(result.layers)
        curves[name] = range(count), [100 * layer for layer in result.layers]
        curves[f"{name}, baseline"] = range(count), [100 * result.baseline] * count
    metric = next(iter(results.values())).metric
    return visualize.plot_curves(curves, path, title, "layer", metric, pairs=True)
