"""Checkpoints of the model garden's Transformer: its options and its names."""

from foreign_files import assert_equal
from transformer_golden import converted, write_garden

from zoo.models.transformer import weights


def test_rates_of_dropout_are_read(tmp_path):
    """Outputs and arrays show all other fields of the config."""
    rates = {"dropout_rate": 0.1, "attention_dropout_rate": 0.2}
    write_garden(tmp_path, intermediate_dropout=0.3, **rates)
    config = weights.read(tmp_path).config
    assert (config.dropout, config.attention_dropout) == (0.1, 0.2)
    assert config.activation_dropout == 0.3


def test_the_root_of_the_checkpoint_may_be_the_model(tmp_path):
    found = weights.read(write_garden(tmp_path, prefix=""))
    assert_equal(found.weights, converted("model_garden norm_first").weights)
