"""Keras' methods on raw text: the same numbers as on token ids."""

import concurrent.futures
import warnings

import keras
import numpy as np
import pytest
import tensorflow as tf
from light_fits import EAGER, NUMBERS
from two_heads import weights_of

from zoo.data import plan_batches
from zoo.training import AdamW


@pytest.fixture(scope="module")
def expected(classifier, texts):
    """Logits of the 24 texts, each computed alone."""
    inputs = [classifier.preprocessor((tf.constant([text]),)) for text in texts]
    return np.concatenate([classifier(x, training=False) for x in inputs])


def test_fit_on_text_is_fit_on_its_batches(make_task, texts, labels):
    one = {"num_layers": 1}
    adamw = AdamW(1e-2, epsilon=1e-3), AdamW(1e-2, epsilon=1e-3)
    model = make_task(fields=one, compile={"optimizer": adamw[0]})
    model.fit(texts, labels, batch_size=5, epochs=2, seed=9, verbose=0)
    other = make_task(fields=one, compile={"optimizer": adamw[1], **EAGER})
    packer, other.preprocessor = other.preprocessor, None
    lengths = packer.pack((tf.constant(texts),))[0]["tokens"].row_lengths()
    steps = 0
    for rows in plan_batches(lengths, 5, seed=9, epochs=range(2)).as_numpy_iterator():
        x = packer((tf.gather(texts, rows),))
        other.train_on_batch(x, np.array(NUMBERS)[rows])
        steps += 1
    assert steps == 10
    np.testing.assert_allclose(weights_of(model), weights_of(other), atol=1e-6)
    assert np.abs(weights_of(model) - weights_of(make_task(fields=one))).max() > 0.05


@pytest.mark.shown("None")
@pytest.mark.parametrize("steps", [None, 2, 7])
def test_epochs_resume_where_they_were(make_task, texts, labels, steps):
    """Also epochs of 2 and of 7 batches, where the texts make 3."""
    whole, parts = make_task(compile=EAGER), make_task(compile=EAGER)
    options = {"batch_size": 8, "steps_per_epoch": steps, "verbose": 0}
    whole.fit(texts, labels, epochs=3, **options)
    assert int(whole.optimizer.iterations) == 3 * (steps or 3)
    parts.fit(texts, labels, epochs=1, **options)
    parts.fit(texts, labels, initial_epoch=1, epochs=3, **options)
    np.testing.assert_array_equal(weights_of(parts), weights_of(whole))


@pytest.mark.shown("train_on_batch")
@pytest.mark.parametrize("method", ["train_on_batch", "fit"])
def test_class_weights_are_sample_weights(make_task, texts, labels, method):
    weights = np.array([3.0 if label == "bad" else 1.0 for label in labels])
    options = {"batch_size": 12, "verbose": 0} if method == "fit" else {}
    results = []
    for weighted in (
        {"sample_weight": weights},
        {"class_weight": {"bad": 3.0}},
        {"class_weight": np.array([3.0, 1.0])},
        {},
    ):
        model = make_task(compile=EAGER)
        getattr(model, method)(texts, labels, **options, **weighted)
        results.append(weights_of(model))
    for found in results[1:3]:
        np.testing.assert_allclose(found, results[0], atol=1e-6)
    assert np.abs(results[3] - results[0]).max() > 1e-4


@pytest.mark.parametrize("batch_size", [24, 5])
def test_the_loss_is_the_weighted_mean(classifier, expected, texts, labels, batch_size):
    losses = -np.log(keras.ops.softmax(expected))[np.arange(24), NUMBERS]
    weights = np.random.default_rng(0).uniform(0, 4, 24)
    mean = np.sum(weights * losses) / np.sum(weights)
    loss, accuracy = classifier.evaluate(
        texts, labels, batch_size, sample_weight=weights, verbose=0
    )
    hits = expected.argmax(axis=1) == NUMBERS
    np.testing.assert_allclose(loss, mean, rtol=1e-5)
    np.testing.assert_allclose(accuracy, np.average(hits, weights=weights), rtol=1e-5)


