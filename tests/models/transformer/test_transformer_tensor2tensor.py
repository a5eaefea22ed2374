"""Checkpoints of tensor2tensor: its options and tables."""

import json

import numpy as np
import pytest
from foreign_files import save_tensorflow
from places import GOLDENS
from transformer_golden import (
    SPACE,
    TENSOR2TENSOR,
    converted,
    split_values,
    write_tensor2tensor,
)

import zoo
from zoo.checkpoint import open_checkpoint
from zoo.models.transformer import CONFIGS, TransformerConfig, weights
from zoo.models.transformer.tables import shapes

TEXTS = json.loads((GOLDENS / "subword_tokenizer.json").read_text("utf-8"))


@pytest.mark.parametrize(
    ("name", "expected"),
    [("pre_norm", (0.1, 0.1, 0.1, 512)), ("post_norm", (0.1, 0.0, 0.0, 9))],
)
def test_config_says_what_the_options_say(name, expected):
    """Outputs and arrays show all fields but these."""
    config = converted(f"tensor2tensor {name}").config
    rates = config.dropout, config.attention_dropout, config.activation_dropout
    assert (*rates, config.max_sequence_length) == expected


def test_target_space_is_told_by_the_options_or_by_the_optimizer(tmp_path):
    vector = "target_space_embedding/embeddings"
    stored = split_values(TENSOR2TENSOR, "pre_norm")[SPACE]
    for number, told in (({}, 8), ({"target_space_id": 3}, 3)):
        found = weights.read(write_tensor2tensor(tmp_path, **number))
        np.testing.assert_array_equal(found.weights[vector], stored[[told]])
    # The default of tensor2tensor
    save_tensorflow(tmp_path / "model.ckpt-7", split_values(TENSOR2TENSOR, "pre_norm"))
    found = weights.read(tmp_path, "tensor2tensor")
    np.testing.assert_array_equal(found.weights[vector], stored[[3]])
    (tmp_path / "hparams.json").write_text(str(TENSOR2TENSOR["pre_norm/hparams"]))
    found = weights.read(tmp_path)
    np.testing.assert_array_equal(found.weights[vector], stored[[0]])


@pytest.mark.slow
def test_a_directory_becomes_a_translator(tmp_path):
    arrays, size = split_values(TENSOR2TENSOR, "post_norm"), len(TEXTS["subtokens"])
    generator = np.random.default_rng(0)
    for kind in ("input_emb", "target_emb", "softmax"):
        for number in range(3):
            key = f"symbol_modality_{(13, 17)[kind != 'input_emb']}_8/{kind}"
            arrays.pop(f"transformer/{key}/weights_{number}")
        table = generator.normal(0, 0.3, (size, 8)).astype("float32")
        for number, part in enumerate(np.array_split(table, 3)):
            key = f"transformer/symbol_modality_{size}_8/{kind}/weights_{number}"
            arrays[key] = part
    write_tensor2tensor(tmp_path, "post_norm", arrays)
    lines = "".join(f"'{subtoken}'\n" for subtoken in TEXTS["subtokens"])
    (tmp_path / "vocab.translate_x.64.subwords").write_bytes(lines.encode())
    model = zoo.from_preset(tmp_path)
    assert isinstance(model, zoo.Translator)
    assert model.tokenizer(TEXTS["texts"]).to_list() == TEXTS["tiny"]
    assert model.options["generation"]["penalty"] == "gnmt"
    (written,) = model.translate(["the them"], max_new_tokens=4, num_beams=2)
    assert isinstance(written, str)


def test_tables_must_be_complete_and_have_one_meaning(tmp_path):
    arrays = split_values(TENSOR2TENSOR, "pre_norm")
    table = "transformer/symbol_modality_17_8/shared/weights_"
    other = {"transformer/symbol_modality_2_8/shared/weights_0": np.zeros((2, 8), "f")}
    for message, changed in (
        ("17 rows of one width", {**arrays, f"{table}3": arrays[f"{table}3"][:0]}),
        ("17 rows of one width", {**arrays, f"{table}3": arrays[f"{table}3"][:, :7]}),
        ("one table of the sou", {k: v for k, v in arrays.items() if table not in k}),
        ("does not say which of them", {**arrays, **other}),
    ):
        with pytest.raises(ValueError, match=message):
            weights.read(write_tensor2tensor(tmp_path, arrays=changed))


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
    sizes = config.vocabulary_size, config.hidden_dim, config.num_heads
    assert sizes == (8190, 16, 2)
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
