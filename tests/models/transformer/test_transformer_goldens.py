"""Transformers of other programs compute what their own programs computed."""

import numpy as np
import pytest
from fairseq_files import FAIRSEQ, FILES
from foreign_files import ATOL, assert_equal
from transformer_golden import (
    GOLDEN,
    MARIAN,
    converted,
    difference,
    step_by_step,
    translator,
)

from zoo.checkpoint import open_checkpoint, open_training_checkpoint
from zoo.models.transformer.fairseq import rename

# Program, changed field of the config, and the models whose outputs must change.
FAULTS = (
    ("tensor2tensor", "num_heads", 1, "pre_norm post_norm shared_input"),
    ("tensor2tensor", "activation", "gelu", "pre_norm post_norm shared_input"),
    ("tensor2tensor", "positions", "paper", "pre_norm shared_input"),
    ("tensor2tensor", "first_position", 1, "pre_norm shared_input"),
    ("tensor2tensor", "scale_embeddings", False, "pre_norm post_norm"),
    ("tensor2tensor", "zero_padding", False, "pre_norm post_norm shared_input"),
    ("tensor2tensor", "layer_norm_epsilon", 1e-5, "pre_norm post_norm shared_input"),
    ("model_garden", "num_heads", 4, "norm_first norm_after"),
    ("model_garden", "activation", "gelu_tanh", "norm_first"),
    ("model_garden", "activation", "gelu", "norm_after"),
    ("model_garden", "positions", "paper", "norm_first norm_after"),
    ("model_garden", "first_position", 1, "norm_first norm_after"),
    ("model_garden", "scale_embeddings", False, "norm_first norm_after"),
    ("model_garden", "zero_padding", True, "norm_first norm_after"),
    ("model_garden", "layer_norm_epsilon", 1e-4, "norm_first norm_after"),
    ("opennmt", "num_heads", 4, "pre_norm post_norm shared shared_input"),
    ("opennmt", "activation", "gelu_tanh", "pre_norm"),
    ("opennmt", "activation", "gelu", "post_norm shared shared_input"),
    ("opennmt", "positions", "paper", "pre_norm post_norm shared shared_input"),
    ("opennmt", "first_position", 0, "pre_norm post_norm shared shared_input"),
    ("opennmt", "scale_embeddings", False, "pre_norm post_norm shared shared_input"),
    ("opennmt", "layer_norm_epsilon", 1e-5, "pre_norm post_norm shared shared_input"),
    ("marian", "activation", "relu", "joint"),
    ("marian", "activation", "gelu", "separate"),
    ("marian", "num_heads", 2, "joint"),
    ("marian", "positions", "tensor2tensor", "joint"),
    ("marian", "positions", "paper", "separate"),
    ("marian", "first_position", 1, "joint"),
    ("marian", "scale_embeddings", False, "joint"),
    ("marian", "scale_embeddings", True, "separate"),
    ("marian", "zero_padding", True, "joint"),
    ("marian", "layer_norm_epsilon", 1e-3, "joint"),
    ("marian", "layer_norm_epsilon", 1e-6, "separate"),
    ("fairseq", "num_heads", 2, "post_norm"),
    ("fairseq", "num_heads", 3, "pre_norm"),
    ("fairseq", "activation", "gelu", "post_norm"),
    ("fairseq", "activation", "relu", "pre_norm"),
    ("fairseq", "activation", "tanh", "pre_norm"),
    ("fairseq", "activation", "gelu_tanh", "oldest"),
    ("fairseq", "positions", "paper", "post_norm"),
    ("fairseq", "positions", "marian_hugging_face", "post_norm"),
    ("fairseq", "first_position", 1, "post_norm"),
    ("fairseq", "scale_embeddings", False, "post_norm"),
    ("fairseq", "scale_embeddings", True, "pre_norm"),
    ("fairseq", "layer_norm_epsilon", 1e-6, "post_norm"),
    ("fairseq", "layer_norm_epsilon", 1e-3, "pre_norm"),
    ("fairseq", "pad_id", 5, "post_norm"),
)
KEPT = ("fairseq", "marian")  # programs whose files are among the goldens
# The square kernels of which a transpose is no other shape.
SQUARE = [
    path for path, array in converted("marian joint").weights.items()
    if array.ndim == 2 and len({*array.shape}) == 1
]  # fmt: skip


@pytest.mark.parametrize("name", GOLDEN)
def test_outputs_are_those_of_the_program(name):
    assert difference(name) < ATOL


@pytest.mark.shown(
    *("tensor2tensor-num_heads", "tensor2tensor-first_position"),
    *("model_garden-num_heads", "opennmt-activation"),
)
@pytest.mark.parametrize(("program", "field", "value", "names"), FAULTS)
def test_the_goldens_see_every_field(program, field, value, names):
    for name in names.split():
        assert difference(f"{program} {name}", **{field: value}) > 2 * ATOL, name


@pytest.mark.shown("tensor2tensor", "model_garden")
@pytest.mark.parametrize("name", GOLDEN)
def test_steps_start_as_the_program_does(name):
    golden = GOLDEN[name]
    found, expected = step_by_step(name), golden.outputs[1]
    np.testing.assert_allclose(found[golden.inside], expected[golden.inside], 0, ATOL)


@pytest.mark.slow
def test_a_golden_sees_a_missing_transpose_and_a_missing_bias():
    name = "marian joint"
    arrays = converted(name).weights
    assert len(SQUARE) == 24
    for path in SQUARE:
        assert difference(name, {path: arrays[path].T}) > 20 * ATOL, path
    bias = {"token_logits/output_bias": np.zeros(48, "float32")}
    assert difference(name, bias) > 20 * ATOL


@pytest.mark.parametrize(
    ("name", "field"), [("pre_norm", "norm_first"), ("oldest", "tied_output")]
)
def test_a_golden_does_not_fit_another_kind_of_model(name, field):
    value = not getattr(converted(f"fairseq {name}").config, field)
    with pytest.raises(ValueError, match="unused: '(encoder_layer_norm|token_logits)"):
        difference(f"fairseq {name}", **{field: value})


@pytest.mark.parametrize("name", [n for n in GOLDEN if n.split()[0] in KEPT])
def test_stored_weights_are_loaded(name):
    """Also those that the outputs do not show, such as the biases of keys."""
    weights, (program, model) = converted(name).weights, name.split()
    if program == "marian":
        stored = open_checkpoint(MARIAN / model / "model.safetensors")
        stored = {k.removeprefix("model."): stored[k] for k in stored}
        assert sum(map(np.size, stored.values())) == sum(map(np.size, weights.values()))
    else:
        stored = open_training_checkpoint(FAIRSEQ / model / FILES[model], "model")[0]
        stored = rename(dict(stored))
    for part, ours in (("k", "key"), ("v", "value"), ("q", "query")):
        for their, our in (
            ("encoder.layers.0.self_attn", "encoder_block_0/attention"),
            ("decoder.layers.0.self_attn", "decoder_block_0/attention"),
            ("decoder.layers.0.encoder_attn", "decoder_block_0/cross_attention"),
        ):
            array = weights[f"{our}/{ours}/bias"]
            np.testing.assert_array_equal(array, stored[f"{their}.{part}_proj.bias"])
    task = translator(name)
    paths = task.backbone.variable_paths()
    loaded = {paths.get(id(v), v.path): v.numpy() for v in task.variables}
    assert_equal({path: loaded[path] for path in weights}, weights)
