"""Marian's texts: pieces of SentencePiece with the ids of a vocabulary."""

import json

import pytest
import tensorflow as tf
from places import GOLDENS

from zoo.text import MarianTokenizer

GOLDEN = GOLDENS / "marian"
NAMES = ("joint", "separate")
EXPECTED = {
    name: json.loads((GOLDEN / name / "texts.json").read_text("utf-8"))
    for name in NAMES
}


def arguments(name):
    """The arguments of a tokenizer of the goldens."""
    return {
        key: json.loads(path.read_text("utf-8")) if key.endswith("ary") else path
        for key, file in MarianTokenizer.files.items()
        if (path := GOLDEN / name / file).is_file()
    }


@pytest.fixture(scope="module")
def tokenizers():
    """Both tokenizers of the goldens."""
    return {name: MarianTokenizer(**arguments(name)) for name in NAMES}


def strings(tensor):
    """A tensor of strings as list of str."""
    return [text.decode() for text in tensor.numpy()]


@pytest.mark.parametrize("name", NAMES)
def test_texts_have_the_ids_of_transformers(tokenizers, name):
    tokenizer, expected = tokenizers[name], EXPECTED[name]
    for side, call in (("source", tokenizer), ("target", tokenizer.targets)):
        for text, row in zip(expected["texts"], expected[side], strict=True):
            assert [*call([text]).to_list()[0], tokenizer.end_id] == row, text
    assert tokenizer.framing.end == (0,)


@pytest.mark.parametrize("name", NAMES)
def test_ids_have_the_texts_of_transformers(tokenizers, name):
    tokenizer, expected = tokenizers[name], EXPECTED[name]
    ids = tf.ragged.constant(expected["ids"], tf.int32)
    assert strings(tokenizer.detokenize(ids)) == expected["written"]
    padded = ids.to_tensor(tokenizer.pad_id)
    assert strings(tokenizer.detokenize(padded)) == expected["written"]
    # Nothing after the end is read.
    more = tf.concat([padded, tf.ones((6, 3), tf.int32) * 3], axis=1)
    assert strings(tokenizer.detokenize(more)) == expected["written"]


def test_special_tokens(tokenizers):
    found = [
        (t.pad_id, t.start_id, t.end_id, t.unknown_id, t.vocabulary_size)
        for t in tokenizers.values()
    ]
    assert found == [(47, 47, 0, 1, 48), (22, 22, 0, 1, 39)]
    assert [t.target_vocabulary_size for t in tokenizers.values()] == [None, 35]
    for target, name in ((False, "vocabulary"), (True, "target_vocabulary")):
        for piece, id in arguments("separate")[name].items():
            assert tokenizers["separate"].id_to_token(id, target) == piece


def test_a_code_is_one_token_at_the_very_beginning_only(tokenizers):
    tokenizer = tokenizers["joint"]
    rows = tokenizer([">>de<< a", ">>xx<< a", " >>de<< a", "a >>de<<", ">>de a"])
    first = [row[0] for row in rows.to_list()]
    assert first[:2] == [45, 1] and 45 not in sum(rows.to_list()[2:], [])
    rest = tokenizer([" a", " a"]).to_list()
    assert [row[1:] for row in rows.to_list()[:2]] == rest
    assert tokenizer([">>de<<\na"]).to_list()[0][0] == 45


def test_unusual_texts_have_an_answer(tokenizers):
    tokenizer = tokenizers["joint"]
    texts = ["", "漢字", b"a\xff", "the cat " * 2500]
    empty, unknown, broken, long = tokenizer(texts).to_list()
    assert empty == [] and set(unknown) == {1} and broken[-1] == 1
    assert len(long) == 2500 * 6 and long[:6] == long[-6:] == [2, 37, 1, 34, 8, 17]
    # Special tokens in a text are plain text.
    assert {0, 47}.isdisjoint(tokenizer(["a </s> <pad>"]).to_list()[0])


@pytest.mark.parametrize("name", NAMES)
def test_files_are_those_of_a_preset_and_of_hugging_face(tokenizers, name):
    for file, content in tokenizers[name].to_files()[1].items():
        stored = (GOLDEN / name / file).read_bytes()
        if file.endswith(".spm"):
            assert content == stored
        else:
            assert json.loads(content) == json.loads(stored)


def test_wrong_files_raise_errors():
    good = arguments("separate")
    pieces = good["vocabulary"]
    missing = {k: v for k, v in pieces.items() if v != 5}
    repeated = {**pieces, "s": 6}
    for changes, message in (
        ({"source_model": b"x"}, "`model` must be a SentencePiece model"),
        ({"vocabulary": missing}, "from 0 without gaps. Received: 38 pieces with 38 "),
        ({"vocabulary": repeated}, "Received: 39 pieces with 38 ids"),
        ({"vocabulary": ["a"]}, r"Received: \['a'\]"),
        ({"vocabulary": {"</s>": "0"}}, "must be a dict of every piece to its id"),
        ({"vocabulary": {"</s>": 0, "a": 1}}, "one without <unk>, <pad>"),
        ({"target_vocabulary": arguments("joint")["vocabulary"]}, "same special token"),
    ):
        with pytest.raises(ValueError, match=message):
            MarianTokenizer(**{**good, **changes})
