"""ULMFiT: carried states, the backward model, and the language model's loss."""

import keras
import numpy as np
import pytest
import tensorflow as tf
import tiny
from places import GOLDENS

from zoo.models.ulmfit import ULMFiT, ULMFiTConfig
from zoo.tasks import CausalLM

RNG = np.random.default_rng(0)
IDS = RNG.integers(5, 64, (3, 20)).astype("int32")


def make(**options):
    keras.utils.set_random_seed(0)
    model = ULMFiT(ULMFiTConfig(**{**tiny.ULMFIT_CONFIG, **options}))
    model.set_weights([RNG.normal(0, 0.3, w.shape) for w in model.get_weights()])
    return model


@pytest.mark.parametrize("cell", ["lstm", "qrnn"])
def test_chunks_with_carried_states_equal_the_whole_text(cell):
    model = make(cell=cell)
    whole = model(IDS)["sequence_output"]
    states, parts = model.make_states(3), []
    for start in (0, 7, 14):
        outputs, states = model.step(IDS[:, start : start + 7], states)
        parts.append(outputs["sequence_output"])
    np.testing.assert_allclose(np.concatenate(parts, axis=1), whole, atol=1e-6)


@pytest.mark.parametrize("cell", ["lstm", "qrnn"])
def test_the_backward_model_reads_the_text_from_its_end(cell):
    forward, backward = make(cell=cell), make(cell=cell, reverse=True)
    backward.set_weights(forward.get_weights())
    expected = forward(IDS[:, ::-1])["sequence_output"][:, ::-1]
    np.testing.assert_allclose(backward(IDS)["sequence_output"], expected, atol=1e-6)


def test_padding_is_the_config_s_id_and_has_no_influence():
    model = make(pad_id=1)
    padded = np.pad(IDS, ((0, 0), (3, 4)), constant_values=1)
    outputs = model(padded)["sequence_output"]
    expected = model(IDS)["sequence_output"]
    np.testing.assert_allclose(outputs[:, 3:-4], expected, atol=1e-6)
    assert not np.any(outputs[:, :3]) and not np.any(outputs[:, -4:])


@pytest.mark.parametrize("reverse", [False, True])
def test_the_backward_language_model_predicts_the_token_on_the_left(reverse):
    model = CausalLM(make(reverse=reverse))
    mask = np.array([[1] * 20, [1] * 12 + [0] * 8, [1] + [0] * 19], "int32")
    x = {"token_ids": IDS, "padding_mask": mask}
    _, targets, weights = model.finish(x)
    if reverse:
        np.testing.assert_array_equal(targets[:, 1:], IDS[:, :-1])
        assert not np.any(weights[:, 0])
    else:
        np.testing.assert_array_equal(targets[:, :-1], IDS[:, 1:])
        assert not np.any(weights[:, -1])
    assert weights.numpy().sum(1).tolist() == [19, 11, 0]


def test_the_logits_share_the_table_and_the_loss_has_both_terms():
    model = CausalLM(make())
    names = [v.path for v in model.trainable_variables]
    assert "token_embedding/embeddings" in names
    assert [n for n in names if n.startswith("lm_head")] == ["lm_head/output_bias"]
    model({"token_ids": IDS, "padding_mask": np.ones_like(IDS)}, training=True)
    assert len(model.losses) == 2
    without = CausalLM(make(activation_regularization=0.0, temporal_regularization=0.0))
    without({"token_ids": IDS, "padding_mask": np.ones_like(IDS)}, training=True)
    assert without.losses == []


GOLDEN = GOLDENS / "awd_lstm.npz"


def ours(arrays, first=""):
    """fastai's arrays under our paths."""
    arrays = {k.removeprefix(first): v for k, v in arrays.items() if first in k}
    found = {"token_embedding/embeddings": arrays["0.encoder.weight"]}
    for i in range(3):
        name = f"0.rnns.{i}."
        found[f"rnn_{i}/kernel"] = arrays[f"{name}weight_ih_l0"].T
        found[f"rnn_{i}/recurrent_kernel"] = arrays[f"{name}weight_hh_l0"].T
        bias = arrays[f"{name}bias_ih_l0"]
        # Our bias is the sum of the two, and its gradient is that of either.
        found[f"rnn_{i}/bias"] = bias if first else bias + arrays[f"{name}bias_hh_l0"]
    return {**found, "lm_head/output_bias": arrays["1.decoder.bias"]}


@pytest.fixture(scope="module")
def golden():
    """The arrays of fastai, and a model with its weights."""
    with np.load(GOLDEN) as file:
        arrays = dict(file)
    sizes = {"vocabulary_size": 20, "embedding_dim": 6, "lstm_dim": 8, "num_layers": 3}
    model = CausalLM(make(**sizes))
    weights = ours(arrays)
    assert {v.path for v in model.trainable_variables} == weights.keys()
    for variable in model.trainable_variables:
        variable.assign(weights[variable.path])
    return arrays, model


def test_outputs_are_those_of_fastai(golden):
    arrays, model = golden
    hidden = model.backbone(arrays["ids"])["sequence_output"]
    np.testing.assert_allclose(hidden, arrays["hidden"], atol=5e-6)
    mask = np.ones_like(arrays["ids"])
    logits = model({"token_ids": arrays["ids"], "padding_mask": mask})
    np.testing.assert_allclose(logits, arrays["logits"], atol=5e-6)


def test_loss_and_gradients_are_those_of_fastai(golden):
    arrays, model = golden
    ids = arrays["ids"]
    inputs = {"token_ids": ids[:, :-1], "padding_mask": np.ones_like(ids[:, :-1])}
    with tf.GradientTape() as tape:
        logits = model(inputs, training=True)
        loss = model.default_loss()(ids[:, 1:], logits) + sum(model.losses)
    gradients = tape.gradient(loss, [v.value for v in model.trainable_variables])
    np.testing.assert_allclose(loss, arrays["loss"], rtol=1e-5)
    expected = ours(arrays, "gradient/")
    for variable, gradient in zip(model.trainable_variables, gradients, strict=True):
        gradient = tf.convert_to_tensor(gradient)
        np.testing.assert_allclose(
            gradient, expected[variable.path], atol=1e-5, err_msg=variable.path
        )
