"""Translators of Hugging Face's Marian, judged by what transformers computes."""

import dataclasses
import functools
import json
import pathlib
import shutil

import numpy as np
import pytest
import tensorflow as tf
import torch_pickles

import zoo
from zoo.checkpoint import assign, open_checkpoint, save_checkpoint
from zoo.models.transformer import Transformer, TransformerConfig
from zoo.models.transformer.weights import read, recognise

GOLDEN = pathlib.Path(__file__).parents[1] / "goldens" / "marian"
NAMES = ("joint", "separate")
OUTPUTS = {name: dict(np.load(GOLDEN / name / "outputs.npz")) for name in NAMES}
ATOL = 5e-6
# What `generate` was asked for, in our words.
SEARCHES = {
    "greedy": {"num_beams": 1},
    "default": {},
    "beams": {"num_beams": 4, "length_penalty": 2.0},
    "several": {"num_beams": 5, "num_return": 3, "min_new_tokens": 4},
}
CONFIGS = {
    "joint": TransformerConfig(
        vocabulary_size=48,
        hidden_dim=16,
        num_encoder_layers=2,
        num_decoder_layers=2,
        num_heads=4,
        intermediate_dim=32,
        max_sequence_length=24,
        activation="silu",
        attention_bias=True,
        positions="marian_hugging_face",
        output_bias=True,
        dropout=0.05,
        attention_dropout=0.15,
        activation_dropout=0.25,
        layer_norm_epsilon=1e-5,
        pad_id=47,
    ),
    "separate": TransformerConfig(
        vocabulary_size=39,
        target_vocabulary_size=35,
        hidden_dim=12,
        num_encoder_layers=2,
        num_decoder_layers=1,
        num_heads=2,
        intermediate_dim=20,
        max_sequence_length=18,
        attention_bias=True,
        positions="marian_hugging_face",
        scale_embeddings=False,
        output_bias=True,
        layer_norm_epsilon=1e-5,
        pad_id=22,
    ),
}


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


@functools.lru_cache(maxsize=1)
def make_model(config):
    """A model and its head."""
    model = Transformer(config)
    head = model.make_token_head()
    head.build((None, None, config.hidden_dim))
    return model, head


def compute(config, weights, expected):
    """Outputs of a model for the inputs of a golden, dict by the golden's names."""
    model, head = make_model(config)
    assign([*model.variables, *head.variables], weights)
    inputs = {
        "encoder_token_ids": expected["token_ids"],
        "encoder_padding_mask": expected["padding_mask"],
        "decoder_token_ids": expected["decoder_token_ids"],
    }
    found = model(inputs)
    inside = expected["padding_mask"][..., None]
    return {
        "encoder_output": np.where(inside, found["encoder_sequence_output"], 0),
        "decoder_output": np.asarray(found["decoder_sequence_output"]),
        "logits": np.asarray(head(found["decoder_sequence_output"])),
    }


def worst(config, weights, expected):
    """The largest difference of the outputs of a model from those of a golden."""
    expected = {**expected}
    inside = expected["padding_mask"][..., None]
    expected["encoder_output"] = np.where(inside, expected["encoder_output"], 0)
    found = compute(config, weights, expected)
    return max(np.abs(found[name] - expected[name]).max() for name in found)


def write(task, expected, **options):
    """Tokens and scores that a task writes for the inputs of a golden."""
    options = task.generation_options(**options)

    @tf.function(input_signature=[tf.TensorSpec((None, None), tf.int32)] * 2)
    def call(ids, mask):
        inputs = {"encoder_token_ids": ids, "encoder_padding_mask": mask}
        return task.generate_tokens(inputs, options)

    rows = (expected["token_ids"], expected["padding_mask"])
    tokens, scores = call(*(tf.constant(row, tf.int32) for row in rows))
    return np.reshape(tokens, (-1, tokens.shape[-1])), np.ravel(scores)


@pytest.mark.parametrize("name", NAMES)
def test_the_configuration_is_translated_and_not_assumed(converted, name):
    assert recognise(GOLDEN / name) == "hugging_face"
    assert converted[name].config == CONFIGS[name]
    expected = {"joint": (3, 1.0, [47], 23), "separate": (2, 0.7, [22, 1], 17)}[name]
    beams, alpha, suppressed, longest = expected
    assert converted[name].options["generation"] == {
        "num_beams": beams,
        "length_penalty": alpha,
        "suppressed": suppressed,
        "max_new_tokens": longest,
        "last_token": 0,
        "penalty": "hugging_face",
    }


