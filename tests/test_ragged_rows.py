"""Operations on ragged rows: the results of TensorFlow's own."""

import pytest
import tensorflow as tf

from zoo import ragged_rows

ROWS = [[[3, 1, 2], [], [5], [], []], [[], []], [[7, 7, 7]], []]
TYPES = pytest.mark.parametrize("dtype", [tf.int32, tf.int64])


def ragged(rows, dtype):
    return tf.ragged.constant(rows, tf.int32, ragged_rank=1, row_splits_dtype=dtype)


@TYPES
@pytest.mark.parametrize("rows", ROWS)
def test_results_are_those_of_tensorflow(rows, dtype):
    values = ragged(rows, dtype)
    ids = ragged_rows.row_ids(values)
    assert ids.dtype == dtype
    assert ids.numpy().tolist() == values.value_rowids().numpy().tolist()
    ends = [i == len(row) - 1 for row in rows for i in range(len(row))]
    assert ragged_rows.is_last(values).numpy().tolist() == ends
    for kept in (values > 2, values > 9, values > 0):
        found = ragged_rows.keep(values, kept.values)
        assert found.to_list() == tf.ragged.boolean_mask(values, kept).to_list()
        assert found.row_splits.dtype == dtype
    words = values.with_values(tf.strings.as_string(values.values))
    for separator in ("", " "):
        expected = tf.strings.reduce_join(words, axis=1, separator=separator)
        found = ragged_rows.join(words, separator)
        assert found.numpy().tolist() == expected.numpy().tolist()


@TYPES
@pytest.mark.parametrize("counts", [[2, 0, 3], [0, 0], [1], []])
def test_values_are_repeated(counts, dtype):
    values = tf.reshape(tf.range(2 * len(counts)), (-1, 2))
    counts = tf.constant(counts, dtype)
    found = ragged_rows.repeat(values, counts)
    assert found.shape[1] == 2
    assert found.numpy().tolist() == tf.repeat(values, counts, 0).numpy().tolist()
    found, rows = ragged_rows.owners(counts), tf.range(tf.size(counts))
    assert found.dtype == dtype
    assert found.numpy().tolist() == tf.repeat(rows, counts).numpy().tolist()


def test_values_before_an_end():
    rows = [[4, 9, 4], [9, 9], [1, 2, 3], [4]]
    expected = [[4], [], [1, 2, 3], [4]]
    ragged = tf.ragged.constant(rows)
    for given in (ragged, ragged.to_tensor(9), tf.cast(ragged, tf.int64)):
        assert ragged_rows.before(given, 9).to_list() == expected
