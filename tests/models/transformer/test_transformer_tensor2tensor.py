"""Checkpoints of tensor2tensor: its own outputs, its options, and damaged files."""

import json

import numpy as np
import pytest
from places import GOLDENS
from transformer_golden import (
    check,
    compute,
    save_tensorflow,
    split_values,
    step_by_step,
)

import zoo
from zoo.checkpoint import open_checkpoint
from zoo.models.transformer import CONFIGS, TransformerConfig, weights
from zoo.models.transformer.tables import shapes

GOLDEN = dict(np.load(GOLDENS / "tensor2tensor.npz"))
TEXTS = json.loads((GOLDENS / "subword_tokenizer.json").read_text("utf-8"))
NAMES = ("pre_norm", "post_norm", "shared_input")
SOURCE, TARGET = GOLDEN["inputs"], GOLDEN["targets"]
SPACE = "transformer/body/target_space_embedding/kernel"
# A change of a field of the config, and the models whose outputs must change with it.
FAULTS = (
    ("num_heads", 1, NAMES),
    ("activation", "gelu", NAMES),
    ("positions", "paper", ("pre_norm", "shared_input")),
    ("first_position", 1, ("pre_norm", "shared_input")),
    ("scale_embeddings", False, ("pre_norm", "post_norm")),
    ("zero_padding", False, NAMES),
    ("layer_norm_epsilon", 1e-5, NAMES),
)


def arrays_of(name):
    """The variables of a golden model, dict of name to array."""
    return split_values(GOLDEN, name)


def outputs_of(name):
    """The golden outputs."""
    names = ("encoder_sequence_output", "token_logits")
    return {key: GOLDEN[f"{name}/outputs/{key}"] for key in names}


