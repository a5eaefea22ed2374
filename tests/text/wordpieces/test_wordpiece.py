"""WordPieceTokenizer: its rules, its forms of input, its life outside a session."""

import numpy as np
import pytest
import tensorflow as tf

from zoo.text import WordPieceTokenizer

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PIECES = ["the", "un", "##able", "##s", "cafe", "a", "##a", "é", "##é", "!", "’", "中"]
LETTERS = ["σ", "##σ", "##ς", "ο", "##ο", "²", "[", "]", "mask", "##\u1100", "\u1100"]
VOCABULARY = [*SPECIALS, *PIECES, *LETTERS, "é" * 128]  # of 256 bytes, the most


@pytest.fixture(scope="module")
def tokenizer():
    return WordPieceTokenizer(VOCABULARY)


def pieces(tokenizer, text):
    return [tokenizer.id_to_token(i) for i in tokenizer(text).numpy()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The unables", "the un ##able ##s"),
        ("Cafe\u0301 CAFÉ", "cafe cafe"),
        ("un\u00adab\u200dle \u200b", "un ##able"),
        ("un\x00ab\x7fle", "un ##able"),
        ("the\u00a0the\u3000the\u2028the\tthe", "the the the the the"),
        ("the!the’the", "the ! the ’ the"),
        ("a中a", "a 中 a"),
        ("ΟΣ ΟΣΟ Σ ΟΣ! Ο’Σ", "ο ##ς ο ##σ ##ο σ ο ##ς ! ο ’ [UNK]"),
        ("²", "²"),
        ("theunable", "[UNK]"),
        ("[MASK]", "[ mask ]"),
        ("the\ufffd the", "the the"),
        ("\u1100\u1100 가", "\u1100 ##\u1100 [UNK]"),
        ("", ""),
        (" \u200b\t", ""),
    ],
)
def test_rules(tokenizer, text, expected):
    assert pieces(tokenizer, text) == expected.split()


def test_cased_keeps_accents_and_case():
    tokenizer = WordPieceTokenizer(VOCABULARY, lowercase=False)
    expected = "é [UNK] [UNK] the ’ [UNK]".split()
    assert pieces(tokenizer, "é The cafe\u0301 the’ Σ") == expected


@pytest.mark.parametrize("letter", ["a", "é", "²", "\U0001d400", "Σ"])
@pytest.mark.parametrize("length", [200, 201])
def test_word_limit_counts_characters(letter, length):
    lower = "σ" if letter == "Σ" else letter
    tokens = [*SPECIALS, lower, "##" + lower, "##ς", "!"]
    tokenizer = WordPieceTokenizer(tokens, lowercase=letter == "Σ")
    ids = tokenizer([f"! {letter * length}! {letter}"]).to_list()[0]
    assert len(ids) == (length if length <= 200 else 1) + 3
    assert (tokenizer.unknown_id in ids) == (length > 200)


def test_characters_of_later_unicode_versions_stay_in_their_words():
    # U+1B4E is punctuation since Unicode 16, U+10FFFD is private.
    token = "a\u1b4ea\U0010fffd"
    tokenizer = WordPieceTokenizer([*SPECIALS, token, "a", "##a"])
    assert pieces(tokenizer, f"{token} a\u1b4fa aa") == [token, "[UNK]", "a", "##a"]
    # Tokens that no text gives are out of reach.
    tokens = ["a b", "a\u200bb", "a\x11", "don't", "##'", "a", "b", "##b", "'"]
    tokenizer = WordPieceTokenizer(SPECIALS + tokens)
    assert pieces(tokenizer, "a b ab a\u200bb '") == "a b a ##b a ##b '".split()


@pytest.mark.parametrize(
    "form",
    [
        list,
        tuple,
        np.array,
        lambda texts: np.array([texts[0], texts[1].encode()], object),
        lambda texts: tf.constant(texts),
    ],
)
def test_forms_of_input(tokenizer, form):
    ids = tokenizer(form(["the", "un"]))
    assert isinstance(ids, tf.RaggedTensor) and ids.dtype == tf.int32
    assert ids.to_list() == [[tokenizer.token_to_id(t)] for t in ("the", "un")]


def test_invalid_utf8_vanishes(tokenizer):
    garbage = [b"t\xffh\xe2\x82e", b"\xed\xa0\x80the\xf0\x9f\x98", b"th\xc0\x80e\xc3"]
    assert tokenizer(garbage).to_list() == [[5], [5], [5]]


def test_long_texts(tokenizer):
    texts = ["the " * 25_000, "a" * 100_000, "Σ" * 100_000, "é!" * 30_000]
    lengths = tokenizer(texts).row_lengths().numpy().tolist()
    assert lengths == [25_000, 1, 1, 60_000]


def test_properties(tokenizer):
    assert tokenizer.vocabulary == tuple(VOCABULARY)
    assert tokenizer.vocabulary_size == len(VOCABULARY)
    names = ("pad_id", "unknown_id", "cls_id", "sep_id", "mask_id")
    assert [getattr(tokenizer, name) for name in names] == [0, 1, 2, 3, 4]
    assert tokenizer.token_to_id("##able") == 7 and tokenizer.id_to_token(7) == "##able"
    with pytest.raises(KeyError, match="must be in the vocabulary. Received: .*'x'"):
        tokenizer.token_to_id("x")


def test_special_tokens_in_text():
    tokenizer = WordPieceTokenizer(VOCABULARY, specials_in_text=True)
    text = "[CLS] a[MASK]a [mask] [UNK] ΟΣ[SEP] \ufdd4"
    expected = "[CLS] a [MASK] a [ mask ] [UNK] {} {} [SEP] {}"
    assert pieces(tokenizer, text) == expected.format("ο", "##ς", "[UNK]").split()
    _, starts, ends = tokenizer.tokenize_with_offsets(text, unit="characters")
    spans = [text[a:b] for a, b in zip(starts.numpy(), ends.numpy(), strict=True)]
    assert spans == expected.format("Ο", "Σ", "\ufdd4").split()


def test_detokenize(tokenizer):
    ids = tokenizer(["The UNABLES!", "", "a"])
    expected = [b"the unables !", b"", b"a"]
    assert tokenizer.detokenize(ids).numpy().tolist() == expected
    padded = ids[:1].to_tensor(shape=(1, 6))
    assert tokenizer.detokenize(padded).numpy() == [b"the unables ! [PAD]"]
    assert tokenizer.detokenize(tokenizer("the a")).numpy() == b"the a"
