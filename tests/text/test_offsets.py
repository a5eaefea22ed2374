"""Where pieces stand in the original text, against literal spans."""

import pytest
import tensorflow as tf

from zoo.text import WordPieceTokenizer

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
VOCABULARY = [*SPECIALS, "cafe", "un", "##able", "’", "中", "\u1112", "##\u1161", "!"]


@pytest.fixture(scope="module")
def tokenizer():
    return WordPieceTokenizer(VOCABULARY)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("café  cafe\u0301!", [(0, 4), (6, 11), (11, 12)]),
        ("\u200bun\u00adable\u200b !", [(1, 4), (4, 9), (10, 11)]),
        ("un’un", [(0, 2), (2, 3), (3, 5)]),
        ("中中 so\U0001f600 un", [(0, 1), (1, 2), (3, 6), (7, 9)]),
        ("\ud558un", [(0, 3)]),
        ("\ud558", [(0, 1), (0, 1)]),
        ("é" * 201 + "!un", [(0, 201), (201, 202), (202, 204)]),
        ("ΟΣ un", [(0, 2), (3, 5)]),
    ],
)
def test_spans(tokenizer, text, expected):
    _, starts, ends = tokenizer.tokenize_with_offsets(text, unit="characters")
    spans = list(zip(starts.numpy().tolist(), ends.numpy().tolist(), strict=True))
    assert spans == expected
    _, starts, ends = tokenizer.tokenize_with_offsets(text)
    in_bytes = [tuple(len(text[:i].encode()) for i in span) for span in expected]
    assert list(zip(starts.numpy(), ends.numpy(), strict=True)) == in_bytes


def test_rows_do_not_touch_each_other(tokenizer):
    texts = ["un", "", "é café", "un un"]
    _, starts, ends = tokenizer.tokenize_with_offsets(texts, unit="characters")
    assert starts.to_list() == [[0], [], [0, 2], [0, 3]]
    assert ends.to_list() == [[2], [], [1, 6], [2, 5]]


def test_invalid_bytes_belong_to_the_piece_before(tokenizer):
    _, starts, ends = tokenizer.tokenize_with_offsets([b"\xffun\xe2\x82able\xff un"])
    assert starts.to_list() == [[1, 5, 11]] and ends.to_list() == [[5, 10, 13]]


@pytest.mark.parametrize("unit", ["bytes", "characters"])
def test_in_a_graph_of_unknown_batch_size(tokenizer, unit):
    texts = ["café un’", "", "ΟΣ" * 150]

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def graph(texts):
        return tokenizer.tokenize_with_offsets(texts, unit)

    eager = tokenizer.tokenize_with_offsets(texts, unit)
    for ours, theirs in zip(graph(tf.constant(texts)), eager, strict=True):
        assert ours.dtype == tf.int32 and ours.to_list() == theirs.to_list()


def test_export(tokenizer, tmp_path):
    module = tf.Module()
    module.tokenizer = tokenizer
    module.ends = tf.function(
        lambda texts: tokenizer.tokenize_with_offsets(texts, "characters")[2],
        input_signature=[tf.TensorSpec([None], tf.string)],
    )
    tf.saved_model.save(module, str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    assert loaded.ends(tf.constant(["café un", ""])).to_list() == [[4, 7], []]
