"""Where pieces stand in the original text, against literal spans."""

import pytest
import tensorflow as tf
from tiny_gpt import tiny_byte_tokenizer

from zoo.text import CharacterTokenizer, FastaiTokenizer, WordPieceTokenizer

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
    # Invalid bytes belong to the piece before.
    _, starts, ends = tokenizer.tokenize_with_offsets([b"\xffun\xe2\x82able\xff un"])
    assert starts.to_list() == [[1, 5, 11]] and ends.to_list() == [[5, 10, 13]]


def spans_of(tokenizer, text, unit="characters"):
    """The parts of a text at its tokens, and the tokens."""
    ids, starts, ends = tokenizer.tokenize_with_offsets(text, unit)
    encoded = text if unit == "characters" else text.encode()
    pairs = zip(starts.numpy().tolist(), ends.numpy().tolist(), strict=True)
    return [encoded[a:b] for a, b in pairs], ids.numpy().tolist()


@pytest.mark.parametrize("text", ["The «old» house—it's 3.14 …", "", "a  b\n", "—é!"])
def test_words_and_their_punctuation(text):
    tokenizer = CharacterTokenizer(12, punctuation=True)
    for unit in ("bytes", "characters"):
        parts, words = spans_of(tokenizer, text, unit)
        words = [word.decode() for word in words]
        assert [p if unit == "characters" else p.decode() for p in parts] == words
    assert "".join(words) == "".join(text.split())


def test_bytes_of_a_character_have_its_place():
    tokenizer = tiny_byte_tokenizer()
    text = " the café  \U0001f600\n\nthe"
    parts, ids = spans_of(tokenizer, text)
    assert ids == tokenizer(text).numpy().tolist()
    whole = "".join(dict.fromkeys(parts))
    assert "\U0001f600" in parts and "é" in parts and parts.count("\U0001f600") == 4
    assert parts[0].strip() == parts[0] and whole.startswith("the")
    batch = tokenizer.tokenize_with_offsets(["", "x", text, ""], "characters")
    alone = tokenizer.tokenize_with_offsets(text, "characters")
    assert batch[1].to_list()[2] == alone[1].numpy().tolist()
    # Places of invalid bytes are inside of the text.
    texts = [b"\xe2\x82", b"a\xff b", b"\x80\x80\x80\x80\x80"]
    _, starts, ends = tokenizer.tokenize_with_offsets(texts)
    for text, first, last in zip(texts, starts.to_list(), ends.to_list(), strict=True):
        spans = list(zip(first, last, strict=True))
        assert spans and all(0 <= a <= b <= len(text) for a, b in spans)


def test_a_tokenizer_of_other_tokens_gives_the_places_of_words():
    tokenizer = FastaiTokenizer(["xxunk", "xxpad", "xxbos", "xxmaj", "do", "n't", "!"])
    parts, ids = spans_of(tokenizer, "Don't  stop é!")
    assert parts == ["Don't"] * 3 + ["stop", "é!", "é!"]
    assert ids == [3, 4, 5, 0, 0, 6]
    assert tokenizer.pieces(tf.constant(["do", "\x7f"])).row_lengths().numpy().min() > 0
