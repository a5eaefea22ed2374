"""Translators of Hugging Face's Marian, judged by what transformers computes."""

import dataclasses
import functools

import numpy as np
import pytest
import tensorflow as tf
from places import GOLDENS

import zoo
from zoo.checkpoint import assign, open_checkpoint
from zoo.models.transformer import Transformer, TransformerConfig
from zoo.models.transformer.weights import read, recognise

GOLDEN = GOLDENS / "marian"
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
    options = task.writer.generation_options(**options)

    @tf.function(input_signature=[tf.TensorSpec((None, None), tf.int32)] * 2)
    def call(ids, mask):
        inputs = {"encoder_token_ids": ids, "encoder_padding_mask": mask}
        return task.writer.generate_tokens(inputs, options)

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


@pytest.mark.shown("joint-greedy")
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
    tokens = task.writer.generation_options()
    assert (tokens.num_beams, tokens.max_new_tokens) == (3, 23)
    assert list(task.answer(texts)["translation"]) == written
    several = task.translate(texts[:1], num_return=2, num_beams=4)
    assert len(several[0]) == 2 and several[0][0] != several[0][1]
    assert all(np.isfinite(scores))
