"""Numbers and vectors from text."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from light_fits import EAGER

from zoo.layers import Pooling


@pytest.mark.slow
def test_a_regressor_learns_numbers(make_task, texts, labels):
    model = make_task("text_regressor", head_dropout=0.0, compile=EAGER)
    y = [3.0 if label == "good" else -1.0 for label in labels]
    values = model.answer(texts)["value"]
    assert values.shape == (24,)
    mse, error = model.evaluate(texts, y, verbose=0)
    assert mse == pytest.approx(np.mean((values - y) ** 2), rel=1e-5)
    assert error == pytest.approx(np.mean(np.abs(values - y)), rel=1e-5)
    model.fit(texts, y, epochs=8, batch_size=8, verbose=0)
    assert model.evaluate(texts, y, verbose=0)[0] < mse / 2


@pytest.mark.slow
def test_a_regressor_takes_weights_and_datasets(make_task, texts):
    model = make_task("text_regressor", head_dropout=0.0, compile=EAGER)
    y, weights = np.linspace(-1, 1, 24), np.linspace(0, 3, 24)
    errors = (model.predict(texts, verbose=0)[:, 0] - y) ** 2
    expected = np.average(errors, weights=weights)
    arrays = model.evaluate(texts, y, sample_weight=weights, verbose=0)[0]
    columns = (texts, y.astype("float32"), weights.astype("float32"))
    dataset = tf.data.Dataset.from_tensor_slices(columns).batch(7)
    assert arrays == pytest.approx(expected, rel=1e-5)
    assert model.evaluate(dataset, verbose=0)[0] == pytest.approx(expected, rel=1e-5)


def test_a_dataset_of_wrong_targets(make_task, texts):
    model = make_task("text_regressor", compile=EAGER)
    targets = np.full(24, np.nan, "float32")
    dataset = tf.data.Dataset.from_tensor_slices((texts, targets)).batch(8)
    with pytest.raises(tf.errors.InvalidArgumentError, match="finite numbers.*nan"):
        model.fit(dataset, verbose=0)
    expected = model.predict(texts, verbose=0)
    found = model.predict(dataset, verbose=0)  # which does not read them
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.shown("layers1")
@pytest.mark.parametrize("pooling", ["mean", "cls"])
@pytest.mark.parametrize("layers", [(-1,), (0, 2), (1,)])
def test_an_embedder_pools_its_layers(make_task, texts, layers, pooling):
    model = make_task("text_embedder", layers=layers, pooling=pooling)
    x = model.preprocessor((tf.constant(texts[:4]),))
    hidden = model.backbone.with_outputs("layer_outputs")(x)["layer_outputs"].numpy()
    sequence = np.concatenate([hidden[:, layer] for layer in layers], axis=-1)
    mask = x["padding_mask"].numpy()[:, :, None]
    expected = sequence[:, 0]
    if pooling == "mean":
        expected = (sequence * mask).sum(axis=1) / mask.sum(axis=1)
    np.testing.assert_allclose(model(x), expected, atol=1e-5)
    assert model.output_shape == (None, 16 * len(layers))


def test_an_embedder_may_give_unit_vectors(make_task, texts):
    model = make_task("text_embedder", normalize=True, compile=EAGER)
    vectors = model.answer(texts)["embedding"]
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    plain = make_task("text_embedder", compile=EAGER).predict(texts, verbose=0)
    np.testing.assert_allclose(
        vectors, plain / np.linalg.norm(plain, axis=1, keepdims=True), atol=1e-6
    )


def test_short_vectors_become_unit_vectors_too():
    pooling = Pooling("mean", normalize=True)
    rows = pooling(np.full((2, 3, 4), 1e-3, "float32"), np.array([[1, 1, 0], [0] * 3]))
    np.testing.assert_allclose(rows, [[0.5] * 4, [0.0] * 4], atol=1e-6)
    with pytest.raises(ValueError, match="one of 'cls', 'last'.*Received: 'min'"):
        Pooling("min")


def test_poolings():
    x = np.arange(24, dtype="float32").reshape(3, 4, 2) * [[[1]], [[-1]], [[1]]]
    mask = np.array([[1, 1, 1, 0], [1, 1, 1, 1], [0, 0, 0, 0]])
    expected = {
        "cls": [[0, 1], [-8, -9], [16, 17]],
        "last": [[4, 5], [-14, -15], [16, 17]],
        "mean": [[2, 3], [-11, -12], [0, 0]],
        "max": [[4, 5], [-8, -9], [0, 0]],
    }
    for mode, rows in expected.items():
        np.testing.assert_allclose(Pooling(mode)(x, mask), rows)


def test_an_embedder_learns_given_vectors(make_task, texts):
    model = make_task("text_embedder", compile=EAGER)
    goal = np.random.default_rng(0).normal(size=(24, 16)).astype("float32")
    before = model.evaluate(texts, goal, verbose=0)
    model.fit(texts, goal, epochs=3, verbose=0)
    assert model.evaluate(texts, goal, verbose=0) < before


@pytest.mark.parametrize("layers", [(), (3,), (-4,)])
def test_an_embedder_needs_layers_that_exist(make_task, layers):
    with pytest.raises(ValueError, match=r"numbers in \[-3, 3\). Received"):
        make_task("text_embedder", layers=layers)


def test_a_classifier_answers_with_names(make_task, texts):
    model = make_task(labels=["bad", "good", "so so"], compile=EAGER)
    logits = model.predict(texts, verbose=0)
    scores = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    answer = model.answer(texts)
    np.testing.assert_allclose(answer["scores"], scores, atol=1e-6)
    np.testing.assert_allclose(answer["score"], scores.max(axis=1), atol=1e-6)
    names = np.array(["bad", "good", "so so"], object)
    assert answer["label"].tolist() == names[scores.argmax(axis=1)].tolist()
    assert answer["labels"].shape == (24, 3)


def test_compare_tells_the_segments_of_a_pair_apart(make_task, texts):
    model = make_task("text_classifier", pooling="compare", compile=EAGER)
    kernel = model.get_layer("classifier").kernel
    assert kernel.shape[0] == 3 * 16 and not np.asarray(kernel).any()
    kernel.assign(keras.random.normal(kernel.shape, stddev=0.1, seed=0))
    first, second = texts[:4], texts[4:8]
    pairs = model.predict((first, second), verbose=0)
    assert np.abs(pairs - model.predict((second, first), verbose=0)).max() > 1e-3
    assert np.isfinite(model.predict(first, verbose=0)).all()


@pytest.mark.parametrize(
    "options, message",
    [
        ({"labels": 1}, "two or more different names"),
        ({"pooling": "max"}, "one of 'pooled', 'cls'.* Received: 'max'"),
        ({"fields": {"pooler": False}, "pooling": "pooled"}, "no pooled output"),
        ({"sequence_length": 33}, "at most 32.*Received: 33"),
        ({"fields": {"vocabulary_size": 50}}, "more tokens than the backbone"),
    ],
)
def test_a_task_checks_its_options(make_task, options, message):
    with pytest.raises(ValueError, match=message):
        make_task(**options)