@pytest.mark.parametrize("name", NAMES)
def test_computes_what_transformers_computes(converted, name):
    found = converted[name]
    assert worst(found.config, found.weights, OUTPUTS[name]) < ATOL


@pytest.mark.parametrize("name", NAMES)
def test_loads_what_is_stored(converted, name):
    stored = open_checkpoint(GOLDEN / name / "model.safetensors")
    for path, other in (
        # A key's bias cancels in the softmax: no output tells where it went.
        ("encoder_block_1/attention/key/bias", "encoder.layers.1.self_attn.k_proj"),
        ("decoder_block_0/attention/key/bias", "decoder.layers.0.self_attn.k_proj"),
        (
            "decoder_block_0/cross_attention/key/bias",
            "decoder.layers.0.encoder_attn.k_proj",
        ),
    ):
        array = converted[name].weights[path]
        np.testing.assert_array_equal(array, stored[f"model.{other}.bias"])
    total = sum(stored[key].size for key in stored)
    assert total == sum(array.size for array in converted[name].weights.values())


FAULTS = {
    "joint": {
        "activation": "relu",
        "num_heads": 2,
        "positions": "tensor2tensor",
        "first_position": 1,
        "scale_embeddings": False,
        "zero_padding": True,
        "layer_norm_epsilon": 1e-3,
    },
    "separate": {
        "activation": "gelu",
        "positions": "paper",
        "scale_embeddings": True,
        "layer_norm_epsilon": 1e-6,
    },
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "field"), [(name, field) for name in NAMES for field in FAULTS[name]]
)
def test_the_golden_catches_a_wrong_field(converted, name, field):
    found = converted[name]
    config = dataclasses.replace(found.config, **{field: FAULTS[name][field]})
    assert worst(config, found.weights, OUTPUTS[name]) > 2 * ATOL


@pytest.mark.slow
def test_the_golden_catches_a_missing_transpose_and_a_missing_bias(converted):
    found = converted["joint"]
    square = [
        k for k, v in found.weights.items() if v.ndim == 2 and len({*v.shape}) < 2
    ]
    assert len(square) == 24
    for path in square:
        weights = {**found.weights, path: found.weights[path].T}
        assert worst(found.config, weights, OUTPUTS["joint"]) > 20 * ATOL, path
    bias = {"token_logits/output_bias": np.zeros(48, "float32")}
    assert worst(found.config, found.weights | bias, OUTPUTS["joint"]) > 20 * ATOL


@pytest.mark.shown("joint-several")
@pytest.mark.parametrize(
    ("name", "search"),
    [
        ("joint", "greedy"),
        ("joint", "several"),
        *(
            pytest.param("joint", search, marks=pytest.mark.slow)
            for search in ("default", "beams")
        ),
        ("separate", "default"),
        ("separate", "several"),
    ],
)
def test_writes_what_transformers_writes(tasks, name, search):
    expected = OUTPUTS[name]
    tokens, scores = write(tasks[name], expected, **SEARCHES[search])
    np.testing.assert_array_equal(tokens, expected[f"{search}_tokens"])
    if search != "greedy":
        np.testing.assert_allclose(scores, expected[f"{search}_scores"], 0, ATOL)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("joint", {"last_token": None}),
        ("joint", {"num_beams": 1}),
        ("separate", {"length_penalty": 1.0}),
        ("separate", {"renormalize": True}),
    ],
)
def test_the_golden_catches_a_wrong_search(tasks, name, fault):
    expected = OUTPUTS[name]
    tokens, scores = write(tasks[name], expected, **fault)
    same = np.array_equal(tokens, expected["default_tokens"])
    assert not same or np.abs(scores - expected["default_scores"]).max() > 20 * ATOL


