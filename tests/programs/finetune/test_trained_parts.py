"""Frozen groups, LoRA, and weights of labels, from the command line."""

import json

import numpy as np
import pytest
import tiny

import zoo
from zoo.commands.option_values import parse_weights
from zoo.layers import is_lora
from zoo.programs.finetune.trained_parts import train_parts


@pytest.fixture
def model():
    return zoo.TextClassifier(*tiny_parts(), labels=tiny.LABELS)


def tiny_parts():
    from zoo.models.bert import BERT, BERTConfig
    from zoo.text import WordPieceTokenizer

    return BERT(BERTConfig(**tiny.CONFIG)), WordPieceTokenizer(tiny.VOCABULARY)


def parts_of(model):
    """The first parts of the names of what is trained, a set."""
    return {weight.path.split("/")[0] for weight in model.trainable_weights}


def test_groups_are_frozen_by_the_name_of_a_layer(model):
    train_parts(model, ["position_embedding", "block_0"])
    assert parts_of(model) == {"block_1", "pooler", "classifier"}
    train_parts(model, ["all"])
    assert parts_of(model) == {"pooler", "classifier"}


def test_lora_leaves_the_head(model):
    train_parts(model, lora=2)
    trained = model.trainable_weights
    head = {w.path for w in trained if not is_lora(w)}
    assert {path.split("/")[0] for path in head} == {"classifier"}
    assert len(trained) > 10


def test_lora_layers_need_a_rank(model):
    train_parts(model, lora=2, lora_layers=("query",))
    names = {w.path.split("/")[2] for w in model.trainable_weights if is_lora(w)}
    assert names == {"query"}
    with pytest.raises(ValueError, match="`lora_layers` needs a rank. Received: "):
        train_parts(model, lora_layers=("query",))


@pytest.mark.parametrize("name", ["block_9", "classifier", ""])
def test_unknown_layers_are_errors(model, name):
    with pytest.raises(ValueError, match=f"`freeze` must name .* Received: '{name}'"):
        train_parts(model, [name])


@pytest.mark.parametrize(
    "values, wanted",
    [
        ((), None),
        (("balanced",), "balanced"),
        (("good=2", "a=b=0.5"), {"good": 2.0, "a=b": 0.5}),
    ],
)
def test_forms_of_weights(values, wanted):
    assert parse_weights(None, None, values) == wanted


@pytest.mark.parametrize("value", ["good", "good=", "=2", "good=x", "balance"])
def test_wrong_weights(value):
    with pytest.raises(ValueError, match="`--class-weight` must be balanced, or"):
        parse_weights(None, None, (value,))


@pytest.mark.slow
@pytest.mark.parametrize(
    "weight, wanted", [("good=2", {"good": 2.0}), ("balanced", "balanced")]
)
@pytest.mark.parametrize("sets", [False, True], ids=["labels", "sets"])
def test_finetune_takes_them(sets, weight, wanted, tmp_path):
    import click.testing

    from zoo.commands.main import main

    backbone, tokenizer = tiny_parts()
    backbone.tokenizer = tokenizer
    backbone.save_to_preset(tmp_path / "preset")
    texts, labels = tiny.make_texts(40, seed=1)
    if sets:
        labels = [*labels[:-2], "good|bad", ""]
    rows = [f"{text}\t{label}" for text, label in zip(texts, labels, strict=True)]
    (tmp_path / "a.tsv").write_text("\n".join(["text\tlabel", *rows]) + "\n")
    output = tmp_path / "a.keras"
    command = ["finetune", str(tmp_path / "preset"), "--data", str(tmp_path / "a.tsv")]
    command += ["--output", str(output), "--epochs", "1", "--freeze", "block_0"]
    command += ["--class-weight", weight, "--lora", "2", "--lora-layers", "value"]
    command += ["--separator", "|"] if sets else []
    result = click.testing.CliRunner().invoke(main, command)
    assert result.exit_code == 0, result.output
    report = json.loads((tmp_path / "a_report/report.json").read_text())
    settings = report["settings"]
    assert settings["class weight"] == wanted and settings["lora"] == 2
    assert settings["lora layers"] == ["value"]
    assert settings["freeze"] == ["block_0"]
    model = zoo.load_model(output)
    assert model.options.get("multi_label", False) == sets
    found = model.backbone.get_layer("block_0").get_weights()
    for a, b in zip(found, backbone.get_layer("block_0").get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)