def write(directory, name="pre_norm", arrays=None, **options):
    """Writes a directory as tensor2tensor does; None leaves an option out."""
    directory.mkdir(exist_ok=True)
    values = {**json.loads(str(GOLDEN[f"{name}/hparams"])), **options}
    values = {key: value for key, value in values.items() if value is not None}
    (directory / "hparams.json").write_text(json.dumps(values))
    arrays = {"global_step": np.int64(7), **(arrays or arrays_of(name))}
    moved = np.zeros((32, 8), "float32")
    moved[8] = 0.1
    arrays |= {f"training/{SPACE}/Adam": moved, "losses_avg/x": np.float32(0)}
    save_tensorflow(directory / "model.ckpt-7", arrays)
    return directory


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Each golden model, converted, by its name."""
    root = tmp_path_factory.mktemp("tensor2tensor")
    spaces = {"shared_input": {"target_space_id": 31}}
    return {
        name: weights.read(write(root / name, name, **spaces.get(name, {})))
        for name in NAMES
    }


@pytest.mark.parametrize("name", NAMES)
def test_outputs_are_those_of_tensor2tensor(models, name):
    found = compute(models[name], SOURCE, TARGET)
    check(found, outputs_of(name), SOURCE != 0)


@pytest.mark.shown("num_heads-1-names0", "first_position-1-names3")
@pytest.mark.parametrize("field, value, names", FAULTS)
def test_the_goldens_see_every_field(models, field, value, names):
    for name in names:
        found = compute(models[name], SOURCE, TARGET, **{field: value})
        with pytest.raises(AssertionError):
            check(found, outputs_of(name), SOURCE != 0)


@pytest.mark.parametrize("name", NAMES)
def test_decoding_starts_with_the_zero_vector(models, name):
    found = step_by_step(models[name], SOURCE, TARGET)
    expected = outputs_of(name)["token_logits"]
    np.testing.assert_allclose(found, expected, 0, 5e-6)


def test_config_says_what_the_options_say(models):
    config = models["pre_norm"].config
    assert (config.num_encoder_layers, config.num_decoder_layers) == (2, 1)
    assert (config.dropout, config.attention_dropout) == (0.1, 0.1)
    assert config.activation_dropout == 0.1 and config.norm_first
    assert config.max_sequence_length == 512 and config.tied_output
    config = models["post_norm"].config
    assert (config.vocabulary_size, config.target_vocabulary_size) == (13, 17)
    assert (config.num_encoder_layers, config.max_sequence_length) == (1, 9)
    assert (config.dropout, config.attention_dropout) == (0.1, 0.0)
    assert not config.norm_first and not config.tied_output and not config.target_space
    config = models["shared_input"].config
    assert config.target_vocabulary_size is None and not config.tied_output


def test_target_space_is_told_by_the_options_or_by_the_optimizer(tmp_path):
    vector = "target_space_embedding/embeddings"
    stored = arrays_of("pre_norm")[SPACE]
    for number, told in (({}, 8), ({"target_space_id": 3}, 3)):
        found = weights.read(write(tmp_path, **number))
        np.testing.assert_array_equal(found.weights[vector], stored[[told]])
    # The default of tensor2tensor
    save_tensorflow(tmp_path / "model.ckpt-7", arrays_of("pre_norm"))
    found = weights.read(tmp_path, "tensor2tensor")
    np.testing.assert_array_equal(found.weights[vector], stored[[3]])
    (tmp_path / "hparams.json").write_text(str(GOLDEN["pre_norm/hparams"]))
    found = weights.read(tmp_path)
    np.testing.assert_array_equal(found.weights[vector], stored[[0]])


@pytest.mark.slow
def test_a_directory_becomes_a_translator(tmp_path):
    arrays, size = arrays_of("post_norm"), len(TEXTS["subtokens"])
    generator = np.random.default_rng(0)
    for kind in ("input_emb", "target_emb", "softmax"):
        for number in range(3):
            key = f"symbol_modality_{(13, 17)[kind != 'input_emb']}_8/{kind}"
            arrays.pop(f"transformer/{key}/weights_{number}")
        table = generator.normal(0, 0.3, (size, 8)).astype("float32")
        for number, part in enumerate(np.array_split(table, 3)):
            key = f"transformer/symbol_modality_{size}_8/{kind}/weights_{number}"
            arrays[key] = part
    write(tmp_path, "post_norm", arrays)
    lines = "".join(f"'{subtoken}'\n" for subtoken in TEXTS["subtokens"])
    (tmp_path / "vocab.translate_x.64.subwords").write_bytes(lines.encode())
    model = zoo.from_preset(tmp_path)
    assert isinstance(model, zoo.Translator)
    assert model.tokenizer(TEXTS["texts"]).to_list() == TEXTS["tiny"]
    assert model.options["generation"]["penalty"] == "gnmt"
    (written,) = model.translate(["the them"], max_new_tokens=4, num_beams=2)
    assert isinstance(written, str)
    again = model.save_to_preset(tmp_path / "zoo") or zoo.from_preset(tmp_path / "zoo")
    assert again.translate(["the them"], max_new_tokens=4, num_beams=2) == [written]


@pytest.mark.parametrize(
    "options, message",
    [
        ({"norm_type": "noam"}, "`norm_type` must be 'layer'"),
        ({"self_attention_type": "dot_product_relative"}, "`self_attention_type`"),
        ({"ffn_layer": "local_moe"}, "`ffn_layer`"),
        ({"proximity_bias": True}, "`proximity_bias` must be False"),
        ({"unidirectional_encoder": True}, "`unidirectional_encoder`"),
        ({"causal_decoder_self_attention": False}, "`causal_decoder_self_attention`"),
        ({"prepend_mode": "prepend_inputs_full_attention"}, "`prepend_mode`"),
        ({"attention_variables_3d": True}, "`attention_variables_3d`"),
        ({"hard_attention_k": 2}, "`hard_attention_k`"),
        ({"num_area_layers": 1}, "`num_area_layers`"),
        ({"symbol_modality_skip_top": True}, "`symbol_modality_skip_top`"),
        ({"attention_key_channels": 4}, "`attention_key_channels` must be 0 or 8"),
        ({"attention_value_channels": 4}, "`attention_value_channels` must be 0 or 8"),
        ({"layer_preprocess_sequence": "nd"}, "`layer_preprocess_sequence` and"),
        ({"layer_postprocess_sequence": "dan"}, "`layer_preprocess_sequence` and"),
        ({"pos": "none"}, "`pos` must be 'timing' or 'emb'"),
        ({"multiply_embedding_mode": "rescale"}, "`multiply_embedding_mode`"),
        ({"target_space_id": 32}, r"`target_space_id` must be in \[0, 32\)"),
        ({"max_length": "x"}, "hparams.json` cannot be used: TypeError"),
        ({"hidden_size": None}, "must have the values hidden_size"),
        ({"num_hidden_layers": None}, "must have the values num_hidden_layers"),
        ({"num_heads": 3}, "`num_heads` must divide"),
        ({"num_heads": "2"}, "`num_heads` of .* must be an integer"),
        ({"num_hidden_layers": 3}, "a model with more than the 1948 values"),
        ({"num_hidden_layers": 1}, "unused: 'transformer/body/encoder/layer_1"),
        ({"filter_size": 11}, "shape: 'encoder_block_0/intermediate/kernel'"),
    ],
)
def test_other_options_are_refused(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        weights.read(write(tmp_path, **options))


def test_tables_must_be_complete_and_have_one_meaning(tmp_path):
    arrays = arrays_of("pre_norm")
    table = "transformer/symbol_modality_17_8/shared/weights_"
    other = {"transformer/symbol_modality_2_8/shared/weights_0": np.zeros((2, 8), "f")}
    for message, changed in (
        ("17 rows together", {**arrays, f"{table}3": arrays[f"{table}3"][:0]}),
        ("one table of the sou", {k: v for k, v in arrays.items() if table not in k}),
        ("does not say which of them", {**arrays, **other}),
    ):
        with pytest.raises(ValueError, match=message):
            weights.read(write(tmp_path, arrays=changed))
    write(tmp_path)
    (tmp_path / "vocab.x.17.subwords").write_text("'a'\n" * 16)
    with pytest.raises(ValueError, match="must have a line for every row"):
        weights.read(tmp_path)


def test_published_configurations_have_the_published_sizes():
    """The paper says 65 and 213 million weights, with 37000 tokens."""
    sizes = {}
    for name, fields in CONFIGS.items():
        config = TransformerConfig(**fields)
        sizes[name] = sum(int(np.prod(s)) for s in shapes(config).values())
    assert sizes["transformer_base_v1"] == 63_045_632
    assert sizes["transformer_big_v1"] == 214_171_648
    # Two more norms
    assert sizes["transformer_base_v2"] == sizes["transformer_base_v1"] + 4 * 512
    assert sizes["transformer_big"] == sizes["transformer_big_v1"] + 4 * 1024


@pytest.mark.usefixtures("eagerly")
@pytest.mark.external
def test_the_checkpoint_of_its_test_data(shared):
    directory = shared / "oracles" / "t2t_toy"
    found = weights.read(directory)
    assert found.layout == "tensor2tensor"
    config, stored = found.config, open_checkpoint(directory)
    assert (config.vocabulary_size, config.hidden_dim, config.num_heads) == (
        8190,
        16,
        2,
    )
    assert config.norm_first and config.target_space and config.tied_output
    names = [name for name in stored if name.startswith("transformer/")]
    rows = sum(stored[name].size for name in names) - 31 * 16
    assert rows == sum(array.size for array in found.weights.values())
    table = found.weights["token_embedding/embeddings"]
    shard = stored["transformer/symbol_modality_8190_16/shared/weights_2"]
    np.testing.assert_array_equal(table[1024:1536], shard)
    space = found.weights["target_space_embedding/embeddings"]
    np.testing.assert_array_equal(space[0], stored[SPACE][8])  # German tokens
    model = zoo.from_preset(directory)
    assert model.tokenizer.vocabulary_size == 8190
    texts = model.translate(["The cat sat.", "Über 3 Mio."], max_new_tokens=5)
    assert all(isinstance(text, str) for text in texts)
