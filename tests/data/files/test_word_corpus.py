"""Corpora of words on disk."""

import numpy as np
import pytest
import tensorflow as tf

from zoo.data import TokenStreams, read_word_corpus, stream_batches, write_word_corpus
from zoo.data.files import word_corpus
from zoo.text import CharacterTokenizer

SENTENCES = ["a b c", "b  a", "", "[UNK] b <S>", "c\u00a0a", "b"]
TOKENIZER = CharacterTokenizer(12)


@pytest.fixture
def corpus(tmp_path):
    write_word_corpus(SENTENCES, TOKENIZER, tmp_path / "corpus")
    return read_word_corpus(tmp_path / "corpus")


def test_words_are_sorted_by_frequency(corpus):
    assert corpus.words == ("<S>", "</S>", "<UNK>", "b", "a", "c")
    assert corpus.counts.tolist() == [1, 0, 1, 4, 3, 2]
    assert corpus.ids.dtype == np.int32 and corpus.offsets.dtype == np.int64


def test_empty_sentences_are_ignored(corpus):
    rows = [
        " ".join(corpus.words[i] for i in corpus.ids[begin:end])
        for begin, end in zip(corpus.offsets[:-1], corpus.offsets[1:], strict=True)
    ]
    assert rows == ["a b c", "b a", "<UNK> b <S>", "c a", "b"]


def test_blocks_and_calls_change_nothing(tmp_path, corpus, monkeypatch):
    monkeypatch.setattr(word_corpus, "SENTENCES_PER_CALL", 2)
    monkeypatch.setattr(word_corpus, "IDS_AT_ONCE", 3)
    write_word_corpus(iter(SENTENCES), TOKENIZER, tmp_path / "again")
    again = read_word_corpus(tmp_path / "again")
    assert again.words == corpus.words
    for name in ("ids", "counts", "offsets"):
        np.testing.assert_array_equal(getattr(again, name), getattr(corpus, name))
    names = {path.name for path in (tmp_path / "again").iterdir()}
    assert names == {"counts.npy", "ids.npy", "offsets.npy", "words.txt"}


def test_no_words_leave_no_file(tmp_path):
    with pytest.raises(ValueError, match="must have words. Received: none"):
        write_word_corpus(["", " "], TOKENIZER, tmp_path / "corpus")
    assert list(tmp_path.iterdir()) == []


def test_batches_of_streams(corpus):
    tokenizer = CharacterTokenizer(12, ["<S>", "</S>", "<UNK>", "b", "a"])
    streams = TokenStreams(corpus.ids, corpus.offsets, 2, 3, seed=None)
    assert streams.steps_per_epoch == 2
    batches = list(stream_batches(streams, corpus.words, tokenizer).take(3))
    first = batches[0]
    words = tf.constant([["<S>", "a", "b"], ["<UNK>", "b", "<S>"]])
    np.testing.assert_array_equal(first["forward_ids"], tokenizer.spell(words))
    # "c" is read as it is spelled and predicted as unknown.
    assert first["forward_targets"].numpy().tolist() == [[4, 3, 2], [3, 0, 1]]
    backward = tf.constant([["b", "c", "</S>"], ["<UNK>", "b", "<S>"]])
    assert first["backward_targets"].numpy().tolist() == [[4, 3, 2], [0, 2, 3]]
    np.testing.assert_array_equal(first["backward_ids"], tokenizer.spell(backward))
    assert [b["fresh"].numpy().tolist() for b in batches] == [[1, 1], [0, 0], [1, 1]]
    for start in (1, 2):
        later = next(iter(stream_batches(streams, corpus.words, tokenizer, start)))
        tf.nest.map_structure(np.testing.assert_array_equal, later, batches[start])
