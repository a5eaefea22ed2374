"""Questions and windows of contexts as rows, against rules in plain Python."""

import collections

import pytest
import tensorflow as tf

from zoo.data import QuestionPacker
from zoo.text import Framing

QUESTIONS = ["good film films", "", "bad", "a film"]
CONTEXTS = [
    "the plot and the music of this film is very good , so the movie was too",
    "",
    "lovely stories",
]
CONTEXTS.append(CONTEXTS[0])


def pack(tokenizer, questions, contexts, length=12, **options):
    packer = QuestionPacker(tokenizer, length, **options)
    return packer.pack((tf.constant(questions), tf.constant(contexts)))


def windows_of(count, room, stride):
    """The first token and the number of tokens of each window."""
    found, start = [], 0
    while not found or start < count:
        size = min(count - start, room)
        found.append((start, size))
        if start + size == count:
            break
        start += min(size, stride)
    return found


def widest(windows, number, place):
    """Whether a token has its widest context in a window."""
    scores = [
        min(place - start, start + size - 1 - place) + 0.01 * size
        if start <= place < start + size
        else -1
        for start, size in windows
    ]
    return scores.index(max(scores)) == number


@pytest.mark.parametrize(("length", "stride"), [(12, 3), (9, 100), (40, 7), (None, 2)])
def test_windows(tokenizer, length, stride):
    options = {"stride": stride, "question_length": 2}
    rows, cut = pack(tokenizer, QUESTIONS, CONTEXTS, length, **options)
    assert cut == 1  # "good film films" has four pieces
    assert rows["windows"].dtype == tf.int32
    lists = {k: v.to_list() for k, v in rows.items() if k != "windows"}
    number = 0
    triples = zip(QUESTIONS, CONTEXTS, rows["windows"].numpy(), strict=True)
    for question, context, count in triples:
        own = tokenizer(question).numpy().tolist()[:2]
        parts = tokenizer.tokenize_with_offsets(context)
        ids, starts, ends = (part.numpy().tolist() for part in parts)
        expected = windows_of(len(ids), (length or 2**30) - 3 - len(own), stride)
        assert count == len(expected)
        left = [2, *own, 3]
        for place, (start, size) in enumerate(expected):
            chosen = slice(start, start + size)
            found = {name: values[number] for name, values in lists.items()}
            assert found["tokens"] == [*left, *ids[chosen], 3]
            assert found["segment_ids"] == [0] * len(left) + [1] * (size + 1)
            padded = [-1] * len(left)
            assert found["begins"] == [*padded, *starts[chosen], -1]
            assert found["ends"] == [*padded, *ends[chosen], -1]
            best = [int(widest(expected, place, i)) for i in range(start, start + size)]
            assert found["widest"] == [0] * len(left) + best + [0]
            number += 1
    assert number == len(lists["tokens"])


def test_every_token_is_widest_once(tokenizer):
    context = " ".join(CONTEXTS[0].split() * 9)
    rows, _ = pack(tokenizer, ["bad"], [context], 16, stride=5)
    counts = collections.Counter()
    parts = (rows[name].to_list() for name in ("begins", "widest"))
    for begins, best in zip(*parts, strict=True):
        counts.update(dict(zip(begins, best, strict=True)))
    counts.pop(-1)
    assert set(counts.values()) == {1} and len(counts) == 17 * 9


def test_padded_rows_and_chosen_rows_are_the_same(tokenizer):
    packer = QuestionPacker(tokenizer, 12, Framing((2,), (3,), (3,)), stride=3)
    rows, _ = packer.pack((tf.constant(QUESTIONS), tf.constant(CONTEXTS)))
    count = rows["tokens"].nrows()
    chosen = packer.selector(rows)(tf.range(count))
    dense = packer.dense(rows, 12)
    names = "token_ids", "segment_ids", "padding_mask", "begins", "ends", "widest"
    assert {*dense} == {*chosen} == {*names}
    for name, value in chosen.items():
        assert (dense[name][:, : value.shape[1]] == value).numpy().all(), name
    assert dense["begins"][0, -1] == -1 and dense["widest"].shape == (count, 12)


@pytest.mark.slow
def test_in_a_graph(tokenizer):
    packer = QuestionPacker(tokenizer, 12, stride=3)
    texts = tf.constant(QUESTIONS), tf.constant(CONTEXTS)
    data = tf.data.Dataset.from_tensor_slices(texts).batch(4)
    (found,) = data.map(lambda *columns: packer.pack(columns)[0])
    expected = packer.pack(texts)[0]
    for name, value in found.items():
        assert value.dtype == expected[name].dtype
        tf.debugging.assert_equal(value, expected[name], name)


@pytest.mark.parametrize(
    ("length", "options", "message"),
    [
        (12, {"stride": 0}, "`stride` must be an integer of at least 1. Received: 0"),
        (12, {"question_length": 1.5}, "`question_length` must be an int.*1.5"),
        (4, {}, "`sequence_length` must be at least 5"),
    ],
)
def test_wrong_options(tokenizer, length, options, message):
    with pytest.raises(ValueError, match=message):
        QuestionPacker(tokenizer, length, **options)
