"""Labels, targets and weights that users give: they fit, or the error tells why not."""

import collections

import numpy as np
import pytest
import tensorflow as tf
import tiny
from label_datasets import labels_of_dataset
from three_texts import LABELS, TAGS, TEXTS, WORDS

from zoo.tasks.inputs.targets import (
    class_weights,
    label_ids,
    label_rows,
    row_weights,
    target_numbers,
)


@pytest.mark.parametrize(
    "y, message",
    [
        (["good", None, "bad"], "`y` must have a label in every row. Received: None"),
        ([0, None, 1], "Received: None in row 1"),
        (np.array(["good", np.nan, "bad"], object), "Received: nan in row 1"),
        (["good", "bad"], "same length. Received: 3 texts and 2 targets or weights"),
        ("good", r"must be a list.*Received: 'good'. Use `\[value\]`"),
        ({"good", "bad"}, "`y` must be a list"),
        ([["good"], ["bad", "good"], ["bad"]], "rows of several values"),
        ([0.0, np.nan, 1.0], "must hold class numbers. Received: nan"),
        ([0.0, np.inf, 1.0], "must hold class numbers. Received: inf"),
        ([0, 2, 1], r"in \[0, 2\). Received: 2"),
    ],
)
def test_labels_that_do_not_fit(classifier, y, message):
    for call in (
        lambda: classifier.fit(TEXTS, y),
        lambda: classifier.fit(TEXTS, y, validation_split=0.4),
        lambda: classifier.train_on_batch(TEXTS, y),
        lambda: classifier.evaluate(TEXTS, y),
        lambda: classifier.fit(TEXTS, LABELS, validation_data=(TEXTS, y)),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_one_hot_rows_of_a_dataset():
    with pytest.raises(ValueError, match=r"shape \(1, 2\). For one-hot rows"):
        labels_of_dataset([[True, False]], tiny.LABELS)


@pytest.mark.parametrize(
    "y, message",
    [
        ("O O", "`y` must be a list with the labels of each sentence. Received: 'O O'"),
        ([["O"], None], "list of labels for each sentence. Received: None in row 1"),
        ([["O"], 1], "Received: 1 in row 1"),
    ],
)
def test_labels_of_words_that_are_no_lists(y, message):
    with pytest.raises(ValueError, match=message):
        label_rows(y)


def test_columns_of_labels_are_lists():
    arrow = pytest.importorskip("pyarrow")
    columns = [collections.deque, arrow.array, lambda y: arrow.chunked_array([y])]
    for column in columns:
        assert label_ids(column(LABELS), tiny.LABELS).tolist() == [1, 0, 1]
        assert label_ids(column([1, 0, 1]), tiny.LABELS).tolist() == [1, 0, 1]
        assert target_numbers(column([0.5, 1.0])).tolist() == [0.5, 1.0]
        assert row_weights(column([1, 2])).tolist() == [1.0, 2.0]
        assert label_rows(column(TAGS)) == TAGS
        with pytest.raises(ValueError, match="a label in every row. Received: None"):
            label_ids(column(["good", None]), tiny.LABELS)


def test_labels_of_words_that_are_missing(tagger):
    with pytest.raises(ValueError, match="`y` must have a label in every row.*None"):
        tagger.fit(WORDS, [["O", None], *TAGS[1:]])
    for method in (tagger.fit, tagger.train_on_batch):
        with pytest.raises(ValueError, match="3 texts and 2 targets"):
            method(WORDS, TAGS[:2])


@pytest.mark.parametrize(
    "y, message",
    [
        ([1.0, None, 2.0], "`y` must hold finite numbers. Received: None in row 1"),
        ([1.0, 2.0, np.inf], "finite numbers. Received: inf in row 2"),
        (["one", "two", "three"], "`y` must hold numbers. Received: could not convert"),
        ([1.0, 10**400, 2.0], "`y` must hold numbers. Received: int too large"),
        ([1.0, 1e30, 2.0], "holds squares. Received: 1e.30 in row 1. Scale the numb"),
        ([1.0, 2.0, -1e300], "holds squares. Received: -1e.300 in row 2"),
    ],
)
def test_numbers_that_are_none(models, y, message):
    with pytest.raises(ValueError, match=message):
        target_numbers(y)
    with pytest.raises(ValueError, match=message):
        models("text_regressor").fit(TEXTS, y)
    if not isinstance(y[0], str):
        vectors = [[value] * 16 for value in y]
        with pytest.raises(ValueError, match=message):
            models("text_embedder").fit(TEXTS, vectors)


def test_vectors_have_the_width_of_the_model(models):
    model = models("text_embedder")
    for y in (np.ones(3), np.ones((3, 4))):
        with pytest.raises(ValueError, match="a vector of 16 numbers for each text"):
            model.fit(TEXTS, y)
    with pytest.raises(ValueError, match=r"shape \(3, 2\). Use one column"):
        models("text_regressor").fit(TEXTS, np.ones((3, 2)))


@pytest.mark.parametrize(
    "weight, message",
    [
        ([1.0, 2.0], "3 texts and 2 targets or weights"),
        ([1.0, -1.0, 1.0], "finite numbers of at least 0. Received: -1.0 in row 1"),
        ([1.0, np.nan, 1.0], "of at least 0. Received: nan in row 1"),
        ([1.0, None, 1.0], "of at least 0. Received: None in row 1"),
        (["a", "b", "c"], "`sample_weight` must hold numbers"),
        (np.ones((3, 2)), r"one value for each text. Received: .*\(3, 2\)"),
        (2.0, "`sample_weight` must be a list or an array"),
        ([1.0, 1e30, 1.0], "sums float32 holds. Received: 1e.30 in row 1. Scale"),
        ([1.0, 1.0, 1e-40], "float32 holds. Received: 1e-40 in row 2"),
    ],
)
def test_weights_that_do_not_fit(classifier, weight, message):
    for call in (
        lambda: classifier.fit(TEXTS, LABELS, sample_weight=weight),
        lambda: classifier.test_on_batch(TEXTS, LABELS, weight),
        lambda: classifier.evaluate(TEXTS, LABELS, sample_weight=weight),
    ):
        with pytest.raises(ValueError, match=message):
            call()


WRONG_WEIGHTS, LARGE = (-1.0, np.nan, np.inf, 1e30, 1e-32), (1e30, -1e16, 1e300)
NANS = np.full((3, 16), np.nan, "float32")


@pytest.mark.parametrize(
    "name, columns, message",
    [
        ("text_classifier", (["ugly"] * 3,), "`y` must"),
        ("text_classifier", ([2] * 3,), "`y` must"),
        *[("text_regressor", (np.full(3, value),), "`y`") for value in LARGE],
        *[("text_embedder", (np.full((3, 16), value),), "`y`") for value in LARGE],
        ("text_embedder", (NANS,), "finite numbers.*nan"),
        ("text_embedder", (NANS[:, :1],), "(?i)shape"),
        *[
            ("text_classifier", (LABELS, [1.0, weight, 1.0]), "`sample_weight` must")
            for weight in WRONG_WEIGHTS
        ],
    ],
)
def test_a_dataset_stops_at_wrong_targets_and_weights(models, name, columns, message):
    dataset, error = tf.data.Dataset.from_tensors((TEXTS, *columns)), ValueError
    if "shape" not in message:
        error = tf.errors.InvalidArgumentError
    for method in (models(name).fit, models(name).evaluate):
        with pytest.raises(error, match=message):
            method(dataset, verbose=0)


@pytest.mark.usefixtures("eagerly")
@pytest.mark.shown("int32-width1")
@pytest.mark.parametrize("kind, width", [("float64", ()), ("int32", (1,))])
def test_weights_of_a_dataset_may_be_any_numbers(tagger, kind, width):
    weights = np.array([3, 0, 1], kind)
    rows = TEXTS, [" ".join(row) for row in TAGS], weights.reshape(-1, *width)
    found = tagger.evaluate(tf.data.Dataset.from_tensors(rows), verbose=0)
    expected = tagger.evaluate(TEXTS, TAGS, sample_weight=weights, verbose=0)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    plain = tagger.evaluate(TEXTS, TAGS, verbose=0)
    assert abs(found[0] - plain[0]) > 1e-3


def test_class_weights_need_classes(models):
    assert row_weights([[1], [2]]).tolist() == [1.0, 2.0]
    assert class_weights({"good": 2}, tiny.LABELS) == {0: 1.0, 1: 2.0}
    with pytest.raises(ValueError, match="`class_weight` needs a task with one"):
        models("text_regressor").fit(TEXTS, [1.0, 2.0, 3.0], class_weight={0: 1.0})


@pytest.mark.usefixtures("eagerly")
@pytest.mark.shown("acc-8")
@pytest.mark.parametrize("batch_size", [1, 8])
@pytest.mark.parametrize("metrics", ["accuracy", "acc"])
def test_metrics_do_not_count_padding(make_task, batch_size, metrics):
    tagger = make_task("token_classifier", labels=tiny.TAGS)
    texts = ["a good film .", "bad", "a"]
    tags = [["O", "B-GOOD", "O", "O"], ["O"], ["O"]]
    tagger.compile(tagger.optimizer, metrics=[metrics])
    options = {"batch_size": batch_size, "verbose": 0, "return_dict": True}
    scores = tagger.evaluate(texts, tags, **options)
    found = [word["tag"] for row in tagger.tag(texts) for word in row]
    true = [tag for row in tags for tag in row]
    right = np.mean([one == other for one, other in zip(found, true, strict=True)])
    assert scores["accuracy"] == pytest.approx(right)
