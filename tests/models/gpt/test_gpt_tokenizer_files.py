"""Tokenizers beside the weights of GPTs of Hugging Face."""

import dataclasses
import json

import pytest
from foreign_files import change_json, write_json
from gpt_golden import CONVERTED, GOLDEN, KINDS, copy, write_pair

import zoo
from zoo.models.gpt import read
from zoo.models.gpt.gpt_writing import write_hugging_face


def fast(directory, **changes):
    """A golden directory whose tokenizer.json has other values."""
    directory = copy("gpt2", directory)
    change_json(directory / "tokenizer.json", **changes)
    return directory


def template(*tokens):
    """A post-processor that puts tokens around a text A."""
    kinds = {"A": "Sequence"}
    single = [{kinds.get(t, "SpecialToken"): {"id": t, "type_id": 0}} for t in tokens]
    return {"type": "TemplateProcessing", "single": single}


@pytest.mark.parametrize("kind", KINDS)
def test_both_forms_of_a_tokenizer_are_read(kind, tmp_path):
    expected = CONVERTED[kind].tokenizer
    directory = copy(kind, tmp_path, "config.json", "model.safetensors")
    write_pair(kind, directory, "vocab.json", "merges.txt")
    assert read(directory).tokenizer == expected
    pad = {"[PAD]": len(expected["vocabulary"])}
    write_json(directory / "added_tokens.json", **pad)
    if kind == "gpt1":  # its table has no more rows
        with pytest.raises(ValueError, match="Received: 24 tokens and 23 rows"):
            read(directory)
    else:
        with pytest.warns(UserWarning, match=r"the added tokens \[PAD\]. In a text"):
            assert read(directory).tokenizer["vocabulary"][-1] == "[PAD]"
    (directory / "added_tokens.json").unlink()
    (directory / "merges.txt").unlink()
    with pytest.raises(FileNotFoundError, match="or neither of them.*only vocab.json"):
        read(directory)


def test_rows_may_begin_with_a_token(tmp_path):
    rule = template("<|endoftext|>", "A")
    directory = fast(tmp_path, post_processor=rule)
    assert read(directory).tokenizer["start_token"] is True
    rules = {"type": "Sequence", "processors": [rule, {"type": "ByteLevel"}]}
    change_json(directory / "tokenizer.json", post_processor=rules)
    assert read(directory).tokenizer["start_token"] is True
    model = zoo.from_preset(directory)
    assert model.tokenizer.framing.begin == (256,)
    (directory / "tokenizer.json").unlink()
    write_pair("gpt2", directory, "vocab.json", "merges.txt")
    assert read(directory).tokenizer["start_token"] is False
    (directory / "tokenizer_config.json").write_text('{"add_bos_token": true}')
    assert read(directory).tokenizer["start_token"] is True
    contents = dataclasses.replace(read(directory), heads=())
    write_hugging_face(tmp_path / "new", contents)
    assert read(tmp_path / "new").tokenizer["start_token"] is True


def test_merges_may_be_strings(tmp_path):
    """As in files of before 2024, which also lack some options."""
    expected = CONVERTED["gpt2"].tokenizer
    changes = model_with(merges=list(expected["merges"]))
    del changes["model"]["type"]
    splitter = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    post = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False}
    directory = fast(tmp_path, **changes, pre_tokenizer=splitter, post_processor=post)
    assert read(directory).tokenizer == expected


def model_with(**changes):
    """The model of the golden tokenizer.json with other values."""
    values = json.loads((GOLDEN / "gpt2" / "tokenizer.json").read_text())["model"]
    return {"model": {**values, **changes}}


def lacking(*tokens):
    """A model without some tokens; the ids have no gaps."""
    vocabulary = model_with()["model"]["vocab"]
    kept = [token for token in vocabulary if token not in tokens]
    found = model_with(vocab={token: i for i, token in enumerate(kept)})
    return {**found, "added_tokens": []}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (model_with(type="WordPiece"), "it is of type 'WordPiece'"),
        ({"pre_tokenizer": {"type": "Metaspace"}}, "it splits texts by 'Metaspace'"),
        ({"pre_tokenizer": None}, "it splits texts by None"),
        (
            {"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": True}},
            "it adds a space before each text",
        ),
        ({"normalizer": {"type": "NFC"}}, "it normalizes texts"),
        (lacking("<|endoftext|>"), "its vocabulary lacks '<|endoftext|>'"),
        (
            {"post_processor": template("A", "<|endoftext|>")},
            r"it adds other tokens to a text A: \['A', '<.endoftext.>'\]",
        ),
        (
            {"post_processor": {"type": "Sequence", "processors": [template("a")] * 2}},
            "it adds other tokens to a text A: None",
        ),
        ({"post_processor": {"type": "RobertaProcessing"}}, "it adds other tokens"),
    ],
)
def test_other_tokenizers_are_left_out_with_a_warning(tmp_path, changes, message):
    directory = fast(tmp_path, **changes)
    with pytest.warns(UserWarning, match=message):
        assert read(directory).tokenizer is None


def test_slow_tokenizers_of_other_kinds(tmp_path):
    directory = copy("gpt2", tmp_path, "config.json", "model.safetensors")
    path = directory / "tokenizer_config.json"
    path.write_text('{"tokenizer_class": "BertTokenizer"}')
    with pytest.warns(UserWarning, match="a BertTokenizer without vocab.json and merg"):
        assert read(directory).tokenizer is None
    path.write_text('{"add_prefix_space": true}')
    write_pair("gpt2", directory, "vocab.json", "merges.txt")
    with pytest.warns(UserWarning, match="it adds a space before each text"):
        assert read(directory).tokenizer is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (model_with(vocab={"a": 0, "b": 0}), "to the ids 0, 1, 2 and so on"),
        (model_with(vocab={"a": "0"}), "to the ids 0, 1, 2 and so on"),
        (model_with(vocab=["a"]), "must hold a vocabulary and merges.*TypeError"),
        (model_with(merges=[["a"]]), "must hold a vocabulary and merges.*IndexError"),
        ({"added_tokens": [{"id": 1}]}, "must hold a vocabulary.*KeyError: 'content'"),
        ({"model": None}, "must hold a vocabulary and merges.*KeyError: 'vocab'"),
    ],
)
def test_damaged_tokenizers_are_refused(tmp_path, changes, message):
    directory = fast(tmp_path, **changes)
    with pytest.raises(ValueError, match=message) as raised:
        read(directory)
    assert "tokenizer.json" in str(raised.value)
