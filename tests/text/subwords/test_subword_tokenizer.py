"""The subword tokenizer against tensor2tensor's ids and a plain reference."""

import json
import random
import re
import unicodedata

import pytest
import tensorflow as tf
from places import GOLDENS

from zoo.text import SubwordTokenizer

GOLDEN = GOLDENS / "subword_tokenizer.json"
GOLDEN = json.loads(GOLDEN.read_text("utf-8"))
SUBTOKENS, TEXTS = GOLDEN["subtokens"], GOLDEN["texts"]
REAL = "oracles/t2t_toy/vocab.translate_ende_wmt8k.8192.subwords"


class Reference:
    """The rule in plain Python, written from its description."""

    def __init__(self, subtokens):
        self.subtokens = subtokens
        self.ids = {s: i for i, s in enumerate(subtokens) if s}
        self.alphabet = {*"".join(subtokens), *"\\_u;0123456789"} - {"\n"}
        self.longest = max(map(len, subtokens))

    def encode(self, text):
        """The ids of a text."""
        words = re.findall(r"A+|-+", "".join(map(letter, text)))
        place, ids = 0, []
        for number, word in enumerate(words):
            word, place = text[place : place + len(word)], place + len(word)
            if word == " " and 0 < number < len(words) - 1:
                continue
            ids += self.pieces("".join(map(self.escape, word)) + "_")
        return ids

    def escape(self, character):
        """A character as it is in a word."""
        known = character if character in self.alphabet else f"\\{ord(character)};"
        return {"\\": "\\\\", "_": "\\u"}.get(character, known)

    def pieces(self, word):
        """The ids of the longest subtokens from left to right."""
        while word:
            piece = next(
                word[:n] for n in range(self.longest, 0, -1) if word[:n] in self.ids
            )
            yield self.ids[piece]
            word = word[len(piece) :]

    def decode(self, ids):
        """The text of ids."""
        written = "".join(self.subtokens[i] for i in ids if i < len(self.subtokens))
        text, before = "", False
        for word in filter(None, written.split("_")):
            word = re.sub(r"\\(u|\\|([0-9]+);)", unescape, word)
            after = letter(word[0]) == "A"
            text += " " * (before and after) + word
            before = after
        return text


def letter(character):
    """ "A" for a letter or a number, "-" for another character."""
    return "A" if unicodedata.category(character)[0] in "LN" else "-"


def unescape(match):
    """The character of an escape."""
    if match[2] is None:
        return "_" if match[1] == "u" else "\\"
    number = int(match[2])
    return chr(number) if number < 0x110000 else "\u3013"


def make_texts(count, seed):
    """Random texts of all planes, without surrogates and unassigned letters."""
    generator = random.Random(seed)
    kinds = (
        lambda: chr(generator.randrange(32, 127)),
        lambda: generator.choice("    \n\t\u00a0"),
        lambda: generator.choice("abthem_\\u;0123456789#é中文😀ß²'\""),
        lambda: chr(generator.randrange(0xA0, 0x250)),
        lambda: chr(generator.randrange(0x250, 0xD800)),
        lambda: chr(generator.randrange(0xE000, 0x110000)),
    )
    return [
        "".join(generator.choice(kinds)() for _ in range(generator.randrange(30)))
        for _ in range(count)
    ]


@pytest.fixture(scope="module")
def tiny():
    """The tokenizer of the tiny vocabulary."""
    return SubwordTokenizer(SUBTOKENS)


def decode(tokenizer, rows):
    """Rows of ids to texts."""
    rows = tf.ragged.constant(rows, tf.int32, ragged_rank=1)
    return [text.decode() for text in tokenizer.detokenize(rows).numpy()]


def compare(tokenizer, reference, seed):
    """Compares both ways on random texts and random ids."""
    texts = make_texts(1000, seed)
    ids = tokenizer(texts).to_list()
    for text, found in zip(texts, ids, strict=True):
        assert found == reference.encode(text), repr(text)
    assert decode(tokenizer, ids) == texts
    generator = random.Random(seed)
    size = len(reference.subtokens) + 3
    rows = [[generator.randrange(2, size) for _ in range(9)] for _ in range(2000)]
    for row, text in zip(rows, decode(tokenizer, rows), strict=True):
        assert text == reference.decode(row), row


def test_ids_and_texts_are_those_of_tensor2tensor(tiny):
    assert tiny(TEXTS).to_list() == GOLDEN["tiny"]
    assert [[*Reference(SUBTOKENS).encode(t)] for t in TEXTS] == GOLDEN["tiny"]
    assert decode(tiny, GOLDEN["rows"]) == GOLDEN["written"]
    assert decode(tiny, GOLDEN["tiny"]) == TEXTS
    compare(tiny, Reference(SUBTOKENS), seed=1)


@pytest.mark.external
def test_random_texts_and_ids_of_a_real_vocabulary(shared):
    tokenizer = SubwordTokenizer(shared / REAL)
    assert tokenizer.vocabulary_size == 8190
    assert tokenizer(TEXTS).to_list() == GOLDEN["real"]
    compare(tokenizer, Reference(tokenizer.get_config()["subtokens"]), seed=2)


def test_numbers_that_are_no_characters(tiny):
    numbers = ["1114111", "1114112", "55296", "99999999999999999999", "0065"]
    ids = {s: i for i, s in enumerate(SUBTOKENS)}
    rows = [[ids[c] for c in f"\\{number};_"] for number in numbers]
    written = ["\U0010ffff", "\u3013", "\u3013", "\u3013", "A"]
    assert decode(tiny, rows) == written


def test_rows_end_before_the_end_and_lose_padding(tiny):
    the, end, pad = SUBTOKENS.index("them_"), tiny.end_id, tiny.pad_id
    rows = [[the, pad, the, end, the], [end, the, the, the, the], [the] * 5]
    found = tiny.detokenize(tf.constant(rows)).numpy().tolist()
    assert found == [b"them them", b"", b"them them them them them"]
    # Bytes that are not UTF-8 are dropped.
    assert tiny([b"a\xff\xc3b"]).to_list() == tiny(["ab"]).to_list()


def test_files_of_tensor2tensor(tiny, tmp_path):
    path = tmp_path / "vocab.subwords"
    for quote in ("'", '"'):
        path.write_bytes("".join(f"{quote}{s}{quote}\n" for s in SUBTOKENS).encode())
        assert SubwordTokenizer(path).get_config() == tiny.get_config()
    # Without quotes, white space at the end of a line is lost.
    plain = [s for s in SUBTOKENS if s.strip() == s and not {*s} & {*" \u00a0'\""}]
    path.write_bytes("".join(f"{s}\r\n" for s in plain).encode())
    assert SubwordTokenizer(path).get_config()["subtokens"] == plain
    path.write_bytes(b"\xff\n")
    with pytest.raises(ValueError, match="must be UTF-8"):
        SubwordTokenizer(path)
    with pytest.raises(FileNotFoundError, match="`subtokens` must be an existing file"):
        SubwordTokenizer(tmp_path / "missing")


def test_a_target_may_have_other_subtokens(tiny):
    other = [*SUBTOKENS[:2], "zz_", *SUBTOKENS[3:], "z"]
    both = SubwordTokenizer(SUBTOKENS, other)
    assert both.target_vocabulary_size == len(other)
    assert tiny.target_vocabulary_size is None
    assert both.targets(["zz"]).to_list() == [[2]]
    assert decode(both, both.targets(TEXTS).to_list()) == TEXTS
