"""Directories of several models, and of models that zoo does not read; `zoo info`."""

import json
import shutil

import huggingface_hub
import pytest
import tiny
from command_line import run

import zoo
from zoo.presets.directories import stored_layers
from zoo.registry import build_backbone, describe
from zoo.text import WordPieceTokenizer

CONFIG = {**tiny.CONFIG, "num_layers": 1, "vocabulary_size": len(tiny.VOCABULARY)}


@pytest.fixture(scope="module")
def backbone():
    """A tiny BERT with its tokenizer."""
    backbone = build_backbone("bert", CONFIG)
    backbone.tokenizer = WordPieceTokenizer(tiny.VOCABULARY)
    return backbone


@pytest.fixture(scope="module")
def elmos(tmp_path_factory):
    """Directory of two ELMos in the published layout, "a" and "b"."""
    root = tmp_path_factory.mktemp("elmos")
    for name in ("a", "b"):
        elmo = build_backbone("elmo", {**tiny.ELMO_CONFIG, "num_layers": 1})
        elmo.save_to_preset(root / name, "hdf5")
    return root


# Several checkpoints ------------------------------------------------------------------


def test_options_belong_to_the_file_of_their_name(elmos, tmp_path):
    directory = tmp_path / "both"
    directory.mkdir()
    for name in ("a", "b"):
        for file in ("weights.hdf5", "options.json"):
            shutil.copy(elmos / name / file, directory / f"{name}_{file}")
    elmo = zoo.from_preset(directory, file="b_weights.hdf5")
    assert elmo.config.lstm_dim == tiny.ELMO_CONFIG["lstm_dim"]
    (directory / "b_options.json").rename(directory / "c_options.json")
    with pytest.raises(FileNotFoundError, match="need one options.json"):
        zoo.from_preset(directory, file="b_weights.hdf5")


def test_one_of_several_layouts_is_chosen(backbone, tmp_path):
    backbone.save_to_preset(tmp_path / "p", "hugging_face")
    backbone.save_to_preset(tmp_path / "own")
    for path in (tmp_path / "own").iterdir():
        shutil.copy(path, tmp_path / "p")
    assert describe(tmp_path / "p")["layout"] == "zoo"
    assert describe(tmp_path / "p", "hugging_face")["layout"] == "hugging_face"
    zoo.from_preset(tmp_path / "p", layout="hugging_face", file="model.safetensors")
    with pytest.raises(ValueError, match="that .* holds: zoo, hugging_face. Received"):
        zoo.from_preset(tmp_path / "p", layout="keras_nlp")
    with pytest.raises(ValueError, match="`file` must be None for a preset of the"):
        zoo.from_preset(tmp_path / "p", file="weights.safetensors")
    with pytest.raises(ValueError, match="of .*: model.safetensors. Received: 'x'"):
        zoo.from_preset(tmp_path / "p", layout="hugging_face", file="x")


# `zoo info` ---------------------------------------------------------------------------


def info(*arguments, code=0):
    """What `zoo info` prints."""
    return run("info", *arguments, code=code)


def test_info_describes_a_directory_of_ours(backbone, tmp_path):
    tokenizer = backbone.tokenizer
    task = zoo.TextClassifier(backbone, tokenizer, labels=tiny.LABELS)
    task.save_to_preset(tmp_path / "p")
    found = json.loads(info(tmp_path / "p"))
    assert found["family"] == "bert" and found["layout"] == "zoo"
    assert found["config"]["hidden_dim"] == 16 and found["heads"] == []
    assert found["task"]["name"] == "text_classifier"
    assert found["task"]["options"]["labels"] == tiny.LABELS
    assert found["tokenizer"]["class_name"] == "WordPieceTokenizer"
    assert found["tokenizer"]["tokens"] == len(tiny.VOCABULARY)
    assert found["parameters"] == task.count_params()


