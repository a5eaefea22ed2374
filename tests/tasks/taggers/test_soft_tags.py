"""Probabilities as the targets of words, smoothed tags, and those of a teacher."""

import keras
import numpy as np
import pytest
import tensorflow as tf
import tiny
from tiny_tasks import make_tiny_task

import zoo

TEXTS, _ = tiny.make_texts(8, seed=2, longest=10)
TAGS = tiny.make_tags(TEXTS)
NUMBERS = [np.array([tiny.TAGS.index(tag) for tag in row]) for row in TAGS]
ONES = [np.eye(3, dtype="float32")[row] for row in NUMBERS]
GENERATOR = np.random.default_rng(0)
SHARES = [GENERATOR.dirichlet([1, 1, 1], len(row)) for row in TAGS]
WEIGHTS = [[1.0 + (i + j) % 3 for j in range(len(row))] for i, row in enumerate(TAGS)]


def make(**options):
    options = {"labels": tiny.TAGS, "seed": 2, **options}
    model = make_tiny_task(zoo.TokenClassifier, **options)
    model.compile(keras.optimizers.SGD(0.05))
    return model


def evaluate(model, y, **options):
    return model.evaluate(TEXTS, y, verbose=0, return_dict=True, **options)


@pytest.mark.parametrize(
    "length, smoothing", [(32, 0.2), (6, 0.0)], ids=["rows", "windows"]
)
def test_the_loss_is_the_cross_entropy_of_every_word(length, smoothing):
    """Also with weights, and wherever a word stands in the windows of its text."""
    model = make(sequence_length=length, label_smoothing=smoothing)
    x, y, weight = next(iter(model.batches(TEXTS, SHARES, WEIGHTS, batch_size=99)))
    real = weight.numpy() > 0
    assert y.shape[-1] == 3 and real.sum() == sum(map(len, TAGS))
    assert not y.numpy()[~real].any()
    _, hard, _ = next(iter(model.batches(TEXTS, TAGS, batch_size=99)))
    _, ones, _ = next(iter(model.batches(TEXTS, ONES, batch_size=99)))
    found = np.where(real, ones.numpy().argmax(-1), -1)
    np.testing.assert_array_equal(found, hard)  # each word has its own
    logits = model(x)
    for soft, weights in ((True, WEIGHTS), (False, None)):
        rows = y if soft else np.eye(3)[np.maximum(hard, 0)]
        losses = keras.losses.categorical_crossentropy(
            rows, logits, from_logits=True, label_smoothing=smoothing
        )
        words = weight if weights else real
        found = evaluate(model, SHARES if soft else TAGS, sample_weight=weights)
        expected = np.average(losses, weights=words)
        assert found["loss"] == pytest.approx(expected, rel=1e-5)
        right = np.argmax(rows, -1) == np.argmax(logits, -1)
        expected = np.average(right, weights=words)
        assert found["accuracy"] == pytest.approx(expected, rel=1e-5)


def test_rows_of_one_and_zero_are_the_tags():
    """In every form, beside tags, with weights of tags and all metrics."""
    names = ["macro_f1", "auc", "span_f1", "accuracy"]
    trained, mixed = [], [*ONES[:3], *TAGS[3:]]
    for y in (TAGS, mixed):
        model = make()
        model.compile(keras.optimizers.SGD(0.05), metrics=names)
        options = {"class_weight": {tiny.TAGS[0]: 3.0}, "sample_weight": WEIGHTS}
        model.fit(TEXTS, y, validation_split=0.25, verbose=0, **options)
        trained.append(evaluate(model, y))
        with pytest.raises(ValueError, match="a number for every word. Received: 99"):
            model.fit(TEXTS, y, sample_weight=[[1.0] * 99] * 8)
    assert trained[1] == pytest.approx(trained[0], rel=1e-5)
    assert model.score(TEXTS, mixed) == model.score(TEXTS, TAGS)
    flat, lengths = np.concatenate(ONES), [*map(len, ONES)]
    ragged = tf.RaggedTensor.from_row_lengths(flat, lengths)
    for y in (ONES, [row.tolist() for row in ONES], ragged, mixed):
        found = model.encode_labels(y)
        np.testing.assert_array_equal(found.values, flat)
        np.testing.assert_array_equal(found.row_lengths(), lengths)
    empty = model.encode_labels([[], [[1, 0, 0], [0.5, 0.5, 0]]])
    assert empty.to_list() == [[], [[1, 0, 0], [0.5, 0.5, 0]]]


