"""Checkpoints of the model garden's Transformer: its own outputs, and other options."""

import json

import numpy as np
import pytest
from places import GOLDENS
from transformer_golden import (
    check,
    compute,
    save_objects,
    split_values,
    step_by_step,
)

from zoo.models.transformer import weights

GOLDEN = dict(np.load(GOLDENS / "transformer_model_garden.npz"))
NAMES = ("norm_first", "norm_after")
SOURCE, TARGET = GOLDEN["inputs"], GOLDEN["targets"]
FAULTS = (
    ("num_heads", 4, NAMES),
    ("activation", "gelu_tanh", ("norm_first",)),
    ("activation", "gelu", ("norm_after",)),
    ("positions", "paper", NAMES),
    ("first_position", 1, NAMES),
    ("scale_embeddings", False, NAMES),
    ("zero_padding", True, NAMES),
    ("layer_norm_epsilon", 1e-4, NAMES),
)


def write(directory, name="norm_first", arrays=None, prefix="model/", **options):
    """Writes a directory; None leaves an option out."""
    directory.mkdir(exist_ok=True)
    values = {**json.loads(str(GOLDEN[f"{name}/options"])), **options}
    values = {key: value for key, value in values.items() if value is not None}
    (directory / "transformer_config.json").write_text(json.dumps(values))
    arrays = split_values(GOLDEN, name) if arrays is None else arrays
    arrays = {prefix + key.removeprefix("model/"): v for key, v in arrays.items()}
    save_objects(directory, arrays)
    return directory


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Each golden model, converted, by its name."""
    root = tmp_path_factory.mktemp("model_garden")
    return {name: weights.read(write(root / name, name)) for name in NAMES}


def expected(name):
    """The golden outputs."""
    names = ("encoder_sequence_output", "token_logits")
    return {key: GOLDEN[f"{name}/{key}"] for key in names}


@pytest.mark.parametrize("name", NAMES)
def test_outputs_are_those_of_the_model_garden(models, name):
    found = compute(models[name], SOURCE, TARGET)
    check(found, expected(name), SOURCE != 0)


@pytest.mark.shown("num_heads-4-names0", "activation-gelu-names2")
@pytest.mark.parametrize("field, value, names", FAULTS)
def test_the_goldens_see_every_field(models, field, value, names):
    for name in names:
        found = compute(models[name], SOURCE, TARGET, **{field: value})
        with pytest.raises(AssertionError):
            check(found, expected(name), SOURCE != 0)


@pytest.mark.parametrize("name", NAMES)
def test_decoding_starts_with_the_first_row_of_the_table(models, name):
    found = step_by_step(models[name], SOURCE, TARGET)
    np.testing.assert_allclose(found, expected(name)["token_logits"], 0, 5e-6)


def test_config_says_what_shapes_and_options_say(tmp_path, models):
    config = models["norm_first"].config
    assert (config.num_encoder_layers, config.num_decoder_layers) == (1, 2)
    assert config.attention_bias and config.norm_first and config.ends_in_norm
    config = models["norm_after"].config
    assert not config.attention_bias and not config.norm_first and config.ends_in_norm
    rates = {"dropout_rate": 0.1, "attention_dropout_rate": 0.2}
    config = weights.read(write(tmp_path, intermediate_dropout=0.3, **rates)).config
    assert (config.dropout, config.attention_dropout) == (0.1, 0.2)
    assert config.activation_dropout == 0.3


def test_the_root_of_the_checkpoint_may_be_the_model(tmp_path, models):
    found = weights.read(write(tmp_path, prefix=""))
    for path, array in models["norm_first"].weights.items():
        np.testing.assert_array_equal(found.weights[path], array)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"norm_first": None}, "`norm_first` of .* must be true or false"),
        ({"activation": "leaky"}, "`activation` must be one of"),
        ({"norm_epsilon": 1e-12}, "`norm_epsilon` must be 1e-06"),
        ({"dropout_rate": 1.0}, r"`dropout_rate` of .* in \[0, 1\)"),
    ],
)
def test_other_options_are_refused(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        weights.read(write(tmp_path, **options))
