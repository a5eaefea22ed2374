"""Transformers of fairseq, judged by what fairseq itself computes."""

import numpy as np
import pytest
import tensorflow as tf
from fairseq_files import FAIRSEQ, NAMES
from transformer_golden import translator

import zoo
from zoo.models.transformer.weights import read
from zoo.serving import diagnose

OUTPUTS = {name: dict(np.load(FAIRSEQ / name / "outputs.npz")) for name in NAMES}
SEARCHES = ((4, 0.6, 0.0, 12), (4, 1.0, 1.2, 5), (5, 1.0, 0.0, 20), (2, 0.0, 0.5, 3))
WITHOUT_WEIGHTS = [
    ("post_norm", {"num_decoder_layers": 2}),
    ("post_norm", {"norm_first": True}),
    ("post_norm", {"attention_bias": False}),
    ("post_norm", {"positions": "learned"}),
    ("post_norm", {"embeddings_layer_norm": True}),
    ("post_norm", {"target_vocabulary_size": 80}),
    ("post_norm", {"intermediate_dim": 16}),
    ("post_norm", {"vocabulary_size": 80}),
    ("post_norm", {"hidden_dim": 16}),
    ("post_norm", {"tied_output": False}),
    ("oldest", {"output_bias": True}),
]


@pytest.mark.shown("post_norm-fault0", "post_norm-fault4", "oldest-fault10")
@pytest.mark.parametrize(("name", "fault"), WITHOUT_WEIGHTS)
def test_the_weights_do_not_fit_another_config(name, fault):
    with pytest.raises(ValueError, match="of its shape|more than the"):
        zoo.from_preset(FAIRSEQ / name, **fault)


def test_the_config_has_options_that_outputs_do_not_show():
    """All others change what the goldens compare, or the arrays that are read."""
    config = read(FAIRSEQ / "pre_norm").config
    rates = config.dropout, config.attention_dropout, config.activation_dropout
    assert rates == (0.15, 0.05, 0.25) and config.zero_padding
    assert config.max_sequence_length == 24
    assert read(FAIRSEQ / "post_norm").config.max_sequence_length == 50


@pytest.mark.shown("oldest-1", "pre_norm-3")
@pytest.mark.parametrize("number", range(len(SEARCHES)))
@pytest.mark.parametrize("name", NAMES)
def test_beam_search_finds_what_fairseq_finds(name, number):
    model, expected = translator(f"fairseq {name}"), OUTPUTS[name]
    source = tf.constant(expected["source"].astype("int32"))
    beams, penalty, a, b = SEARCHES[number]
    longest = int(a * source.shape[1] + b) + 1
    assert longest == expected[f"tokens_{number}"].shape[-1]
    options = model.writer.generation_options(
        num_beams=beams,
        num_return=beams,
        length_penalty=penalty,
        max_new_tokens=longest,
    )
    inputs = {
        "encoder_token_ids": source,
        "encoder_padding_mask": tf.cast(source != 1, tf.int32),
    }
    tokens, scores = model.writer.generate_tokens(inputs, options)
    np.testing.assert_array_equal(tokens, expected[f"tokens_{number}"])
    np.testing.assert_allclose(scores, expected[f"scores_{number}"], atol=2e-5)


def test_generation_starts_with_the_defaults_of_fairseq():
    model = translator("fairseq post_norm")
    options = model.writer.generation_options()
    found = options.num_beams, options.penalty, options.length_penalty
    assert found == (5, "fairseq", 1.0)
    assert (options.max_new_tokens, options.min_new_tokens) == (50, 2)
    assert (options.last_token, list(options.suppressed)) == (2, [1])
    assert model.options["label_smoothing"] == 0.2
    assert model.options["smoothing_kind"] == "fairseq"


@pytest.mark.parametrize("name", NAMES)
def test_tokens_are_those_of_fairseq(name):
    tokenizer, expected = translator(f"fairseq {name}").tokenizer, OUTPUTS[name]
    rows = np.split(expected["ids"], np.cumsum(expected["lengths"])[:-1])
    texts = expected["texts"].tolist()
    found = [*tokenizer(texts).to_list(), *tokenizer.targets(texts).to_list()]
    assert [[*row, 2] for row in found] == [row.tolist() for row in rows]
    written = tokenizer.detokenize(expected["target"][:, 1:].astype("int32"))
    assert [t.decode() for t in written.numpy()] == expected["written"].tolist()
    assert (tokenizer.start_id, tokenizer.end_id, tokenizer.pad_id) == (2, 2, 1)


@pytest.mark.slow
def test_an_export_translates(tmp_path):
    model = translator("fairseq pre_norm")
    texts = [text for text in OUTPUTS["pre_norm"]["texts"].tolist() if text]
    version = model.export(tmp_path / "model")
    assert all(finding.passed for finding in diagnose(version))
    loaded = tf.saved_model.load(str(version))
    answers = loaded.signatures["serving_default"](tf.constant(texts))
    written = [t.decode() for t in answers["translation"].numpy()]
    assert written == model.translate(texts)
    assert len({*written}) > 1
