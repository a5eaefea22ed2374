"""Keras' methods on raw text: the same numbers as on token ids."""

import concurrent.futures
import warnings

import keras
import numpy as np
import pytest
import tensorflow as tf
import tiny

from zoo.data import plan_batches
from zoo.training import AdamW

EAGER = {"run_eagerly": True}


def weights_of(model):
    return np.concatenate([w.ravel() for w in model.get_weights()])


@pytest.fixture(scope="module")
def trained(tokenizer):
    """A classifier for tests that do not train it."""
    from zoo.registry import build_backbone
    from zoo.tasks import TextClassifier

    keras.utils.set_random_seed(5)
    model = TextClassifier(
        build_backbone("bert", tiny.CONFIG), tokenizer, tiny.LABELS, head_dropout=0.0
    )
    model.compile(AdamW(1e-2), **EAGER)
    return model


@pytest.fixture(scope="module")
def expected(trained):
    """Logits of the 24 texts, each computed alone."""
    return np.concatenate(
        [
            trained(trained.preprocessor((tf.constant([text]),)), training=False)
            for text in tiny.make_texts(24)[0]
        ]
    )


def test_fit_on_text_is_fit_on_its_batches(make_task, texts, labels):
    one = {"num_layers": 1}
    adamw = AdamW(1e-2, epsilon=1e-3), AdamW(1e-2, epsilon=1e-3)
    model = make_task(fields=one, compile={"optimizer": adamw[0]})
    model.fit(texts, labels, batch_size=5, epochs=2, seed=9, verbose=0)
    other = make_task(fields=one, compile={"optimizer": adamw[1], **EAGER})
    packer, other.preprocessor = other.preprocessor, None
    lengths = packer.pack((tf.constant(texts),))[0]["tokens"].row_lengths()
    ids = np.array([tiny.LABELS.index(label) for label in labels])
    steps = 0
    for rows in plan_batches(lengths, 5, seed=9, epochs=range(2)).as_numpy_iterator():
        x = packer((tf.gather(texts, rows),))
        other.train_on_batch(x, ids[rows])
        steps += 1
    assert steps == 10
    np.testing.assert_allclose(weights_of(model), weights_of(other), atol=1e-6)
    assert np.abs(weights_of(model) - weights_of(make_task(fields=one))).max() > 0.05


def test_epochs_resume_where_they_were(make_task, texts, labels):
    whole, parts = make_task(compile=EAGER), make_task(compile=EAGER)
    whole.fit(texts, labels, batch_size=8, epochs=2, verbose=0)
    parts.fit(texts, labels, batch_size=8, epochs=1, verbose=0)
    parts.fit(texts, labels, batch_size=8, initial_epoch=1, epochs=2, verbose=0)
    np.testing.assert_array_equal(weights_of(whole), weights_of(parts))


@pytest.mark.slow
def test_class_weights_are_sample_weights(make_task, texts, labels):
    weights = [3.0 if label == "bad" else 1.0 for label in labels]
    results = []
    for options in (
        {"class_weight": {"bad": 3.0}},
        {"class_weight": np.array([3.0, 1.0])},
        {"sample_weight": weights},
        {},
    ):
        model = make_task(compile=EAGER)
        model.fit(texts, labels, batch_size=12, verbose=0, **options)
        results.append(weights_of(model))
    np.testing.assert_allclose(results[0], results[2], atol=1e-6)
    np.testing.assert_allclose(results[1], results[2], atol=1e-6)
    assert np.abs(results[3] - results[2]).max() > 1e-4


def test_class_weights_of_one_batch(make_task, texts, labels):
    weights = np.array([1.0 if label == "bad" else 0.25 for label in labels])
    results = []
    for options in ({"class_weight": {"good": 0.25}}, {"sample_weight": weights}):
        model = make_task(compile=EAGER)
        model.train_on_batch(texts, labels, **options)
        results.append(weights_of(model))
    np.testing.assert_allclose(results[0], results[1], atol=1e-6)


def test_unknown_classes_have_no_weight(trained, texts, labels):
    with pytest.raises(ValueError, match=r"`class_weight` must hold labels.*'ugly'"):
        trained.fit(texts, labels, class_weight={"ugly": 2.0})


@pytest.mark.parametrize("batch_size", [24, 5])
def test_the_loss_is_the_weighted_mean(trained, expected, texts, labels, batch_size):
    ids = np.array([tiny.LABELS.index(label) for label in labels])
    losses = -np.log(keras.ops.softmax(expected))[np.arange(24), ids]
    weights = np.random.default_rng(0).uniform(0, 4, 24)
    mean = np.sum(weights * losses) / np.sum(weights)
    loss, accuracy = trained.evaluate(
        texts, labels, batch_size, sample_weight=weights, verbose=0
    )
    hits = expected.argmax(axis=1) == ids
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
        model.train_on_batch(texts, labels, None if weights is None else weights)
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
    model = make_task(compile=EAGER)
    pairs = (texts, texts[::-1])
    weights = np.linspace(0, 1, 24)
    history = model.fit(
        pairs,
        np.array(labels),
        sample_weight=weights,
        validation_split=0.25,
        verbose=0,
    ).history
    held = (texts[18:], texts[::-1][18:])
    loss = model.evaluate(held, labels[18:], sample_weight=weights[18:], verbose=0)[0]
    assert history["val_loss"][0] == pytest.approx(loss, rel=1e-5)
    assert model.pair


