"""Files of Marian in Hugging Face's layout: variants, damage, and what is written."""

import json
import shutil

import numpy as np
import pytest
import torch_pickles
from places import GOLDENS

import zoo
from zoo.checkpoint import open_checkpoint, save_checkpoint
from zoo.models.transformer.weights import read

GOLDEN = GOLDENS / "marian"
NAMES = ("joint", "separate")


@pytest.fixture(scope="module")
def converted():
    """Both goldens, converted."""
    return {name: read(GOLDEN / name) for name in NAMES}


@pytest.fixture(scope="module")
def tasks():
    """Both goldens as tasks."""
    return {name: zoo.from_preset(GOLDEN / name) for name in NAMES}


def copy(name, directory):
    """A directory with the files of a golden, without its outputs."""
    shutil.copytree(GOLDEN / name, directory)
    (directory / "outputs.npz").unlink()
    return directory


def change_json(path, **changes):
    """Updates a JSON file; None removes a value."""
    values = {**json.loads(path.read_text("utf-8")), **changes}
    values = {key: value for key, value in values.items() if value is not None}
    path.write_text(json.dumps(values), "utf-8")


def change_arrays(directory, change):
    """Rewrites model.safetensors; `change` takes and returns a dict of arrays."""
    path = directory / "model.safetensors"
    save_checkpoint(path, change(dict(open_checkpoint(path))))


def test_files_in_half_precision_and_copies_of_tables(converted, tmp_path):
    directory = copy("joint", tmp_path / "model")

    def change(arrays):
        arrays = {k: v.astype("float16") for k, v in arrays.items()}
        table = arrays.pop("model.shared.weight")
        for side in ("encoder", "decoder"):
            arrays[f"model.{side}.embed_tokens.weight"] = table
            angles = np.arange(24)[:, None] * 10000.0 ** (-2 * np.arange(8) / 16)
            positions = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
            name = f"model.{side}.embed_positions.weight"
            arrays[name] = positions.astype("float16")
        return {**arrays, "lm_head.weight": table}

    change_arrays(directory, change)
    found = read(directory)
    for path, array in converted["joint"].weights.items():
        expected = array.astype("float16").astype("float32")
        np.testing.assert_array_equal(found.weights[path], expected)
    change_arrays(directory, lambda a: {**a, "lm_head.weight": a["lm_head.weight"] * 2})
    with pytest.raises(ValueError, match="'lm_head.weight' and .* must be equal"):
        read(directory)


@pytest.mark.parametrize("legacy", [False, True])
def test_files_of_torch_give_the_same(converted, tmp_path, legacy):
    directory = copy("joint", tmp_path / "model")
    arrays = dict(open_checkpoint(directory / "model.safetensors"))
    (directory / "model.safetensors").unlink()
    torch_pickles.write_state(directory / "pytorch_model.bin", arrays, legacy)
    found = read(directory)
    for path, array in converted["joint"].weights.items():
        np.testing.assert_array_equal(found.weights[path], array)


def test_a_bias_may_be_missing_and_an_output_may_have_its_own_kernel(
    converted, tmp_path
):
    directory = copy("separate", tmp_path / "model")
    kernel = np.random.default_rng(0).normal(size=(35, 12)).astype("float32")

    def change(arrays):
        arrays.pop("final_logits_bias")
        return {**arrays, "lm_head.weight": kernel}

    change_arrays(directory, change)
    change_json(directory / "config.json", tie_word_embeddings=False)
    found = read(directory)
    assert not found.config.tied_output
    assert not found.weights["token_logits/output_bias"].any()
    np.testing.assert_array_equal(found.weights["token_logits/kernel"], kernel.T)