@pytest.mark.slow
def test_a_loss_of_keras_is_the_weighted_mean_too(make_task, texts, labels):
    weights, losses = np.linspace(0, 4, 24), []
    for loss in (None, keras.losses.SparseCategoricalCrossentropy(from_logits=True)):
        model = make_task(compile={"loss": loss, **EAGER})
        losses.append(
            model.evaluate(texts, labels, 24, sample_weight=weights, verbose=0)[0]
        )
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)


def test_a_weight_of_two_is_the_row_twice(make_task):
    results = []
    for texts, labels, weights in (
        (["good film", "so dull"], ["good", "bad"], [2.0, 1.0]),
        (["good film", "good film", "so dull"], ["good", "good", "bad"], None),
    ):
        sgd = keras.optimizers.SGD(0.5)
        model = make_task(compile={"optimizer": sgd, **EAGER})
        model.train_on_batch(texts, labels, weights)
        results.append(weights_of(model))
    np.testing.assert_allclose(results[0], results[1], atol=1e-6)


def test_validation_data_of_every_form(make_task, texts, labels):
    model = make_task(compile=EAGER)
    held = (texts[16:], labels[16:])
    dataset = tf.data.Dataset.from_tensor_slices(held).batch(3)
    for options in (
        {"validation_split": 1 / 3},
        {"validation_data": held},
        {"validation_data": (*held, np.ones(8))},
        {"validation_data": dataset},
    ):
        split = "validation_split" in options
        x, y = (texts, labels) if split else (texts[:16], labels[:16])
        history = model.fit(x, y, batch_size=16, verbose=0, **options).history
        loss = model.evaluate(*held, verbose=0)[0]
        assert history["val_loss"][-1] == pytest.approx(loss, rel=1e-5)
    steps = int(model.optimizer.iterations)
    assert steps == 4  # 16 rows each time, so that nothing of the split was seen


@pytest.mark.slow
def test_a_split_of_pairs_and_weights(make_task, texts, labels):
    model, weights = make_task(compile=EAGER), np.linspace(0, 1, 24)
    pairs, options = (texts, texts[::-1]), {"validation_split": 0.25, "verbose": 0}
    history = model.fit(pairs, np.array(labels), sample_weight=weights, **options)
    held = (texts[18:], texts[::-1][18:])
    loss = model.evaluate(held, labels[18:], sample_weight=weights[18:], verbose=0)[0]
    assert history.history["val_loss"][0] == pytest.approx(loss, rel=1e-5)
    assert model.pair


def test_a_split_must_leave_rows(classifier, texts, labels):
    with pytest.raises(ValueError, match="rows on both sides. Received: 0.99 of 24"):
        classifier.fit(texts, labels, validation_split=0.99)


def test_predictions_are_those_of_each_text(classifier, expected, texts):
    found = [classifier.predict(texts, size, verbose=0) for size in (1, 5, 64)]
    dataset = tf.data.Dataset.from_tensor_slices(texts).batch(7)
    for x in (np.array(texts), tf.constant(texts), dataset):
        found.append(classifier.predict(x, verbose=0))
    for outputs in (*found, classifier.predict_on_batch(texts)):
        np.testing.assert_allclose(outputs, expected, atol=1e-5)


class Crowd(keras.callbacks.Callback):
    """Counts the predictions that run at the same time."""

    def __init__(self):
        super().__init__()
        self.now, self.most = 0, 0

    def on_predict_begin(self, logs=None):
        self.now += 1
        self.most = max(self.most, self.now)

    def on_predict_end(self, logs=None):
        self.now -= 1


def test_threads_predict_one_at_a_time(classifier, expected, texts):
    parts = [slice(i, 24, 4) for i in range(4)]
    results, crowd = [None] * 4, Crowd()

    def work(index):
        results[index] = classifier.predict(
            texts[parts[index]], 3, verbose=0, callbacks=[crowd]
        )

    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        list(threads.map(work, range(4)))
    for part, result in zip(parts, results, strict=True):
        np.testing.assert_allclose(result, expected[part], atol=1e-5)
    assert crowd.most == 1