def test_a_split_must_leave_rows(trained, texts, labels):
    with pytest.raises(ValueError, match="rows on both sides. Received: 0.99 of 24"):
        trained.fit(texts, labels, validation_split=0.99)


@pytest.mark.parametrize("batch_size", [1, 5, 64])
def test_predictions_keep_the_order(trained, expected, texts, batch_size):
    outputs = trained.predict(texts, batch_size, verbose=0)
    np.testing.assert_allclose(outputs, expected, atol=1e-5)


def test_predictions_of_every_kind_of_text(trained, expected, texts):
    for x in (
        np.array(texts),
        tf.constant(texts),
        tf.data.Dataset.from_tensor_slices(texts).batch(7),
    ):
        np.testing.assert_allclose(trained.predict(x, verbose=0), expected, atol=1e-5)
    on_batch = trained.predict_on_batch(texts)
    np.testing.assert_allclose(on_batch, expected, atol=1e-5)


def test_no_texts_have_no_predictions(trained):
    outputs = trained.predict([], verbose=0)
    assert outputs.shape == (0, 2) and outputs.dtype == np.float32


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


def test_threads_predict_one_at_a_time(trained, expected, texts):
    parts = [slice(i, 24, 4) for i in range(4)]
    results, crowd = [None] * 4, Crowd()

    def work(index):
        results[index] = trained.predict(
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


def test_one_batch_of_text(make_task, expected, texts, labels):
    ids = [tiny.LABELS.index(label) for label in labels]
    model = make_task(compile=EAGER)
    model.preprocessor, packer = None, model.preprocessor
    x = packer((tf.constant(texts),))
    before = model.test_on_batch(x, np.array(ids))
    model.preprocessor = packer
    assert model.test_on_batch(texts, labels) == pytest.approx(before)
    for _ in range(3):
        model.train_on_batch(texts, labels)
    assert model.test_on_batch(texts, labels)[0] < before[0]
    assert set(model.test_on_batch(texts, labels, return_dict=True)) == {
        "accuracy",
        "loss",
    }


@pytest.mark.slow
def test_without_preprocessor_dicts_are_the_data(make_task, texts, labels):
    ids = np.array([tiny.LABELS.index(label) for label in labels])
    model, other = make_task(compile=EAGER), make_task(compile=EAGER)
    other.preprocessor = None
    x = model.preprocessor((tf.constant(texts),))
    x = {key: value.numpy() for key, value in x.items()}
    for task in (model, other):  # a dict is never text
        task.fit(x, ids, batch_size=24, shuffle=False, verbose=0)
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


@pytest.mark.parametrize("y", ["ugly", 2])
def test_a_dataset_with_an_unknown_label_stops(trained, texts, y):
    dataset = tf.data.Dataset.from_tensor_slices((texts[:4], [y] * 4)).batch(2)
    with pytest.raises(tf.errors.InvalidArgumentError, match="`y` must"):
        trained.evaluate(dataset, verbose=0)


def test_a_dataset_must_be_batched(trained, texts, labels):
    dataset = tf.data.Dataset.from_tensor_slices((texts, labels))
    with pytest.raises(ValueError, match=r"must be batched.*Add `.batch\(32\)`"):
        trained.evaluate(dataset)


@pytest.mark.parametrize("method", ["fit", "evaluate", "predict"])
@pytest.mark.parametrize(
    "x, message",
    [("good", "one string"), ([("a", "b")], "list of tuples"), (["a", 1], "in row 1")],
)
def test_what_is_no_text_is_refused(trained, method, x, message):
    arguments = (x,) if method == "predict" else (x, ["good"])
    with pytest.raises(TypeError, match=message):
        getattr(trained, method)(*arguments)


def test_columns_must_be_as_many(trained, texts, labels):
    with pytest.raises(ValueError, match="24 texts and 23 targets"):
        trained.fit(texts, labels[1:])
    with pytest.raises(ValueError, match="24 texts and 3 targets"):
        trained.evaluate(texts, labels, sample_weight=[1, 2, 3])
    with pytest.raises(ValueError, match="at least one text. Received: 0"):
        trained.fit([], [])


def test_calling_a_task_takes_token_ids(trained):
    with pytest.raises(TypeError, match="Use `predict`, `answer`, `fit`"):
        trained(["good film"])
    with pytest.raises(TypeError, match="TextClassifier is called with token ids"):
        trained(tf.constant(["good film"]))
    with pytest.raises(TypeError, match="BERT takes token ids, not text"):
        trained.backbone(["good film"])
