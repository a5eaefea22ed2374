"""Soft labels: probabilities as targets, smoothing, and those of a teacher."""

import keras
import numpy as np
import pytest
import tensorflow as tf
import tiny
from tiny_tasks import make_tiny_task

import zoo
from zoo.tasks.losses.class_loss import ClassLoss, class_accuracy

TEXTS, KINDS = tiny.make_texts(12, seed=2)
NUMBERS = np.array([tiny.LABELS.index(kind) for kind in KINDS])
SHARES = np.where(np.arange(2) == NUMBERS[:, None], 0.75, 0.25)


def make(**options):
    return make_tiny_task(zoo.TextClassifier, seed=3, **options)


def test_loss_and_accuracy_are_those_of_keras():
    generator = np.random.default_rng(0)
    logits = generator.normal(0, 3, (6, 3)).astype("float32")
    shares = generator.dirichlet([1, 1, 1], 6).astype("float32")
    numbers = generator.integers(0, 3, 6)
    functions = keras.losses
    for smoothing in (0.0, 0.1):
        loss = ClassLoss(smoothing)
        wanted = functions.categorical_crossentropy(
            shares, logits, from_logits=True, label_smoothing=smoothing
        )
        np.testing.assert_allclose(loss.call(shares, logits), wanted, rtol=1e-5)
        wanted = functions.categorical_crossentropy(
            np.eye(3)[numbers], logits, from_logits=True, label_smoothing=smoothing
        )
        for y in (numbers, numbers[:, None]):
            found = loss.call(tf.constant(y), logits)
            np.testing.assert_allclose(found, wanted, rtol=1e-5)
        assert ClassLoss.from_config(loss.get_config()).label_smoothing == smoothing
    best = logits.argmax(-1)
    np.testing.assert_array_equal(class_accuracy(numbers, logits), numbers == best)
    np.testing.assert_array_equal(
        class_accuracy(shares, logits), shares.argmax(-1) == best
    )
    with pytest.raises(ValueError, match=r"`label_smoothing` must be a number in \[0"):
        ClassLoss(1.0)


def test_the_rows_of_one_and_zero_are_the_class_numbers():
    """The same steps on arrays and on datasets of both."""
    rows = np.eye(2, dtype="float32")[NUMBERS]
    for in_dataset in (False, True):
        losses = []
        for y in (NUMBERS, rows):
            model = make()
            model.compile(keras.optimizers.SGD(0.1))
            data = (TEXTS, y)
            if in_dataset:
                data = (tf.data.Dataset.from_tensor_slices(data).batch(4),)
            model.fit(*data, verbose=0)
            losses.append(model.evaluate(TEXTS, y, verbose=0, return_dict=True))
        assert losses[1] == pytest.approx(losses[0], rel=1e-5)
    model.evaluate(TEXTS, SHARES, verbose=0)
    found = model.fit(TEXTS, SHARES, validation_split=0.25, class_weight="balanced")
    assert np.isfinite(found.history["val_loss"]).all()


@pytest.mark.parametrize(
    "y, message",
    [
        ([[0.5, 0.6]], r"sum 1. Received: \[0.5, 0.6\] in row 0"),
        ([[0.5, 0.5], [1.5, -0.5]], r"at least 0 .* Received: \[1.5, -0.5\] in row 1"),
        ([[0.2, 0.3, 0.5]], r"a row of 2 probabilities"),
        ([[np.nan, 1.0]], r"Received: \[nan, 1.0\] in row 0"),
        ([[0.5], [0.2, 0.8]], "rows of several values, and of different lengths"),
    ],
)
def test_wrong_probabilities(y, message):
    with pytest.raises(ValueError, match=message):
        make().encode_labels(y)


def test_choices_have_soft_labels():
    model = make_tiny_task(zoo.MultipleChoice, num_choices=2)
    x = (TEXTS, TEXTS[::-1], TEXTS)
    found = model.evaluate(x, SHARES, verbose=0, return_dict=True)
    shares = tf.nn.log_softmax(model.predict(x, verbose=0)).numpy()
    assert found["loss"] == pytest.approx(-(SHARES * shares).sum(-1).mean(), rel=1e-4)


def test_smoothing_is_an_option_that_files_keep(tmp_path):
    model = make(label_smoothing=0.1)
    model.save(tmp_path / "a.keras")
    again = zoo.load_model(tmp_path / "a.keras")
    assert again.loss.label_smoothing == again.options["label_smoothing"] == 0.1
    assert "label_smoothing" not in make().options
    with pytest.raises(ValueError, match="`multi_label=False` has `label_smoothing`"):
        make(multi_label=True, label_smoothing=0.1)


def test_a_student_learns_what_its_teacher_says():
    teacher, student = make(), make(labels=tiny.LABELS[::-1])
    teacher.compile(keras.optimizers.Adam(1e-2))
    teacher.fit(TEXTS, KINDS, epochs=10, verbose=0)
    y = zoo.soft_labels(teacher, TEXTS, student.labels, temperature=2.0)
    logits = teacher.predict(TEXTS, verbose=0)[:, ::-1] / 2
    np.testing.assert_allclose(y, tf.nn.softmax(logits), rtol=1e-5)
    student.compile(keras.optimizers.Adam(1e-2))
    before = student.evaluate(TEXTS, y, verbose=0, return_dict=True)["loss"]
    student.fit(TEXTS, y, epochs=10, verbose=0)
    entropy = -(y * np.log(y)).sum(-1).mean()
    after = student.evaluate(TEXTS, y, verbose=0, return_dict=True)["loss"]
    assert after - entropy < (before - entropy) / 3
    sets = make(multi_label=True)
    found = zoo.soft_labels(sets, TEXTS)
    np.testing.assert_allclose(found, sets.answer(TEXTS)["all_scores"], rtol=1e-5)
    ensemble = zoo.TextEnsemble([teacher, make()])
    np.testing.assert_allclose(
        zoo.soft_labels(ensemble, TEXTS), ensemble.answer(TEXTS)["scores"], rtol=1e-5
    )
    losses = -(SHARES * ensemble.predict(TEXTS)).sum(-1)
    assert ensemble.evaluate(TEXTS, SHARES)[0] == pytest.approx(losses.mean(), rel=1e-5)


def test_wrong_teachers():
    with pytest.raises(TypeError, match="`teacher` must be a classifier"):
        zoo.soft_labels(make_tiny_task(zoo.TextRegressor), TEXTS)
    with pytest.raises(TypeError, match="must be a trained task .* Received: str"):
        zoo.soft_labels("preset", TEXTS)
    with pytest.raises(ValueError, match="must be those of the teacher"):
        zoo.soft_labels(make(), TEXTS, ["a", "b"])
    with pytest.raises(ValueError, match="`temperature` must be a positive number"):
        zoo.soft_labels(make(), TEXTS, temperature=0)
