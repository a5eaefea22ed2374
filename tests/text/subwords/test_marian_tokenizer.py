"""Marian's texts: pieces of SentencePiece with the ids of a vocabulary."""

import json
import pickle

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
            assert [*call(text).numpy(), tokenizer.end_id] == row
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
    empty, unknown, broken, long = tokenizer(
        ["", "漢字", b"a\xff", "the cat " * 2500]
    ).to_list()
    assert empty == [] and set(unknown) == {1} and broken[-1] == 1
    assert len(long) == 2500 * 6 and long[:6] == long[-6:] == [2, 37, 1, 34, 8, 17]
    # Special tokens in a text are plain text.
    assert {0, 47}.isdisjoint(tokenizer(["a </s> <pad>"]).to_list()[0])
    assert strings(tokenizer.detokenize(tf.zeros((2, 0), tf.int32))) == ["", ""]
    assert tokenizer(tf.zeros((0,), tf.string)).shape[0] == 0


def test_computes_the_same_in_a_graph_and_in_an_exported_model(tokenizers, tmp_path):
    tokenizer, texts = tokenizers["separate"], EXPECTED["separate"]["texts"]
    module = tf.Module()
    module.tokenizer = tokenizer

    @tf.function(input_signature=[tf.TensorSpec((None,), tf.string)])
    def call(texts):
        return tokenizer(texts).to_tensor(-1), tokenizer.targets(texts).to_tensor(-1)

    @tf.function(input_signature=[tf.TensorSpec((None, None), tf.int32)])
    def join(ids):
        return tokenizer.detokenize(ids)

    module.call, module.join = call, join
    expected = [s(texts).to_tensor(-1) for s in (tokenizer, tokenizer.targets)]
    for found, other in zip(module.call(tf.constant(texts)), expected, strict=True):
        tf.debugging.assert_equal(found, other)
    batches = tf.data.Dataset.from_tensors(texts).map(tokenizer)
    assert next(iter(batches)).to_list() == tokenizer(texts).to_list()
    tf.saved_model.save(module, str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    for found, other in zip(loaded.call(tf.constant(texts)), expected, strict=True):
        tf.debugging.assert_equal(found, other)
    ids = tf.ragged.constant(EXPECTED["separate"]["ids"], tf.int32).to_tensor()
    assert strings(loaded.join(ids)) == EXPECTED["separate"]["written"]


@pytest.mark.parametrize("name", NAMES)
def test_is_restored_from_its_config_its_files_and_its_pickle(tokenizers, name):
    tokenizer = tokenizers[name]
    config = json.loads(json.dumps(tokenizer.get_config()))
    plain, files = tokenizer.to_files()
    # The files are those of a preset, and of Hugging Face.
    for file, content in files.items():
        if file.endswith(".spm"):
            assert content == (GOLDEN / name / file).read_bytes()
        else:
            stored = json.loads((GOLDEN / name / file).read_text("utf-8"))
            assert json.loads(content) == stored
    texts = EXPECTED[name]["texts"]
    for other in (
        MarianTokenizer.from_config(config),
        MarianTokenizer.from_files(plain, files),
        pickle.loads(pickle.dumps(tokenizer)),
    ):
        assert other.get_config() == config
        assert other(texts).to_list() == tokenizer(texts).to_list()


def test_wrong_files_raise_errors(tmp_path):
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
    with pytest.raises(FileNotFoundError):
        MarianTokenizer(**{**good, "source_model": tmp_path / "source.spm"})
