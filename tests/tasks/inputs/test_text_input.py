"""What counts as text, and what is refused."""

import numpy as np
import pytest
import tensorflow as tf

from zoo.tasks.inputs.targets import label_ids
from zoo.tasks.inputs.text_input import as_columns, holds_text, join_words

TEXTS = ["good film", "so dull", "a café"]
BYTES = [text.encode() for text in TEXTS]


@pytest.mark.parametrize(
    "texts",
    [TEXTS, BYTES, np.array(TEXTS), np.array(TEXTS, object), np.array(BYTES)],
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
    assert label_ids(frame["label"], ("no", "yes")).tolist() == [1, 0, 1]
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


def test_token_ids_are_no_text():
    arrays = np.zeros((2, 3), int), np.ones((2, 0))
    ids = [1, 2], ([1, 2], [3]), [np.ones(2)], (np.ones(2),), {"token_ids": [[1]]}
    for x in (*arrays, *map(tf.constant, arrays), *ids, {"a": TEXTS}, ()):
        assert not holds_text(x)


def test_no_texts_are_a_column_of_none():
    assert holds_text([])
    for x in ([], np.array([]), np.array([], object)):
        (column,) = as_columns(x)
        assert column.shape == (0,) and column.dtype == tf.string


def test_half_a_character_keeps_the_places_of_others():
    expected = "a\ufffdb".encode()
    assert as_columns(["a\ud800b"])[0].numpy().tolist() == [expected]
    assert join_words([["\ud800", "a\ud800b"]]) == [f"\ufffd {expected.decode()}"]


def test_the_columns_of_a_pair_are_of_one_length():
    with pytest.raises(ValueError, match=r"same length. Received: lengths \[3, 2\]"):
        as_columns((TEXTS, TEXTS[:2]))