def test_info_describes_directories_of_other_programs(backbone, elmos, tmp_path):
    head = zoo.MaskedLM(backbone, backbone.tokenizer)
    head.save_to_preset(tmp_path / "p", "hugging_face")
    found = json.loads(info(tmp_path / "p"))
    assert found["layout"] == "hugging_face" and found["task"] is None
    assert found["heads"] == ["masked_lm_head"]
    found = json.loads(info(elmos / "a", "--from", "hdf5"))
    assert (found["family"], found["layout"]) == ("elmo", "hdf5")


def test_info_of_a_damaged_directory_is_the_error_of_from_preset(backbone, tmp_path):
    backbone.save_to_preset(tmp_path / "p")
    path = tmp_path / "p" / "preset.json"
    path.write_text(path.read_text().replace('"hidden_dim": 16', '"hidden_dim": "x"'))
    with pytest.raises(ValueError) as raised:
        zoo.from_preset(tmp_path / "p")
    assert info(tmp_path / "p", code=1) == f"Error: {raised.value}\n"


def test_info_of_a_published_preset_downloads_nothing(monkeypatch, tmp_path):
    monkeypatch.setenv("ZOO_HOME", str(tmp_path))
    asked = []

    def absent(repository, allow_patterns, local_files_only=False):
        asked.append(local_files_only)
        raise huggingface_hub.errors.LocalEntryNotFoundError("Not cached.")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", absent)
    monkeypatch.setattr("urllib.request.urlopen", None)
    for name in ("bert_base_en_uncased", "bert_mini_en_uncased"):
        assert json.loads(info(name))["source"]
    output = info("hf://google-bert/bert-base-cased", code=1)
    assert "is not on this machine. `zoo.from_preset` downloads it." in output
    assert asked and all(asked)


def test_info_of_a_shipped_preset_is_its_record_and_its_layers():
    found = json.loads(info("bert_mini_en_uncased_books"))
    assert found["licence"] and found["layout"] == "zoo" and "config" not in found
    assert {"masked_lm_head", "next_sentence", "block_3"} <= {*found["layers"]}


# Models that zoo does not read --------------------------------------------------------

KERAS_HUB = {"class_name": "GPT2Backbone", "registered_name": "keras_hub>GPT2Backbone"}


@pytest.mark.parametrize(
    "files, message",
    [
        ({"config.json": {"model_type": "gpt2"}}, "a gpt2 of Hugging Face, which zoo"),
        ({"config.json": {"model_type": "roberta"}}, "a roberta of Hugging Face"),
        ({"config.json": {"model_type": "bert"}}, "a bert of .* without its weights"),
        ({"config.json": KERAS_HUB}, "a GPT2Backbone of keras-nlp"),
        ({"dict.txt": {}, "checkpoint_best.pt": {}}, "a model of fairseq"),
        ({"model_step_1000.pt": {}}, "a model of OpenNMT-py"),
        ({"saved_model.pb": {}}, "a SavedModel of TensorFlow"),
        ({"x": {}}, r"no preset that zoo can read.*Received: \['x'\]"),
        ({"config.json": {"model_type": {}}}, "no preset that zoo can read"),
        ({}, r"no preset that zoo can read.*Received: \[\]"),
    ],
)
def test_what_is_not_read_is_named(tmp_path, files, message):
    for name, content in files.items():
        (tmp_path / name).write_text(json.dumps(content))
    with pytest.raises((FileNotFoundError, ValueError), match=message) as raised:
        zoo.from_preset(tmp_path)
    assert str(tmp_path) in str(raised.value)


@pytest.mark.parametrize("content", [b"", b"\xff" * 99, b"\2\0\0\0\0\0\0\0[]"])
def test_a_damaged_file_of_weights_is_named(content, tmp_path):
    (tmp_path / "weights.safetensors").write_bytes(content)
    with pytest.raises(ValueError, match="must be a complete file of safetensors"):
        stored_layers(tmp_path / "weights.safetensors")
