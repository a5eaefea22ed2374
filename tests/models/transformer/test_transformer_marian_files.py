"""Files of Marian in Hugging Face's layout: variants, damage, and what is written."""

import json
import shutil

import numpy as np
import pytest
from foreign_files import assert_equal, change_arrays, change_json
from transformer_golden import MARIAN, converted, translator

import zoo
from zoo.checkpoint import open_checkpoint
from zoo.models.transformer.weights import read

NAMES = ("joint", "separate")
JOINT = "marian joint"


def copy(name, directory):
    """A directory with the files of a golden, without its outputs."""
    shutil.copytree(MARIAN / name, directory)
    (directory / "outputs.npz").unlink()
    return directory


def test_files_in_half_precision_and_copies_of_tables(tmp_path):
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
    expected = {
        path: array.astype("float16").astype("float32")
        for path, array in converted(JOINT).weights.items()
    }
    assert_equal(read(directory).weights, expected)
    change_arrays(directory, lambda a: {**a, "lm_head.weight": a["lm_head.weight"] * 2})
    with pytest.raises(ValueError, match="'lm_head.weight' and .* must be equal"):
        read(directory)


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
def test_the_configuration_is_written_as_it_was(name, tmp_path):
    translator(f"marian {name}").save_to_preset(
        tmp_path / "model", layout="hugging_face"
    )
    values = json.loads((MARIAN / name / "config.json").read_text())
    found = json.loads((tmp_path / "model" / "config.json").read_text())
    both = {*values} & {*found} - {"transformers_version"}
    assert len(both) > 20
    assert {k: values[k] for k in both} == {k: found[k] for k in both}
    assert read(tmp_path / "model").options == read(MARIAN / name).options


@pytest.mark.parametrize("name", NAMES)
def test_an_output_has_a_kernel_of_its_own_and_no_bias(name, tmp_path):
    directory = copy(name, tmp_path / "model")
    width = json.loads((directory / "config.json").read_text())["d_model"]
    draw = np.random.default_rng(0)

    def change(arrays):
        rows = arrays.pop("final_logits_bias").size
        return {**arrays, "lm_head.weight": draw.normal(size=(rows, width)).astype("f")}

    change_arrays(directory, change)
    change_json(directory / "config.json", tie_word_embeddings=False)
    source, stored = read(directory), open_checkpoint(directory / "model.safetensors")
    kernel = source.weights["token_logits/kernel"]
    np.testing.assert_array_equal(kernel, stored["lm_head.weight"].T)
    assert not source.weights["token_logits/output_bias"].any()
    task = zoo.from_preset(directory)
    task.save_to_preset(tmp_path / "written", layout="hugging_face")
    values = json.loads((tmp_path / "written" / "config.json").read_text())
    assert values["tie_word_embeddings"] is False
    assert values["share_encoder_decoder_embeddings"] is (name == "joint")
    written = open_checkpoint(tmp_path / "written" / "model.safetensors")
    # transformers 5 ties nothing then, so it needs every table.
    sides = {f"model.{side}.embed_tokens.weight" for side in ("encoder", "decoder")}
    assert {"lm_head.weight", *sides} <= {*written}
    again = read(tmp_path / "written")
    assert again.config == source.config and not again.config.tied_output
    assert_equal(again.weights, source.weights)


@pytest.mark.slow
def test_what_hugging_face_cannot_hold_is_refused(tmp_path):
    for changes, message in (
        ({"positions": "tensor2tensor"}, "Received: {'positions': 'tensor2tensor'}"),
        ({"final_layer_norm": True}, "Received: {'ends_in_norm': True}"),
        ({"generation": {"penalty": "gnmt", "num_beams": 2}}, "penalty='gnmt'"),
        ({"generation": {"stop": ["."]}}, r"\['stop'\]"),
    ):
        task = zoo.from_preset(MARIAN / "joint", load_weights=False, **changes)
        with pytest.raises(ValueError, match=message):
            task.save_to_preset(tmp_path / "model", layout="hugging_face")
    assert not (tmp_path / "model").exists()