def test_truncation_is_said_once(make_task, texts):
    model = make_task(compile=EAGER, sequence_length=6)
    with pytest.warns(UserWarning, match=r"\d+ of 24 texts are longer than 6 tokens"):
        model.predict(texts, verbose=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(texts, verbose=0)


def test_one_batch_of_text(make_task, texts, labels):
    model = make_task(compile=EAGER)
    model.preprocessor, packer = None, model.preprocessor
    x = packer((tf.constant(texts),))
    before = model.test_on_batch(x, np.array(NUMBERS))
    model.preprocessor = packer
    assert model.test_on_batch(texts, labels) == pytest.approx(before)
    for _ in range(3):
        model.train_on_batch(texts, labels)
    assert model.test_on_batch(texts, labels)[0] < before[0]
    logs = model.test_on_batch(texts, labels, return_dict=True)
    assert {*logs} == {"accuracy", "loss"}


@pytest.mark.slow
def test_without_preprocessor_dicts_are_the_data(make_task, texts, labels):
    model, other = make_task(compile=EAGER), make_task(compile=EAGER)
    other.preprocessor = None
    x = model.preprocessor((tf.constant(texts),))
    x = {key: value.numpy() for key, value in x.items()}
    for task in (model, other):  # a dict is never text
        task.fit(x, np.array(NUMBERS), batch_size=24, shuffle=False, verbose=0)
    np.testing.assert_array_equal(weights_of(model), weights_of(other))
    outputs = other.predict(x, verbose=0)
    np.testing.assert_allclose(outputs, model.predict(texts, verbose=0), atol=1e-5)
    del x["segment_ids"], x["padding_mask"]
    np.testing.assert_allclose(other(x), outputs, atol=1e-5)


@pytest.mark.slow
def test_a_dataset_of_text_keeps_its_batches(make_task, texts, labels):
    weights = np.linspace(0, 2, 24).astype("float32")
    dataset = tf.data.Dataset.from_tensor_slices((texts, labels, weights)).batch(8)
    model, other = make_task(compile=EAGER), make_task(compile=EAGER)
    model.fit(dataset, verbose=0)
    for i in range(0, 24, 8):
        rows = slice(i, i + 8)
        other.train_on_batch(texts[rows], labels[rows], weights[rows])
    np.testing.assert_allclose(weights_of(model), weights_of(other), atol=1e-6)
    assert model.evaluate(dataset, verbose=0) == pytest.approx(
        model.evaluate(texts, labels, sample_weight=weights, verbose=0), rel=1e-5
    )


@pytest.mark.slow
def test_a_dataset_of_pairs(make_task, texts, labels):
    columns = ((texts, texts[::-1]), labels)
    dataset = tf.data.Dataset.from_tensor_slices(columns).batch(8)
    model = make_task(compile=EAGER)
    model.fit(dataset, verbose=0)
    assert model.pair
    np.testing.assert_allclose(
        model.predict(dataset.map(lambda x, y: (x,)), verbose=0),
        model.predict(columns[0], verbose=0),
        atol=1e-5,
    )


def test_a_dataset_must_be_batched(classifier, texts, labels):
    dataset = tf.data.Dataset.from_tensor_slices((texts, labels))
    with pytest.raises(ValueError, match=r"must be batched.*Add `.batch\(32\)`"):
        classifier.evaluate(dataset)


def test_calling_a_task_takes_token_ids(classifier):
    with pytest.raises(TypeError, match="Use `predict`, `answer`, `fit`"):
        classifier(["good film"])
    with pytest.raises(TypeError, match="TextClassifier is called with token ids"):
        classifier(tf.constant(["good film"]))
    with pytest.raises(TypeError, match="BERT takes token ids, not text"):
        classifier.backbone(["good film"])