def test_padding_has_no_loss():
    """Batches without weights, as those of a pipeline of token ids."""
    model = make(label_smoothing=0.1)
    for y in (SHARES, TAGS):
        x, y, weight = next(iter(model.batches(TEXTS, y, batch_size=99)))
        data = tf.data.Dataset.from_tensors((x, y))
        found = model.evaluate(data, verbose=0, return_dict=True)
        weighted = tf.data.Dataset.from_tensors((x, y, weight))
        wanted = model.evaluate(weighted, verbose=0, return_dict=True)
        assert found == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize(
    "decoder", ["softmax", pytest.param("crf", marks=pytest.mark.slow)]
)
def test_a_student_learns_what_its_teacher_says(decoder):
    teacher = make(decoder=decoder, scheme="IOB2", sequence_length=6)
    teacher.compile(keras.optimizers.Adam(1e-2))
    teacher.fit(TEXTS, TAGS, epochs=6, verbose=0)
    words = [*(text.split() for text in TEXTS), []]
    found = zoo.soft_labels(teacher, words, batch_size=3)
    assert [len(row) for row in found] == [len(row) for row in words]
    answers = teacher.answer([" ".join(row) for row in words])
    for number, row in enumerate(found):
        np.testing.assert_allclose(row.sum(-1), 1, rtol=1e-5)
        tags = [tiny.TAGS.index(tag) for tag in answers["tags"][number, : len(row)]]
        chosen = row[np.arange(len(row)), tags]
        scores = answers["scores"][number, : len(row)]
        np.testing.assert_allclose(chosen, scores, rtol=1e-4)
    warm = zoo.soft_labels(teacher, words, temperature=4.0)
    assert np.concatenate(warm).max() < np.concatenate(found).max()
    student = make(labels=tiny.TAGS[::-1])
    y = zoo.soft_labels(teacher, words, student.labels)
    np.testing.assert_array_equal(y[0], found[0][:, ::-1])
    student.compile(keras.optimizers.Adam(1e-2))
    before = evaluate(student, y[:-1])["loss"]
    student.fit(TEXTS, y[:-1], epochs=6, verbose=0)
    assert evaluate(student, y[:-1])["loss"] < before / 2


def test_smoothing_is_an_option_that_files_keep(tmp_path):
    model = make(label_smoothing=0.1)
    model.save(tmp_path / "a.keras")
    again = zoo.load_model(tmp_path / "a.keras")
    assert again.loss.label_smoothing == again.options["label_smoothing"] == 0.1
    assert evaluate(again, SHARES) == pytest.approx(evaluate(model, SHARES))
    assert "label_smoothing" not in make().options


WRONG = {
    "sum": ([[[0.5, 0.5, 0.5]]], r"`y\[0\]` must .* 3 probabilities, .*sum 1. .*row 0"),
    "negative": ([[[1.5, -0.5, 0.0]]], r"at least 0 .* \[1.5, -0.5, 0.0\] in row 0"),
    "NaN": ([[[np.nan, 0.5, 0.5]]], r"Received: \[nan, 0.5, 0.5\]"),
    "width": ([[[0.5, 0.5]]], "a row of 3 probabilities"),
    "ragged": ([[[0.5, 0.5, 0.0], [1.0]]], r"`y\[0\]` must hold a tag for every word"),
    "mixed": ([[[0.5, 0.5, 0.0], "O"]], r"`y\[0\]` must hold a tag for every word"),
    "text": ([[["a", "b", "c"]]], r"`y\[0\]` must hold a tag for every word"),
    "complex": ([[[1j, 0, 0]]], r"`y\[0\]` must hold a tag for every word"),
    "None": ([[None, [0.5, 0.5, 0.0]]], r"`y\[0\]` must hold a tag for every word"),
    "unknown": ([[[0.5, 0.5, 0.0]], ["B-X"]], "must hold labels of the model"),
}


@pytest.mark.parametrize("y, message", WRONG.values(), ids=WRONG.keys())
def test_wrong_probabilities(y, message):
    with pytest.raises(ValueError, match=message):
        make().encode_labels(y)


def test_what_has_no_probabilities_of_words():
    with pytest.raises(ValueError, match="Received: 1 labels for .* words in row 1"):
        make().fit(TEXTS, [SHARES[0], SHARES[1][:1], *SHARES[2:]])
    for call in (
        lambda: make(decoder="crf").fit(TEXTS, SHARES),
        lambda: make(decoder="crf", label_smoothing=0.1),
    ):
        with pytest.raises(ValueError, match='need `decoder="softmax"`.*Give each'):
            call()
    with pytest.raises(ValueError, match="`tags` must name the tag .* probabilities"):
        zoo.make_tagger(TEXTS, SHARES)
    data = tf.data.Dataset.from_tensors((["a b"], tf.zeros((1, 2, 3))))
    with pytest.raises(ValueError, match="`y` of a dataset must hold strings"):
        make().fit(data)
