"""Metrics of labels and spans: those of scikit-learn and of our reports, in `fit`."""

import keras
import numpy as np
import pytest
import tensorflow as tf
import tiny
from tiny_tasks import make_tiny_task

import zoo
from zoo.evaluation import assess_classes, assess_label_sets, span_scores
from zoo.tasks.losses.score_metrics import CLASS_SCORES, LabelAUC, LabelScore, SpanF1

NAMES = [*CLASS_SCORES, "auc"]
TEXTS, KINDS = tiny.make_texts(12, seed=2)
SPANS = ["O", "B-A", "I-A", "B-B", "I-B", "E-A", "S-B"]


def draw(rows=200, classes=4, seed=0):
    """Class numbers, of which the last never occurs, logits and weights."""
    generator = np.random.default_rng(seed)
    true = generator.integers(0, classes - 1, rows)
    logits = generator.normal(0, 2, (rows, classes)).astype("float32")
    return true, logits, generator.random(rows).astype("float32")


def measure(metric, *arrays):
    """The result after three batches."""
    for start in range(0, len(arrays[0]), 70):
        metric.update_state(*(array[start : start + 70] for array in arrays))
    return float(metric.result())


@pytest.mark.parametrize("sets", [False, True])
@pytest.mark.parametrize("score", CLASS_SCORES)
def test_scores_are_those_of_scikit_learn(score, sets):
    metrics = pytest.importorskip("sklearn.metrics")
    true, logits, weights = draw()
    found = logits.argmax(-1)
    if sets:
        true, found = np.eye(4)[true] + np.eye(4)[found] > 0, logits >= 0
    name = score.removeprefix("macro_").removeprefix("micro_") + "_score"
    wanted = getattr(metrics, name)(
        true,
        found,
        average="micro" if score == "micro_f1" else "macro",
        sample_weight=weights,
        zero_division=0,
    )
    metric = LabelScore(score, 4, sets)
    assert measure(metric, true, logits, weights) == pytest.approx(wanted, abs=1e-6)
    again = LabelScore.from_config(metric.get_config())
    assert again.get_config() == metric.get_config() and again.name == score


@pytest.mark.parametrize("sets", [False, True])
def test_the_area_is_that_of_scikit_learn(sets):
    metrics = pytest.importorskip("sklearn.metrics")
    true, logits, weights = draw(500)
    logits[:50] *= 30  # a confident model
    shares, known = tf.nn.log_softmax(logits.astype("float64")).numpy(), range(3)
    rows = np.eye(4)[true]
    if sets:
        true = rows = rows[:, ::-1] + rows > 0
        shares, known = logits, range(4)
    wanted = np.mean(
        [
            metrics.roc_auc_score(rows[:, c], shares[:, c], sample_weight=weights)
            for c in known
        ]
    )
    found = measure(LabelAUC(4, sets), true, logits, weights)
    assert found == pytest.approx(wanted, abs=1e-3)
    assert float(LabelAUC(4).result()) == 0.0


def test_spans_are_those_of_the_evaluation():
    generator = np.random.default_rng(0)
    true = generator.integers(0, 7, (50, 9))
    for row in true:
        row[generator.integers(1, 10) :] = -1
    logits = generator.normal(0, 1, (50, 9, 7))
    logits += 3 * np.eye(7)[np.maximum(true, 0)] * (generator.random((50, 9, 1)) < 0.7)
    found = np.where(true >= 0, logits.argmax(-1), -1)
    rows = (
        [[SPANS[t] for t in row if t >= 0] for row in tags] for tags in (true, found)
    )
    metric = SpanF1(SPANS)
    assert measure(metric, true, logits) == pytest.approx(span_scores(*rows)["f1"])
    assert SpanF1.from_config(metric.get_config()).labels == SPANS
    with pytest.raises(ValueError, match="A tag of a span must be O"):
        SpanF1(["NOUN", "VERB"])


@pytest.mark.parametrize("sets", [False, True])
def test_fit_measures_what_the_report_does(sets):
    model = make_tiny_task(zoo.TextClassifier, multi_label=sets, seed=3)
    model.compile(keras.optimizers.Adam(1e-2), weighted_metrics=[*NAMES, "accuracy"])
    y = [[kind] for kind in KINDS[:-2]] + [[], tiny.LABELS] if sets else KINDS
    stop = keras.callbacks.EarlyStopping("val_macro_f1", patience=1, mode="max")
    found = model.fit(
        TEXTS, y, validation_data=(TEXTS, y), epochs=3, verbose=0, callbacks=[stop]
    )
    assert {f"val_{name}" for name in NAMES} <= found.history.keys()
    assert stop.best == max(found.history["val_macro_f1"])
    found = model.evaluate(TEXTS, y, batch_size=5, verbose=0, return_dict=True)
    predicted = model.files.predict_labels(model, TEXTS)[0]
    assess = assess_label_sets if sets else assess_classes
    wanted = assess(y, predicted, model.labels).values()
    assert found["macro_f1"] == pytest.approx(wanted["macro_f1"], abs=1e-6)
    assert 0 < found["auc"] <= 1