@pytest.mark.parametrize(
    ("file", "changes", "message"),
    [
        ("config.json", {"vocab_size": 50}, "48 pieces in .*vocab.json`, and 50 rows"),
        ("config.json", {"d_model": 12}, "must be .*12"),
        ("config.json", {"encoder_layers": 3}, "more than the .* values|missing"),
        ("config.json", {"decoder_layers": 1}, "unused: 'model.decoder.layers.1"),
        ("config.json", {"d_model": "x"}, "`d_model` of .* must be an integer"),
        ("config.json", {"d_model": None}, "must have the values d_model"),
        (
            "config.json",
            {"decoder_ffn_dim": 8},
            "`encoder_ffn_dim` and `decoder_ffn_dim` must be",
        ),
        ("config.json", {"decoder_start_token_id": 1}, "must be `pad_token_id`"),
        ("config.json", {"activation_function": "mish"}, "`activation_function` must"),
        ("config.json", {"normalize_before": True}, "`normalize_before` must be False"),
        ("config.json", {"pad_token_id": 3, "decoder_start_token_id": 3}, "<pad>"),
        ("config.json", {"eos_token_id": 1}, r"Received: \[47, 0\] in"),
        ("vocab.json", {"s": None}, "47 pieces"),
        ("vocab.json", {"s": 6}, "from 0 without gaps"),
        (
            "generation_config.json",
            {"num_beams": "4"},
            "`num_beams` must be an integer",
        ),
    ],
)
def test_damaged_directories_raise_errors(tmp_path, file, changes, message):
    directory = copy("joint", tmp_path / "model")
    change_json(directory / file, **changes)
    with pytest.raises(ValueError, match=message):
        zoo.from_preset(directory)


def test_other_positions_and_no_tokenizer(tmp_path):
    directory = copy("joint", tmp_path / "model")
    for file in ("source.spm", "target.spm", "vocab.json"):
        (directory / file).unlink()
    assert zoo.from_preset(directory).tokenizer is None
    position = {"model.encoder.embed_positions.weight": np.ones((24, 16), "float32")}
    change_arrays(directory, lambda arrays: {**arrays, **position})
    with pytest.raises(ValueError, match="must be sinusoids"):
        read(directory)


@pytest.mark.parametrize("name", NAMES)
def test_the_configuration_is_written_as_it_was(tasks, name, tmp_path):
    tasks[name].save_to_preset(tmp_path / "model", layout="hugging_face")
    values = json.loads((GOLDEN / name / "config.json").read_text())
    found = json.loads((tmp_path / "model" / "config.json").read_text())
    both = {*values} & {*found} - {"transformers_version"}
    assert len(both) > 20
    assert {k: values[k] for k in both} == {k: found[k] for k in both}
    assert read(tmp_path / "model").options == read(GOLDEN / name).options


@pytest.mark.parametrize("name", NAMES)
def test_an_output_with_a_kernel_of_its_own_is_written(name, tmp_path):
    """With one table for both sides, and with two."""
    directory = copy(name, tmp_path / "model")

    width = json.loads((directory / "config.json").read_text())["d_model"]

    def change(arrays):
        shape = arrays["final_logits_bias"].size, width
        kernel = np.random.default_rng(0).normal(size=shape).astype("float32")
        return {**arrays, "lm_head.weight": kernel}

    change_arrays(directory, change)
    change_json(directory / "config.json", tie_word_embeddings=False)
    task = zoo.from_preset(directory)
    task.save_to_preset(tmp_path / "written", layout="hugging_face")
    values = json.loads((tmp_path / "written" / "config.json").read_text())
    assert values["tie_word_embeddings"] is False
    assert values["share_encoder_decoder_embeddings"] is (name == "joint")
    written = open_checkpoint(tmp_path / "written" / "model.safetensors")
    # transformers 5 ties nothing then, so it needs every table.
    sides = {f"model.{side}.embed_tokens.weight" for side in ("encoder", "decoder")}
    assert {"lm_head.weight", *sides} <= {*written}
    source, again = read(directory), read(tmp_path / "written")
    assert again.config == source.config and not again.config.tied_output
    for path, array in source.weights.items():
        np.testing.assert_array_equal(again.weights[path], array)


@pytest.mark.slow
def test_what_hugging_face_cannot_hold_is_refused(tasks, tmp_path):
    for changes, message in (
        ({"positions": "tensor2tensor"}, "Received: {'positions': 'tensor2tensor'}"),
        ({"final_layer_norm": True}, "Received: {'ends_in_norm': True}"),
        ({"generation": {"penalty": "gnmt", "num_beams": 2}}, "penalty='gnmt'"),
        ({"generation": {"stop": ["."]}}, r"\['stop'\]"),
    ):
        task = zoo.from_preset(GOLDEN / "joint", load_weights=False, **changes)
        with pytest.raises(ValueError, match=message):
            task.save_to_preset(tmp_path / "model", layout="hugging_face")
    assert not (tmp_path / "model").exists()
