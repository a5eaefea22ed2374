"""Words as inputs of taggers: lists, arrays and tensors of any form."""

import numpy as np
import pytest
import tensorflow as tf
import tiny
from three_texts import TAGS, TEXTS, WORDS

from zoo.tasks.inputs.text_input import join_words


def ragged(rows):
    array = np.empty(len(rows), object)
    array[:] = [np.array(row, object) for row in rows]
    return array


@pytest.mark.slow
def test_words_may_be_nested_in_any_form(tagger):
    pandas = pytest.importorskip("pandas")
    expected = tagger.tag(TEXTS)
    known = tagger.evaluate(TEXTS, TAGS, verbose=0)
    for form in (
        ragged,
        np.array,
        lambda rows: np.array(rows, "S"),
        lambda rows: [[value.encode() for value in row] for row in rows],
        lambda rows: list(map(np.array, rows)),
        lambda rows: list(map(tuple, rows)),
        pandas.Series,
        tf.ragged.constant,
        tf.constant,
    ):
        assert tagger.tag(form(WORDS)) == expected
        found = tagger.evaluate(form(WORDS), form(TAGS), verbose=0)
        np.testing.assert_allclose(found, known, rtol=1e-5)
    assert tagger.test_on_batch(WORDS, TAGS) == pytest.approx(known)
    joined = [" ".join(row) for row in TAGS]
    dataset = tf.data.Dataset.from_tensor_slices((TEXTS, joined)).batch(2)
    numbers = [[tiny.TAGS.index(tag) for tag in row] for row in TAGS]
    for data in ((TEXTS, joined), (WORDS, joined), (WORDS, numbers), (dataset,)):
        found = tagger.evaluate(*data, verbose=0)
        np.testing.assert_allclose(found, known, rtol=1e-5)
    held_out = tagger.fit(WORDS, joined, validation_data=(WORDS, TAGS), verbose=0)
    assert held_out.history["val_loss"][0] == pytest.approx(known[0], rel=1e-5)
    assert join_words([[b"caf\xc3\xa9", "New York"], []]) == ["caf\u00e9 New_York", ""]


@pytest.mark.parametrize(
    "words, error, message",
    [
        (
            [["a", None]],
            TypeError,
            "Every word must be a string. Received: None.*row 0",
        ),
        ([[None]], TypeError, "Every word must be a string"),
        ([["a"], ["b", 3]], TypeError, "Received: 3 of type int in row 1"),
        ([["a"], "b c"], TypeError, "Every sentence must be a list.*'b c'.*row 1"),
        ([["a"], None], TypeError, "Every sentence must be a list.*None.*row 1"),
        ([["a"], [" "]], ValueError, "an empty word in row 1. Remove it"),
    ],
)
def test_what_is_no_word_is_refused(tagger, words, error, message):
    for call in (tagger.tag, tagger.answer, lambda x: tagger.fit(x, TAGS)):
        with pytest.raises(error, match=message):
            call(words)


def test_a_dataset_of_words_says_how_to_join_them(tagger):
    dataset = tf.data.Dataset.from_tensors(tf.ragged.constant(WORDS))
    with pytest.raises(ValueError, match=r"join words with `tf.strings.reduce_join`"):
        tagger.batches(dataset)
    with pytest.raises(TypeError, match="must be a list, an array or a tensor"):
        tagger.answer(tf.data.Dataset.from_tensors(TEXTS))
    with pytest.raises(TypeError, match="needs texts here. Received: a dict of"):
        tagger.answer({"token_ids": np.ones((1, 3))})
