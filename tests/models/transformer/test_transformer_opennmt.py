"""Checkpoints of OpenNMT-tf: vocabularies and options."""

import pytest
from transformer_golden import converted, write_opennmt

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


def test_config_says_what_shapes_and_options_say(tmp_path):
    config = converted("opennmt pre_norm").config
    assert (config.num_encoder_layers, config.num_decoder_layers) == (1, 2)
    assert (config.vocabulary_size, config.target_vocabulary_size) == (11, 10)
    assert config.norm_first and config.attention_bias and config.output_bias
    assert not config.tied_output and config.layer_norm_epsilon == 1e-3
    config = converted("opennmt post_norm").config
    assert not config.norm_first and not config.attention_bias
    assert config.tied_output and not config.output_bias
    config = converted("opennmt shared").config
    assert config.target_vocabulary_size is None and config.tied_output
    assert not converted("opennmt shared_input").config.tied_output
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
