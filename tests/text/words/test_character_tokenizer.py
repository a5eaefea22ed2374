"""Ids of characters against the vectors of the reference program's own tests."""

import numpy as np
import pytest
import tensorflow as tf

from zoo.text import CharacterTokenizer
from zoo.text.white_space import SPACES


def padded(ids, length=50):
    return [*ids, *[261] * (length - len(ids))]


def spell(words, length=50):
    """Ids, padded to `length` columns as the reference does."""
    ids = CharacterTokenizer(length).spell(words).numpy()
    pad = np.where(ids[..., :1] == 0, 0, 261)
    pad = np.repeat(pad, length - ids.shape[-1], axis=-1)
    return np.concatenate([ids, pad], axis=-1).tolist()


def plain(word, length=50):
    """The rule in plain Python."""
    special = {"<S>": [256], "</S>": [257]}
    body = special.get(word, list(word.encode()))[: length - 2]
    return padded([i + 1 for i in [258, *body, 259]], length)


def test_known_vectors():
    assert spell("The") == padded([259, 85, 105, 102, 260])
    assert spell(["<S>", "</S>"]) == [padded([259, b, 260]) for b in (257, 258)]
    assert spell("\u0100t", 5) == [259, 197, 129, 117, 260]  # bytes C4 80 74
    assert spell("") == [0] * 50


WORDS = ["a", "<s>", "</s>", "<UNK>", "\u00e9t\u00e9", "\U0001f600" * 20, "x" * 49]
WORDS += ["x" * 48, "x" * 10_000, "\x00", "a\x00b", "<S>", "</S>", "na\u00efve", "0"]


@pytest.mark.parametrize("length", [3, 5, 50])
def test_every_word_is_its_bytes(length):
    expected = [plain(word, length) for word in WORDS]
    assert spell(WORDS, length) == expected
    matrix = tf.reshape(tf.constant(WORDS), [3, 5])
    assert np.array(spell(matrix, length)).reshape(15, -1).tolist() == expected


def test_the_same_in_a_graph_and_no_longer_than_needed():
    tokenizer = CharacterTokenizer()
    ids = tf.function(tokenizer.spell)(tf.constant([["a", "bcd", ""]]))
    assert ids.shape[-1] == 5 and not np.any(ids[0, 2])
    np.testing.assert_array_equal(ids, tokenizer.spell([["a", "bcd", ""]]))
    assert tokenizer.spell(tf.zeros((2, 0), tf.string)).shape == (2, 0, 3)
    # A word without characters is a word where the mask says so.
    ids = tokenizer.spell(["", "a"], [True, False])
    assert ids.numpy().tolist() == [[259, 260, 261], [0, 0, 0]]


def test_texts_are_split_at_white_space():
    tokenizer = CharacterTokenizer()
    texts = ["The cat , it's  gone\u00a0!\n", "", " \t"]
    words = [["The", "cat", ",", "it's", "gone", "!"], [], []]
    found = tokenizer(texts).to_list()
    assert [[word.decode() for word in row] for row in found] == words
    assert tokenizer("a b").numpy().tolist() == [b"a", b"b"]


@pytest.mark.parametrize("unit", ["bytes", "characters"])
def test_every_white_space_parts_words_and_nothing_else_does(unit):
    texts = [f"{space}\u00e9a{space}b\U0001f600 {space}" for space in SPACES]
    texts += [f"a{other}b" for other in "\u200b\u00ad\u2060_\u180e\ufeff\x00"]
    found = CharacterTokenizer.split(tf.constant(texts), unit)
    for row, text in enumerate(texts):
        words, starts, ends = (part[row].numpy() for part in found)
        words = [word.decode() for word in words]
        assert words == text.split()
        whole = text.encode() if unit == "bytes" else text
        cut = [whole[a:b] for a, b in zip(starts, ends, strict=True)]
        cut = [c.decode() if unit == "bytes" else c for c in cut]
        assert cut == words


MARKED = {
    "Hello,": ["Hello", ","],
    "\"Don't": ['"', "Don't"],
    "(well-known).": ["(", "well-known", ")", "."],
    "said\u2014and": ["said", "\u2014", "and"],
    "1914\u20131918": ["1914", "\u2013", "1918"],
    "wait--no": ["wait", "--", "no"],
    "--": ["--"],
    "U.S.": ["U.S", "."],
    "3.14": ["3.14"],
    "so...": ["so", "..."],
    "\u2026and": ["\u2026", "and"],
    "$5": ["$", "5"],
    "\u2014\u201cyes,\u201d": ["\u2014", "\u201c", "yes", ",", "\u201d"],
    "\u00e9t\u00e9!": ["\u00e9t\u00e9", "!"],
    "?!": ["?", "!"],
    "<S>": ["<", "S", ">"],
    "x": ["x"],
}


def test_punctuation_is_taken_off_the_ends_of_words():
    tokenizer = CharacterTokenizer(punctuation=True)
    text = "  ".join(MARKED)
    words = [word.decode() for word in tokenizer(text).numpy()]
    assert words == [word for row in MARKED.values() for word in row]
    pieces = tokenizer.pieces(tf.constant(list(MARKED))).to_list()
    assert [[w.decode() for w in row] for row in pieces] == list(MARKED.values())
    assert tokenizer(["", "a, b"]).to_list() == [[], [b"a", b",", b"b"]]
    # Bytes that are no text are kept.
    words = tokenizer(tf.constant([b"\xff\xfe, \xe9."])).to_list()
    assert words == [[b"\xff\xfe", b",", b"\xe9", b"."]]


VOCABULARY = ["<S>", "</S>", "<UNK>", "the", "caf\u00e9", "The"]


def test_words_have_numbers():
    words = [["the", "caf\u00e9", "The"], ["THE", "</S>", ""]]
    tokenizer = CharacterTokenizer(12, VOCABULARY)
    assert tokenizer.vocabulary == tuple(VOCABULARY)
    assert tokenizer.vocabulary_size == 262  # of characters still
    found = tokenizer.word_ids(words)
    assert found.dtype == tf.int32 and found.numpy().tolist() == [[3, 4, 5], [2, 1, 2]]
    assert tf.function(tokenizer.word_ids)("The").numpy() == 5
    ragged = tokenizer(["the The", ""])
    assert tokenizer.word_ids(ragged).to_list() == [[3, 5], []]
    assert tokenizer.word_ids("the").numpy() == 3
    assert tokenizer.get_config()["vocabulary"] == VOCABULARY
    without = CharacterTokenizer()
    assert "vocabulary" not in without.get_config()
    with pytest.raises(ValueError, match="need a vocabulary.*Give it a `vocabulary`"):
        without.word_ids(["a"])
