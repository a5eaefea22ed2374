"""Vocabularies of words: counted in texts, extended, and matched with vectors."""

import gzip
import re

import numpy as np
import pytest

from zoo.text import (
    WordTokenizer,
    count_words,
    extend_tokenizer,
    match_vectors,
    save_vocabulary,
)

VOCABULARY = ["the", "cat", "Paris", "paris", "Bonn", "0000", "1st", "\u00e9t\u00e9"]
CORPUS = ["b a a\u3000c\u00a0b", "B A 12 34\n56", b"a \xff 78"]
CORPUS += ["", "<S> <UNK> ", "\x1cd"]


def counted(lowercase, digits):
    """Words and counts in plain Python."""
    counts = {}
    for text in CORPUS:
        text = text.decode("utf-8", "ignore") if isinstance(text, bytes) else text
        for word in re.split("[ \u3000\u00a0\n\x1c]+", text):
            word = word.lower() if lowercase else word
            word = re.sub(r"\d", "0", word) if digits else word
            if word and word.upper() not in ("<S>", "<UNK>"):
                counts[word] = counts.get(word, 0) + 1
    return counts


@pytest.mark.parametrize("lowercase", [False, True])
@pytest.mark.parametrize("digits", [False, True])
@pytest.mark.parametrize("minimum", [1, 2, 3])
def test_words_are_counted(lowercase, digits, minimum, tmp_path):
    counts = counted(lowercase, digits)
    expected = sorted(counts, key=lambda word: (-counts[word], word))
    expected = [word for word in expected if counts[word] >= minimum]
    found = count_words(CORPUS, minimum, None, lowercase, digits)
    assert found == expected and len(expected) > 1 - (minimum > 2)
    assert count_words(CORPUS, minimum, 2, lowercase, digits) == expected[:2]
    save_vocabulary(found, tmp_path / "words.txt")
    tokenizer = WordTokenizer(tmp_path / "words.txt", lowercase, digits)
    assert tokenizer.vocabulary == tuple(found)


def test_files_are_counted_as_texts(tmp_path):
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress("a b\nb \u00e9\n".encode()))
    assert count_words([tmp_path / "a.txt.gz", "a"], 1) == ["a", "b", "\u00e9"]
    assert count_words(["a " * 4 + "b " * 5]) == ["b"]  # five times by default
    assert count_words([], 1) == [] and count_words(["", " "], 1) == []


def test_a_counted_word_is_found_again(shared):
    path = shared / "data/wikitext2/wiki.valid.tokens.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        lines = file.readlines()
    words = count_words(lines, 2)
    tokenizer = WordTokenizer(words)
    ids = tokenizer.ids(tokenizer(lines)).values.numpy()
    counts = np.bincount(ids, minlength=tokenizer.vocabulary_size)
    assert (counts[4:] >= 2).all() and counts[1] < len(ids) / 10


def test_growing_keeps_every_id():
    old = WordTokenizer(VOCABULARY, unknown="class")
    new, places = extend_tokenizer(old, ["dog", "cat", "dog", "a b", "", "<S>", "Rome"])
    assert places == [0, 6] and new.vocabulary == (*VOCABULARY, "dog", "Rome")
    assert old.vocabulary == tuple(VOCABULARY) and new.unknown == "class"
    assert new.ids(old.tokens).numpy().tolist() == list(range(old.vocabulary_size))
    size = old.vocabulary_size
    assert new.ids(["dog", "Rome", "rome"]).numpy().tolist() == [size, size + 1, 1]
    same, places = extend_tokenizer(old, [])
    assert places == [] and same.vocabulary == old.vocabulary
    with pytest.raises(TypeError, match="`words` must be a sequence"):
        extend_tokenizer(old, "dog")


def test_growing_leaves_out_what_no_text_gives_and_keeps_hashes():
    old = WordTokenizer(["the"], True, True)
    new, places = extend_tokenizer(old, ["Rome", "rome", "1984", "0000", "<s>", "The"])
    assert [new.vocabulary[1:], places] == [("rome", "0000"), [1, 3]]
    old = WordTokenizer(["the"], unknown="random")
    new = extend_tokenizer(old, ["cat", "dog"])[0]
    np.testing.assert_array_equal(new.ids(["xyz"]), old.ids(["xyz"]) + 2)


def test_pretrained_vectors_find_their_words():
    tokenizer = WordTokenizer(["the", "Cat", "Dog", "none", "a"])
    words = ["cat", "the", "Dog", "dog", "the", "<unk>", "A"]
    vectors = np.arange(14, dtype="float32").reshape(7, 2)
    ids, rows = match_vectors(tokenizer, words, vectors)
    found = dict(zip(ids.tolist(), rows[:, 0].tolist(), strict=True))
    assert found == {1: 10.0, 4: 2.0, 5: 0.0, 6: 4.0}
    ids, rows = match_vectors(tokenizer, [], np.zeros((0, 3), "float32"))
    assert ids.shape == (0,) and rows.shape == (0, 3)
    with pytest.raises(ValueError, match="6 words and 7 vectors"):
        match_vectors(tokenizer, words[:6], vectors)
