"""Checkpoints of OpenNMT-tf: its own outputs, vocabularies, and other options."""

import json

import numpy as np
import pytest
from places import GOLDENS
from transformer_golden import check, compute, save_objects, split_values

import zoo
from zoo.models.transformer import weights

GOLDEN = dict(np.load(GOLDENS / "transformer_opennmt.npz"))
NAMES = ("pre_norm", "post_norm", "shared", "shared_input")
SOURCE, READ = GOLDEN["inputs"], GOLDEN["targets"]
TOKENS = {
    "source": ["<blank>", "<s>", "</s>", *"abcdefg"],
    "target": ["<blank>", "<s>", "</s>", *"uvwxyz"],
}
FAULTS = (
    ("num_heads", 4, NAMES),
    ("activation", "gelu_tanh", ("pre_norm",)),
    ("activation", "gelu", NAMES[1:]),
    ("positions", "paper", NAMES),
    ("first_position", 0, NAMES),
    ("scale_embeddings", False, NAMES),
    ("layer_norm_epsilon", 1e-5, NAMES),
)


def write(directory, name="pre_norm", arrays=None, **options):
    """Writes a directory; None leaves an option out."""
    directory.mkdir(exist_ok=True)
    given = json.loads(str(GOLDEN[f"{name}/options"]))
    values = {"num_heads": 2}
    if "ffn_activation" in given:
        values["ffn_activation"] = given["ffn_activation"]
    values = {k: v for k, v in {**values, **options}.items() if v is not None}
    (directory / "transformer_config.json").write_text(json.dumps(values))
    save_objects(directory, split_values(GOLDEN, name) if arrays is None else arrays)
    return directory


def write_vocabularies(directory):
    """Writes both vocabularies, without the unknown token."""
    for side, tokens in TOKENS.items():
        text = "".join(f"{token}\n" for token in tokens)
        (directory / f"{side}_vocabulary.txt").write_text(text)


def outputs(converted, name, **changes):
    """Our outputs and the golden ones; the decoder reads `READ`."""
    # `compute` puts the start before the target, and drops its last token.
    target = np.concatenate([READ[:, 1:], READ[:, :1]], axis=1)
    found = compute(converted, SOURCE, target, start=1, **changes)
    expected = {key: GOLDEN[f"{name}/{key}"] for key in found}
    # A target is not padded in front of its end; what follows is of no interest.
    inside = (READ != 0)[..., None]
    for logits in (found, expected):
        logits["token_logits"] = logits["token_logits"] * inside
    return found, expected, SOURCE != 0


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Each golden model, converted, by its name."""
    root = tmp_path_factory.mktemp("opennmt")
    return {name: weights.read(write(root / name, name)) for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_outputs_are_those_of_opennmt(models, name):
    check(*outputs(models[name], name))


@pytest.mark.shown("activation-gelu-names2", "activation-gelu_tanh-names1")
@pytest.mark.parametrize("field, value, names", FAULTS)
def test_the_goldens_see_every_field(models, field, value, names):
    for name in names:
        with pytest.raises(AssertionError):
            check(*outputs(models[name], name, **{field: value}))


def test_config_says_what_shapes_and_options_say(models, tmp_path):
    config = models["pre_norm"].config
    assert (config.num_encoder_layers, config.num_decoder_layers) == (1, 2)
    assert (config.vocabulary_size, config.target_vocabulary_size) == (11, 10)
    assert config.norm_first and config.attention_bias and config.output_bias
    assert not config.tied_output and config.layer_norm_epsilon == 1e-3
    config = models["post_norm"].config
    assert not config.norm_first and not config.attention_bias
    assert config.tied_output and not config.output_bias
    config = models["shared"].config
    assert config.target_vocabulary_size is None and config.tied_output
    assert not models["shared_input"].config.tied_output
    rates = {"dropout": 0.2, "attention_dropout": 0.3, "ffn_dropout": 0.4}
    config = weights.read(write(tmp_path, **rates)).config
    assert (config.dropout, config.attention_dropout) == (0.2, 0.3)
    assert config.activation_dropout == 0.4


@pytest.mark.slow
def test_a_directory_becomes_a_translator(tmp_path):
    write_vocabularies(write(tmp_path))
    model = zoo.from_preset(tmp_path)
    assert isinstance(model, zoo.Translator)
    assert model.tokenizer(["a g x"]).to_list() == [[3, 9, 10]]
    assert model.tokenizer.targets(["u z a"]).to_list() == [[3, 8, 9]]
    assert model.tokenizer.framing == ((), (), ())
    assert model.options["smoothing_kind"] == "uniform"
    (text,) = model.translate(["a b c"], max_new_tokens=5)
    assert {*text.split()} <= {*TOKENS["target"], "<unk>"}


@pytest.mark.parametrize(
    "options, message",
    [
        ({"num_heads": None}, "`num_heads` of .* must be an integer"),
        ({"num_heads": 3}, "`num_heads` must divide"),
        ({"ffn_activation": "elu"}, "`ffn_activation` must be one of"),
    ],
)
def test_other_options_are_refused(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        weights.read(write(tmp_path, **options))


def test_vocabularies_must_fit_the_model(tmp_path):
    write_vocabularies(write(tmp_path))
    (tmp_path / "target_vocabulary.txt").write_text("<blank>\n<s>\n</s>\n")
    with pytest.raises(ValueError, match="of the target must have 10 tokens"):
        weights.read(tmp_path)
