"""Streams of documents against the documents, put one behind the other."""

import numpy as np
import pytest
import tensorflow as tf

from zoo.data import (
    DocumentStreams,
    PackedRows,
    document_batches,
    read_token_ids,
    tokenize_texts,
    write_documents,
)
from zoo.text import FastaiTokenizer

DOCUMENTS = [[2, 6, 7], [2], [], [2, 9, 10, 11], [2, 12, 13, 14, 15, 16]] * 3
IDS = np.array([token for document in DOCUMENTS for token in document])
OFFSETS = np.cumsum([0, *map(len, DOCUMENTS)])
WORDS = ["xxunk", "xxpad", "xxbos", "a", "film", "good"]


def joined(streams, epoch):
    """What is read in an epoch, (B, N + 1)."""
    order = np.arange(len(DOCUMENTS))
    if streams.seed is not None:
        order = np.random.default_rng([streams.seed, epoch]).permutation(order)
    tokens = [token for number in order for token in DOCUMENTS[number]]
    if streams.reverse:
        tokens = tokens[::-1]
    size = (len(tokens) - 1) // streams.batch_size
    starts = np.arange(streams.batch_size)[:, None] * size
    return np.array(tokens)[starts + np.arange(size + 1)]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("jitter", [False, True])
@pytest.mark.parametrize("rows, steps, seed", [(1, 1, 0), (3, 4, None), (2, 9, 7)])
def test_every_token_follows_the_one_before(rows, steps, seed, jitter, reverse):
    streams = DocumentStreams(IDS, OFFSETS, rows, steps, reverse, jitter, seed)
    count, turn = streams.steps_per_epoch, -1 if reverse else 1
    for epoch in (1, 0):  # in any order
        wanted = joined(streams, epoch)
        batches = [streams.batch(epoch * count + step) for step in range(count)]
        for name, place in (("token_ids", slice(-1)), ("next_ids", slice(1, None))):
            parts = [batch[name][:, ::turn] for batch in batches]
            found = np.concatenate(parts, axis=1)
            np.testing.assert_array_equal(found, wanted[:, place])
        fresh = [batch["fresh"].tolist() for batch in batches]
        assert fresh == [[1] * rows, *[[0] * rows] * (count - 1)]


def test_the_lengths_of_windows_vary_with_jitter():
    ids = np.arange(100_000)
    streams = DocumentStreams(ids, [0, 100_000], 4, 70, jitter=True, seed=1)
    sizes = np.diff(streams.bounds(0))
    assert len(sizes) == streams.steps_per_epoch and sizes.sum() == streams.length
    normal = sizes[sizes > 55]
    assert 0.9 < len(normal) / len(sizes) < 1 and 3 < normal.std() < 7
    assert (np.diff(streams.bounds(1)) != sizes).any()
    assert (np.diff(streams.bounds(0)) == sizes).all()
    # A window that is longer than the stream has all of it.
    streams = DocumentStreams(IDS, OFFSETS, 4, 70)
    assert streams.steps_per_epoch == 1
    assert streams.batch(0)["token_ids"].shape == (4, (len(IDS) - 1) // 4)


@pytest.mark.parametrize("kind", [DocumentStreams, PackedRows])
def test_a_dataset_has_the_batches_of_its_steps(kind):
    streams = kind(IDS, OFFSETS, 2, 5)
    steps = tf.data.Dataset.from_tensor_slices([3, 0])
    for step, batch in zip((3, 0), document_batches(streams, steps), strict=True):
        for name, expected in streams.batch(step).items():
            np.testing.assert_array_equal(batch[name], expected)
            assert batch[name].dtype == expected.dtype


@pytest.mark.slow
def test_documents_on_disk_are_those_in_memory(tmp_path):
    tokenizer = FastaiTokenizer(WORDS)
    texts = ["a good film", "", "unheard of"] * 100
    write_documents(iter(texts), tokenizer, tmp_path / "corpus")
    ids, offsets = read_token_ids(tmp_path / "corpus")
    assert ids[: offsets[3]].tolist() == [2, 3, 5, 4, 2, 2, 0, 0]
    assert np.diff(offsets).tolist() == [4, 1, 3] * 100
    parts = [part for part, _ in tokenize_texts(texts, tokenizer)]
    np.testing.assert_array_equal(ids, np.concatenate(parts))
    with pytest.raises(ValueError, match="must have texts. Received: none"):
        write_documents([], tokenizer, tmp_path / "nothing")
    assert not (tmp_path / "nothing").exists()
    with open(tmp_path / "corpus" / "ids", "ab") as file:
        file.write(b"1234")
    with pytest.raises(ValueError, match="must have 800 token ids. Received: 801"):
        read_token_ids(tmp_path / "corpus")
