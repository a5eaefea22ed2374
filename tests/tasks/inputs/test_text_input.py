"""What counts as text, and what is refused."""

import numpy as np
import pytest
import tensorflow as tf
from label_datasets import labels_of_dataset

from zoo.tasks.inputs.targets import label_ids
from zoo.tasks.inputs.text_input import (
    as_columns,
    holds_text,
    join_words,
)

TEXTS = ["good film", "so dull", "a café"]
BYTES = [text.encode() for text in TEXTS]
LABELS = ("no", "yes", "perhaps")


@pytest.mark.parametrize(
    "texts",
    [
        TEXTS,
        BYTES,
        np.array(TEXTS),
        np.array(TEXTS, object),
        np.array(BYTES),
    ],
    ids=["list", "list of bytes", "str", "object", "bytes"],
)
def test_every_kind_of_text_is_one_column(texts):
    for x in (texts, tf.constant(texts)):
        assert holds_text(x)
        (column,) = as_columns(x)
        assert column.numpy().tolist() == BYTES


def test_a_series_is_a_column():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": TEXTS, "label": ["yes", "no", "yes"]})
    assert holds_text(frame["text"])
    assert as_columns(frame["text"][::-1])[0].numpy().tolist() == BYTES[::-1]
    assert label_ids(frame["label"], LABELS).tolist() == [1, 0, 1]
    with pytest.raises(TypeError, match="must be a string.*in row 1"):
        as_columns(pandas.Series(["a", None]))


def test_a_tuple_is_a_pair_of_columns():
    pair = (TEXTS, np.array(BYTES))
    assert holds_text(pair)
    first, second = as_columns(pair)
    assert first.numpy().tolist() == second.numpy().tolist() == BYTES


def test_datasets_tell_by_their_types():
    texts = tf.data.Dataset.from_tensor_slices(TEXTS).batch(2)
    pairs = tf.data.Dataset.zip(tf.data.Dataset.zip(texts, texts), texts)
    ids = tf.data.Dataset.from_tensors({"token_ids": [[1]]})
    assert holds_text(texts) and holds_text(pairs)
    assert not holds_text(ids)


@pytest.mark.parametrize("x", [{"token_ids": [[1]]}, np.zeros((2, 3), int), [1, 2], ()])
def test_token_ids_are_no_text(x):
    assert not holds_text(x)
    if isinstance(x, np.ndarray):
        assert not holds_text(tf.constant(x))


def test_no_texts_are_a_column_of_none():
    assert holds_text([])
    assert as_columns([])[0].shape == (0,)
    assert as_columns(np.array([], object))[0].dtype == tf.string


def test_half_a_character_keeps_the_places_of_others():
    expected = "a\ufffdb".encode()
    assert as_columns(["a\ud800b"])[0].numpy().tolist() == [expected]
    assert join_words([["a\ud800b"]]) == [expected.decode()]


@pytest.mark.parametrize(
    "x, message",
    [
        (("good", "film"), r"Received: one string. Put it in a list"),
        ([("a", "b"), ("c", "d")], r"Received: a list of tuples.*zip\(\*pairs\)"),
        (["a", ["b"]], r"Received: a list of lists"),
        (["a", 3], r"Received: 3 of type int in row 1"),
        (["a", None], r"Received: None of type NoneType in row 1"),
        (np.array(["a", np.nan], object), r"Received: nan of type float in row 1"),
        (np.array([["a"], ["b"]]), r"one dimension. Received: .*\(2, 1\)"),
    ],
)
def test_what_is_no_column_is_refused(x, message):
    with pytest.raises(TypeError, match=message):
        as_columns(x)


def test_a_column_has_one_dimension():
    with pytest.raises(TypeError, match=r"one dimension. Received: .*\(1, 1\)"):
        as_columns(tf.constant([["a"]]))


def test_the_columns_of_a_pair_are_of_one_length():
    with pytest.raises(ValueError, match=r"same length. Received: lengths \[3, 2\]"):
        as_columns((TEXTS, TEXTS[:2]))


@pytest.mark.parametrize(
    "y",
    [
        ["yes", "perhaps", "no"],
        [b"yes", b"perhaps", b"no"],
        np.array(["yes", "perhaps", "no"]),
        np.array([b"yes", b"perhaps", b"no"]),
        [1, 2, 0],
        [1.0, 2.0, 0.0],
        np.array([[1], [2], [0]], "uint8"),
    ],
)
def test_labels_are_names_or_numbers(y):
    ids = label_ids(y, LABELS)
    assert ids.tolist() == [1, 2, 0] and ids.dtype == np.int64
    assert label_ids(tf.constant(y), LABELS).tolist() == [1, 2, 0]
    assert labels_of_dataset(y, LABELS) == [1, 2, 0]


@pytest.mark.parametrize(
    "y, message",
    [
        (["yes", "maybe", "never"], r"Received: \['maybe', 'never'\].*\['no', 'yes'"),
        ([0, 3], r"in \[0, 3\). Received: 3"),
        ([0, -1], r"in \[0, 3\). Received: -1"),
        ([0.0, 0.5], r"class numbers. Received: 0.5.*text_regressor"),
    ],
)
def test_unknown_labels_are_refused(y, message):
    with pytest.raises(ValueError, match=message):
        label_ids(y, LABELS)


@pytest.mark.parametrize("y", [["yes", "maybe"], [0, 3], [0, -1], [0.5, 1.0]])
def test_a_pipeline_stops_at_an_unknown_label(y):
    with pytest.raises(tf.errors.InvalidArgumentError, match="`y` must"):
        labels_of_dataset(y, LABELS)
