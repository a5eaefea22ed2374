"""ULMFiT: carried states, the backward model, and the language model's loss."""

import keras
import numpy as np
import pytest
import tiny

from zoo.models.ulmfit import ULMFiT, ULMFiTConfig
from zoo.models.ulmfit.shapes import weight_shapes
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


@pytest.mark.parametrize("cell", ["lstm", "qrnn"])
def test_the_shapes_are_those_of_the_weights(cell):
    model = make(cell=cell, num_layers=3)
    built = {v.path: tuple(v.shape) for v in model.trainable_variables}
    assert dict(weight_shapes(model.config)) == built


@pytest.mark.parametrize(
    "options, message",
    [
        ({"cell": "gru"}, "`cell` must be one of"),
        ({"pad_id": 64}, "`pad_id` must be an id"),
        ({"hidden_dropout": 1.0}, "`hidden_dropout`"),
        ({"num_layers": 0}, "`num_layers`"),
    ],
)
def test_bad_configs_raise(options, message):
    with pytest.raises(ValueError, match=message):
        ULMFiTConfig(**{**tiny.ULMFIT_CONFIG, **options})
