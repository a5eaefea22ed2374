"""Tokenizers beside the weights of BERTs of Hugging Face."""

import json

import pytest
from bert_golden import change_json, copy

from zoo.models.bert.weights import read


@pytest.mark.parametrize(
    ("name", "option", "value"),
    (
        ("config.json", "tokenizer_class", "BertJapaneseTokenizer"),
        ("tokenizer_config.json", "word_tokenizer_type", "mecab"),
        ("tokenizer_config.json", "subword_tokenizer_type", "character"),
    ),
)
def test_files_that_name_another_tokenizer(tmp_path, name, option, value):
    copy(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text("{}")
    change_json(tmp_path / name, **{option: value})
    with pytest.raises(ValueError, match=f"must be one of .*Received: .*{value}"):
        read(tmp_path)
    (tmp_path / "tokenizer_config.json").unlink()
    (tmp_path / "vocab.txt").unlink()
    assert read(tmp_path).tokenizer is None


def test_what_tokenizer_json_does_otherwise_is_refused(tmp_path):
    tokens = read(copy(tmp_path)).tokenizer["vocabulary"]
    model = {"vocab": {token: i for i, token in enumerate(tokens)}}
    parts = (("SpecialToken", "[CLS]"), ("Sequence", "A"), ("SpecialToken", "[SEP]"))
    single = [{kind: {"id": name, "type_id": 0}} for kind, name in parts]
    rule = {"type": "TemplateProcessing", "single": single}
    for changes, message in (
        ({"post_processor": rule}, None),
        ({"model": {**model, "unk_token": "<unk>"}}, "'unk_token': '<unk>'"),
        ({"model": {**model, "continuing_subword_prefix": "@"}}, "prefix': '@'"),
        ({"post_processor": None}, "'post_processor': None"),
        ({"post_processor": {**rule, "single": single[:2]}}, r"': '\[CLS\] A'"),
    ):
        values = {"model": model, **changes}
        (tmp_path / "tokenizer.json").write_text(json.dumps(values))
        if message is None:
            assert read(tmp_path).tokenizer["vocabulary"] == tokens
            continue
        with pytest.raises(ValueError, match=message):
            read(tmp_path)
