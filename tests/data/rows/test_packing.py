"""Texts to `[CLS] a [SEP] b [SEP]`, against plain Python."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from zoo.data import Packer
from zoo.text import Framing

CLS, SEP, PAD = 2, 3, 0


class Numbers:
    """A tokenizer of numbers in decimal."""

    pad_id, framing = PAD, Framing((CLS,), (SEP,), (SEP,))

    def __call__(self, texts):
        return tf.strings.to_number(tf.strings.split(texts), tf.int32)

    def inputs(self, features):
        return {"token_ids": features.pop("tokens"), **features}


def text(ids):
    return " ".join(map(str, ids))


def truncate(first, second, room):
    """The loop of Google's `run_classifier.py`, word for word in spirit."""
    first, second = list(first), list(second)
    while len(first) + len(second) > room:
        if len(first) > len(second):
            first.pop()
        else:
            second.pop()
    return first, second


@pytest.mark.parametrize("room", range(2, 13))
def test_pairs_are_cut_as_the_loop_cuts_them(room):
    pairs = [
        (range(10, 10 + a), range(50, 50 + b))
        for a, b in itertools.product(range(13), repeat=2)
    ]
    columns = [[text(ids) for ids in column] for column in zip(*pairs, strict=True)]
    rows, cut = Packer(Numbers(), room + 3).pack(tuple(map(tf.constant, columns)))
    expected_cut = 0
    found = (rows[name].to_list() for name in ("tokens", "segment_ids"))
    for ids, segments, pair in zip(*found, pairs, strict=True):
        first, second = truncate(*pair, room)
        assert ids == [CLS, *first, SEP, *second, SEP]
        assert segments == [0] * (len(first) + 2) + [1] * (len(second) + 1)
        expected_cut += len(first) + len(second) < len(pair[0]) + len(pair[1])
    assert int(cut) == expected_cut


@pytest.mark.parametrize("length", range(13))
def test_single_texts_are_cut_at_the_end(length):
    ids = list(range(10, 10 + length))
    rows, cut = Packer(Numbers(), 8).pack((tf.constant([text(ids)]),))
    assert rows.keys() == {"tokens"}
    assert rows["tokens"].to_list() == [[CLS, *ids[:6], SEP]]
    assert int(cut) == (length > 6)


def test_a_batch_is_padded_to_the_bucket_of_its_longest_row():
    columns = (tf.constant(["11 12", "13"]), tf.constant(["", "14 15 16 17 18"]))
    dense = Packer(Numbers(), 30)(columns)
    expected = {
        "token_ids": [
            [CLS, 11, 12, SEP, SEP, *[0] * 11],
            [CLS, 13, SEP, 14, 15, 16, 17, 18, SEP, *[0] * 7],
        ],
        "segment_ids": [[0] * 4 + [1] + [0] * 11, [0] * 3 + [1] * 6 + [0] * 7],
        "padding_mask": [[1] * 5 + [0] * 11, [1] * 9 + [0] * 7],
    }
    for key, value in expected.items():
        assert dense[key].dtype == tf.int32
        np.testing.assert_array_equal(dense[key], value)


def test_a_real_tokenizer_packs_alike_eagerly_and_in_a_pipeline(tokenizer, texts):
    packer = Packer(tokenizer, 12)
    pairs = (texts[:8], texts[8:16])
    eager = packer(tuple(map(tf.constant, pairs)))
    pipeline = tf.data.Dataset.from_tensor_slices(pairs).batch(8)
    (mapped,) = pipeline.map(lambda *columns: packer(columns))
    tf.nest.map_structure(np.testing.assert_array_equal, mapped, eager)
    assert eager["token_ids"][0, 0] == tokenizer.cls_id
    assert (np.sum(eager["token_ids"] == tokenizer.sep_id, axis=1) == 2).all()


def test_no_rows_are_no_rows_and_a_row_holds_two_texts(tokenizer):
    dense = Packer(tokenizer, 12)((tf.constant([], tf.string),))
    shapes = {key: value.shape.as_list() for key, value in dense.items()}
    assert shapes == dict.fromkeys(("token_ids", "segment_ids", "padding_mask"), [0, 8])
    with pytest.raises(ValueError, match="at least 5.*Received: 4"):
        Packer(Numbers(), 4)


@pytest.mark.parametrize("bucketed, length", [(False, 9), (True, 16)])
def test_selected_rows_are_padded_no_further_than_asked(bucketed, length):
    packer = Packer(Numbers(), 32)
    texts = (tf.constant([text(range(5, 5 + n)) for n in (20, 2, 7)]),)
    rows, _ = packer.pack(texts)
    batch = packer.selector(rows, bucketed)([2, 1])
    expected = packer.dense({"tokens": tf.gather(rows["tokens"], [2, 1])}, length)
    tf.nest.map_structure(np.testing.assert_array_equal, batch, expected)
