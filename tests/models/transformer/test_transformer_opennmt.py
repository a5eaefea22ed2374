"""Checkpoints of OpenNMT-tf: vocabularies and options."""

import pytest
from transformer_golden import write_opennmt

import zoo
from zoo.models.transformer import weights

TOKENS = {
    "source": ["<blank>", "<s>", "</s>", *"abcdefg"],
    "target": ["<blank>", "<s>", "</s>", *"uvwxyz"],
}


def write_vocabularies(directory):
    """Writes both vocabularies, without the unknown token."""
    for side, tokens in TOKENS.items():
        text = "".join(f"{token}\n" for token in tokens)
        (directory / f"{side}_vocabulary.txt").write_text(text)


def test_rates_of_dropout_are_read(tmp_path):
    """Outputs and arrays show all other fields of the config."""
    rates = {"dropout": 0.2, "attention_dropout": 0.3, "ffn_dropout": 0.4}
    config = weights.read(write_opennmt(tmp_path, **rates)).config
    assert (config.dropout, config.attention_dropout) == (0.2, 0.3)
    assert config.activation_dropout == 0.4


@pytest.mark.slow
def test_a_directory_becomes_a_translator(tmp_path):
    write_vocabularies(write_opennmt(tmp_path))
    model = zoo.from_preset(tmp_path)
    assert isinstance(model, zoo.Translator)
    assert model.tokenizer(["a g x"]).to_list() == [[3, 9, 10]]
    assert model.tokenizer.targets(["u z a"]).to_list() == [[3, 8, 9]]
    assert model.tokenizer.framing == ((), (), ())
    assert model.options["smoothing_kind"] == "uniform"
    (text,) = model.translate(["a b c"], max_new_tokens=5)
    assert {*text.split()} <= {*TOKENS["target"], "<unk>"}
