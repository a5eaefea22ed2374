"""Translators of Hugging Face's Marian, judged by what transformers computes."""

import numpy as np
import pytest
import tensorflow as tf
from foreign_files import ATOL
from transformer_golden import MARIAN, converted, translator

import zoo

NAMES = ("joint", "separate")
OUTPUTS = {name: dict(np.load(MARIAN / name / "outputs.npz")) for name in NAMES}
# What `generate` was asked for, in our words.
SEARCHES = {
    "greedy": {"num_beams": 1},
    "default": {},
    "beams": {"num_beams": 4, "length_penalty": 2.0},
    "several": {"num_beams": 5, "num_return": 3, "min_new_tokens": 4},
}
SEPARATE = (("separate", "default"), ("separate", "several"))
# Rates and positions, which the outputs do not show; how texts are searched.
RATES = {"joint": (0.05, 0.15, 0.25, 24), "separate": (0.1, 0.0, 0.0, 18)}


def write(name, **options):
    """Tokens and scores that a task writes for the inputs of a golden."""
    task, expected = translator(f"marian {name}"), OUTPUTS[name]
    options = task.writer.generation_options(**options)

    @tf.function(input_signature=[tf.TensorSpec((None, None), tf.int32)] * 2)
    def call(ids, mask):
        inputs = {"encoder_token_ids": ids, "encoder_padding_mask": mask}
        return task.writer.generate_tokens(inputs, options)

    rows = (expected["token_ids"], expected["padding_mask"])
    tokens, scores = call(*(tf.constant(row, tf.int32) for row in rows))
    return np.reshape(tokens, (-1, tokens.shape[-1])), np.ravel(scores)


@pytest.mark.parametrize("name", NAMES)
def test_the_configuration_is_translated_and_not_assumed(name):
    found = converted(f"marian {name}")
    config, expected = found.config, RATES[name]
    rates = config.dropout, config.attention_dropout, config.activation_dropout
    assert (*rates, config.max_sequence_length) == expected
    expected = {"joint": (3, 1.0, [47], 23), "separate": (2, 0.7, [22, 1], 17)}[name]
    beams, alpha, suppressed, longest = expected
    assert found.options["generation"] == {
        "num_beams": beams,
        "length_penalty": alpha,
        "suppressed": suppressed,
        "max_new_tokens": longest,
        "last_token": 0,
        "penalty": "hugging_face",
    }


@pytest.mark.shown("joint-greedy")
@pytest.mark.parametrize(
    ("name", "search"),
    [*(("joint", search) for search in SEARCHES), *SEPARATE],
)
def test_writes_what_transformers_writes(name, search):
    expected = OUTPUTS[name]
    tokens, scores = write(name, **SEARCHES[search])
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
def test_the_golden_catches_a_wrong_search(name, fault):
    expected = OUTPUTS[name]
    tokens, scores = write(name, **fault)
    same = np.array_equal(tokens, expected["default_tokens"])
    assert not same or np.abs(scores - expected["default_scores"]).max() > 20 * ATOL


@pytest.mark.slow
def test_a_directory_is_a_translator_with_its_defaults():
    task = translator("marian joint")
    assert isinstance(task, zoo.Translator)
    texts = ["the cat sat on the mat .", "", ">>de<< the dog ran ."]
    written, scores = task.translate(texts, return_scores=True)
    tokens = task.writer.generation_options()
    assert (tokens.num_beams, tokens.max_new_tokens) == (3, 23)
    assert list(task.answer(texts)["translation"]) == written
    several = task.translate(texts[:1], num_return=2, num_beams=4)
    assert len(several[0]) == 2 and several[0][0] != several[0][1]
    assert all(np.isfinite(scores))