def scores_of_scikit_learn(true, logits, weights, sets):
    """The scores of rows: true class numbers or sets of labels, logits and weights."""
    metrics = pytest.importorskip("sklearn.metrics")
    found, areas = logits >= 0 if sets else logits.argmax(-1), []
    options = {"sample_weight": weights, "zero_division": 0}
    wanted = {
        "macro_f1": metrics.f1_score(true, found, average="macro", **options),
        "micro_f1": metrics.f1_score(true, found, average="micro", **options),
        "precision": metrics.precision_score(true, found, average="macro", **options),
        "recall": metrics.recall_score(true, found, average="macro", **options),
    }
    rows = true if sets else np.eye(logits.shape[-1])[true]
    shares = logits if sets else tf.nn.softmax(logits).numpy()
    for column, share in zip(rows.T, shares.T, strict=True):
        if 0 < column.sum() < len(column):
            area = metrics.roc_auc_score(column, share, sample_weight=weights)
            areas.append(area)
    return wanted | {"auc": np.mean(areas)}


KINDS_OF_TARGETS = {
    "labels": (zoo.TextClassifier, {}, KINDS),
    "probabilities": (
        zoo.TextClassifier,
        {},
        np.where(np.array(KINDS)[:, None] == tiny.LABELS, 0.8, 0.2),
    ),
    "sets": (
        zoo.TextClassifier,
        {"multi_label": True},
        [[kind] for kind in KINDS[:-2]] + [[], tiny.LABELS],
    ),
    "tags": (
        zoo.TokenClassifier,
        {"labels": tiny.TAGS, "scheme": "IOB2"},
        tiny.make_tags(TEXTS),
    ),
}


@pytest.mark.parametrize("kind", KINDS_OF_TARGETS)
def test_replicas_count_each_row_once_by_its_weight(kind, two_replicas):
    """Batches that do not divide, with padding: as scikit-learn for the epoch."""
    task, options, y = KINDS_OF_TARGETS[kind]
    names, weights = list(NAMES), np.array([1.0, 2.0, 3.0] * 4)
    if kind == "tags":
        names.append("span_f1")
    with two_replicas.scope():
        model = make_tiny_task(task, seed=3, **options)
        model.compile(keras.optimizers.SGD(0.0), weighted_metrics=names)
    x, true, row_weights = next(iter(model.batches(TEXTS, y, weights, batch_size=99)))
    kernel = model.get_layer("classifier").kernel
    kernel.assign(kernel * 8 / tf.reduce_max(abs(model(x))))  # to the range of the bins
    found = model.evaluate(
        TEXTS, y, 5, sample_weight=weights, verbose=0, return_dict=True
    )
    true, logits, row_weights = map(np.asarray, (true, model(x), row_weights))
    if kind == "tags":
        tags = np.where(true >= 0, logits.argmax(-1), -1)
        repeated = [
            [
                [tiny.TAGS[tag] for tag in row if tag >= 0]
                for row in np.repeat(rows, row_weights[:, 0].astype(int), axis=0)
            ]
            for rows in (true, tags)
        ]
        assert found["span_f1"] == pytest.approx(span_scores(*repeated)["f1"])
        real = true >= 0
        true, logits, row_weights = true[real], logits[real], row_weights[real]
    if kind == "probabilities":
        true = true.argmax(-1)
    wanted = scores_of_scikit_learn(true, logits, row_weights, kind == "sets")
    area = wanted.pop("auc")
    assert {name: found[name] for name in wanted} == pytest.approx(wanted, abs=1e-6)
    assert found["auc"] == pytest.approx(area, abs=2e-3)  # of the bins


@pytest.mark.parametrize(
    "decoder", [pytest.param("softmax", marks=pytest.mark.slow), "crf"]
)
def test_taggers_measure_spans(decoder, tmp_path):
    tags = tiny.make_tags(TEXTS)
    model = make_tiny_task(
        zoo.TokenClassifier, labels=tiny.TAGS, decoder=decoder, scheme="IOB2", seed=1
    )
    metrics = ["span_f1", "macro_f1", *(["auc"] if decoder == "softmax" else [])]
    model.compile(keras.optimizers.Adam(1e-2), metrics=metrics)
    model.fit(TEXTS, tags, epochs=4, verbose=0)
    found = model.evaluate(TEXTS, tags, verbose=0, return_dict=True)
    assert found["span_f1"] == pytest.approx(model.score(TEXTS, tags)["f1"], abs=1e-6)
    assert 0 < found["macro_f1"] <= 1
    model.save(tmp_path / "a.keras")
    again = zoo.load_model(tmp_path / "a.keras")
    assert again.evaluate(TEXTS, tags, verbose=0, return_dict=True) == found