@pytest.mark.slow
def test_a_directory_is_a_translator_with_its_defaults(tasks):
    task = tasks["joint"]
    assert isinstance(task, zoo.Translator)
    texts = ["the cat sat on the mat .", "", ">>de<< the dog ran ."]
    written, scores = task.translate(texts, return_scores=True)
    tokens = task.generation_options()
    assert (tokens.num_beams, tokens.max_new_tokens) == (3, 23)
    assert list(task.answer(texts)["translation"]) == written
    several = task.translate(texts[:1], num_return=2, num_beams=4)
    assert len(several[0]) == 2 and several[0][0] != several[0][1]
    assert all(np.isfinite(scores))


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
        ("config.json", {"decoder_ffn_dim": 8}, "must have the same `ffn_dim`"),
        ("config.json", {"decoder_start_token_id": 1}, "must be `pad_token_id`"),
        ("config.json", {"activation_function": "mish"}, "`activation_function` must"),
        ("config.json", {"normalize_before": True}, "`normalize_before` must be False"),
        ("config.json", {"pad_token_id": 3, "decoder_start_token_id": 3}, "<pad>"),
        ("config.json", {"eos_token_id": 1}, r"Received: \[47, 0\] in"),
        ("vocab.json", {"s": None}, "47 pieces"),
        ("vocab.json", {"s": 6}, "from 0 without gaps"),
        ("generation_config.json", {"do_sample": True}, "`do_sample` must be False"),
        ("generation_config.json", {"early_stopping": True}, "`early_stopping` must"),
        ("generation_config.json", {"bad_words_ids": [[3, 4]]}, "one token each"),
        (
            "generation_config.json",
            {"num_beams": "4"},
            "`num_beams` must be a positive",
        ),
    ],
)
def test_damaged_directories_raise_errors(tmp_path, file, changes, message):
    directory = copy("joint", tmp_path / "model")
    change_json(directory / file, **changes)
    with pytest.raises(ValueError, match=message):
        zoo.from_preset(directory)


def test_damaged_arrays_and_missing_files_raise_errors(tmp_path):
    directory = copy("joint", tmp_path / "model")
    good = dict(open_checkpoint(directory / "model.safetensors"))
    name = "model.encoder.layers.0.fc1.bias"
    position = "model.encoder.embed_positions.weight"
    for arrays, message in (
        ({**good, name: good[name] * np.nan}, "must be finite"),
        ({k: v for k, v in good.items() if k != name}, "more than the 11920 values"),
        ({**good, "extra": good[name]}, "unused: 'extra'"),
        ({**good, position: np.ones((24, 16), "float32")}, "must be sinusoids"),
    ):
        save_checkpoint(directory / "model.safetensors", arrays)
        with pytest.raises(ValueError, match=message):
            zoo.from_preset(directory)
    save_checkpoint(directory / "model.safetensors", good)
    (directory / "target.spm").unlink()
    with pytest.raises(FileNotFoundError, match="only source.spm, vocab.json"):
        zoo.from_preset(directory)
    for file in ("source.spm", "vocab.json"):
        (directory / file).unlink()
    assert zoo.from_preset(directory).tokenizer is None


@pytest.mark.parametrize("name", NAMES)
def test_what_is_written_is_what_was_read(tasks, name, tmp_path):
    task = tasks[name]
    task.save_to_preset(tmp_path / "model", layout="hugging_face")
    stored = open_checkpoint(GOLDEN / name / "model.safetensors")
    written = open_checkpoint(tmp_path / "model" / "model.safetensors")
    assert {*stored} == {*written}
    for key in stored:
        np.testing.assert_array_equal(written[key], stored[key])
    source = read(GOLDEN / name)
    again = read(tmp_path / "model")
    assert again.config == source.config and again.options == source.options
    assert again.tokenizer == source.tokenizer
    values = json.loads((GOLDEN / name / "config.json").read_text())
    found = json.loads((tmp_path / "model" / "config.json").read_text())
    both = {*values} & {*found} - {"transformers_version"}
    assert len(both) > 20
    assert {k: values[k] for k in both} == {k: found[k] for k in both}
    with pytest.raises(FileExistsError, match="is not empty"):
        task.save_to_preset(tmp_path / "model", layout="hugging_face")


@pytest.mark.slow
def test_what_hugging_face_cannot_hold_is_refused(tasks, tmp_path):
    for changes, message in (
        ({"positions": "tensor2tensor"}, "Received: {'positions': 'tensor2tensor'}"),
        ({"generation": {"penalty": "gnmt", "num_beams": 2}}, "penalty='gnmt'"),
        ({"generation": {"top_k": 2}}, r"\['top_k'\]"),
    ):
        task = zoo.from_preset(GOLDEN / "joint", load_weights=False, **changes)
        with pytest.raises(ValueError, match=message):
            task.save_to_preset(tmp_path / "model", layout="hugging_face")
    assert not (tmp_path / "model").exists()
