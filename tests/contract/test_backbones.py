"""Promises of every backbone."""

import dataclasses
import json

import keras
import numpy as np
import pytest
import tensorflow as tf

import zoo
from zoo.backbone.saving import preset_variables

HALF = {"mixed_float16": "float16", "mixed_bfloat16": "bfloat16"}
SHOWN = pytest.mark.shown("bert", "elmo", "ulmfit", "transformer", "bag")


def as_numpy(outputs):
    return {k: np.asarray(v) for k, v in outputs.items()}


def widen(family, inputs, count):
    """The same rows with `count` more columns of padding."""
    return {
        key: np.pad(
            value,
            ((0, 0), (0, count), (0, 0))[: value.ndim],
            constant_values=family.pads[key],
        )
        for key, value in inputs.items()
    }


def test_shapes_and_dtypes(family, built):
    backbone = built(family)
    outputs = backbone(family.inputs())
    assert outputs.keys() == family.outputs.keys()
    for name, shape in family.outputs.items():
        sizes = tuple(10 if size == "L" else size for size in shape)
        assert tuple(outputs[name].shape) == (3, *sizes)
        assert keras.backend.standardize_dtype(outputs[name].dtype) == "float32"


def test_the_shapes_of_the_weights_are_known_before_they_are_made(family, built):
    backbone = built(family)
    made = {v.path: tuple(v.shape) for v in preset_variables(backbone)}
    assert type(backbone).weight_shapes(backbone.config) == made


def test_layers_and_scores_on_request(family, built):
    backbone, inputs = built(family), family.inputs()
    plain = as_numpy(backbone(inputs))
    masked = inputs[family.mask][:, None, None, None, :] == 0
    for side in family.sides:
        layers, scores = f"{side}layer_outputs", f"{side}attention_scores"
        sequence = f"{side}sequence_output"
        names = [layers, sequence, *([scores] if family.attention else [])]
        extra = as_numpy(backbone.with_outputs(*names)(inputs))
        assert extra[layers].shape == (3, 3, 10, 16)
        np.testing.assert_allclose(extra[sequence], plain[sequence], atol=1e-6)
        if family.attention:
            last = extra[layers][:, -1]
            np.testing.assert_allclose(last, plain[sequence], atol=1e-6)
            assert extra[scores].shape == (3, 2, 2, 10, 10)
            np.testing.assert_allclose(extra[scores].sum(-1), 1, atol=1e-6)
        if family.attention and f"{side}padding_mask" in inputs:
            assert np.max(extra[scores] * masked) == 0
    with pytest.raises(ValueError, match="no output 'none'.*sequence_output"):
        backbone.with_outputs("none")


@SHOWN
def test_outputs_at_some_positions(family, built):
    if "" not in family.sides:
        pytest.skip("of one sequence only")
    backbone, inputs = built(family), family.inputs()
    symbols = backbone.make_inputs(backbone.config)
    wanted = keras.Input((None,), dtype="int32")
    outputs = backbone.at_positions(symbols, wanted)
    model = keras.Model([symbols, wanted], outputs)
    every = as_numpy(backbone(inputs))
    for positions in ([], [0], [6, 2, 6]):
        chosen = np.tile(np.array(positions, "int32"), (3, 1))
        found = as_numpy(model([inputs, chosen]))
        assert found.keys() == every.keys()
        for name, expected in every.items():
            if name == "sequence_output":
                expected = expected[:, positions]
            np.testing.assert_allclose(found[name], expected, atol=1e-6)


@SHOWN
def test_a_config_makes_the_same_model(family, build):
    backbone = build(family, dtype="mixed_bfloat16")
    config = json.loads(json.dumps(backbone.get_config()))
    copy = type(backbone).from_config(config)
    assert copy.config == backbone.config
    assert copy.get_config() == backbone.get_config()
    assert [v.path for v in copy.weights] == [v.path for v in backbone.weights]
    config["config"]["num_layer"] = 3
    with pytest.raises(ValueError, match="'num_layer'. Did you mean 'num_.*layers'"):
        type(backbone).from_config(config)


def test_a_config_is_frozen(family, built):
    with pytest.raises(dataclasses.FrozenInstanceError):
        built(family).config.hidden_dim = 3


@SHOWN
def test_a_file_holds_the_model(family, build, tokenizers, tmp_path):
    backbone = build(family)
    tokenizer = backbone.tokenizer = tokenizers[family.name]
    backbone.save(tmp_path / "a.keras")
    copy = zoo.load_model(tmp_path / "a.keras")
    assert copy.config == backbone.config
    assert copy.tokenizer.get_config() == tokenizer.get_config()
    expected, outputs = (as_numpy(m(family.inputs())) for m in (backbone, copy))
    for key in expected:
        np.testing.assert_array_equal(outputs[key], expected[key])


@SHOWN
def test_a_preset_holds_the_model(family, build, tokenizers, tmp_path):
    backbone = build(family)
    tokenizer = backbone.tokenizer = tokenizers[family.name]
    backbone.save_to_preset(tmp_path / "preset")
    copy = zoo.from_preset(tmp_path / "preset")
    assert type(copy) is type(backbone) and copy.config == backbone.config
    assert copy.tokenizer.get_config() == tokenizer.get_config()
    for ours, theirs in zip(copy.weights, backbone.weights, strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy(), err_msg=ours.path)
    with pytest.raises(FileExistsError, match="exists and is not empty"):
        backbone.save_to_preset(tmp_path / "preset")


@pytest.mark.shown("bert", "elmo", "ulmfit", "transformer")
@pytest.mark.parametrize(
    "policy",
    [pytest.param("mixed_float16", marks=pytest.mark.slow), "mixed_bfloat16"],
)
def test_half_precision_is_close_and_finite(family, built, policy):
    inputs = widen(family, family.inputs(), 22)
    backbone, half = built(family), built(family, policy)
    expected, outputs = backbone(inputs), half(inputs)
    real = inputs[family.mask].astype(bool)
    # Within a fraction of their spread: 0.007 and 0.07 at most with five seeds.
    bound = {"mixed_float16": 0.02, "mixed_bfloat16": 0.16}[policy]
    for key, value in outputs.items():
        assert keras.backend.standardize_dtype(value.dtype) == HALF[policy]
        value = np.asarray(keras.ops.cast(value, "float32"))
        close = np.asarray(expected[key])
        assert np.isfinite(value).all()
        if value.ndim == 3:
            value, close = value[real], close[real]
        assert close.std() > 1e-3, key
        np.testing.assert_allclose(value, close, atol=bound * close.std(), err_msg=key)
    assert {v.dtype for v in half.trainable_weights} == {"float32"}


def test_norms_and_softmax_compute_in_float32(attending, build):
    """In float16, squares overflow from 256 and a softmax of these scores is coarse."""
    # A norm must stand between the embeddings and the first scores.
    fields = {"norm_first": True} if "norm_first" in attending.config else {}
    half = build(attending, "mixed_float16", **fields)
    table = half.named_layers["token_embedding"].embeddings
    table.assign(table * 3000)
    for side in attending.sides:
        first = next(n for n in half.named_layers if n.endswith(f"{side}block_0"))
        for name in ("query", "key"):
            layer = getattr(half.named_layers[first].attention, name)
            layer.kernel.assign(layer.kernel * 3)
        names = f"{side}attention_scores", f"{side}sequence_output"
        scores, sequence = half.with_outputs(*names)(attending.inputs()).values()
        assert keras.backend.standardize_dtype(scores.dtype) == "float32"
        np.testing.assert_allclose(keras.ops.sum(scores, -1), 1, atol=1e-6)
        sequence = keras.ops.cast(sequence, "float32")
        assert np.isfinite(np.asarray(sequence)).all()


@SHOWN
@pytest.mark.parametrize(
    "policy",
    [
        "float32",
        "mixed_float16",
        pytest.param("mixed_bfloat16", marks=pytest.mark.slow),
    ],
)
def test_a_row_of_padding_only_is_finite(family, built, policy):
    inputs = {
        key: np.full_like(x, family.pads[key]) for key, x in family.inputs().items()
    }
    for value in built(family, policy)(inputs).values():
        assert np.isfinite(np.asarray(value).astype("float32")).all()


@SHOWN
def test_every_trainable_weight_gets_a_gradient(family, built):
    backbone = built(family)
    with tf.GradientTape() as tape:
        outputs = backbone(family.inputs(), training=True)
        loss = sum(
            tf.reduce_sum(tf.sin(3 * value + tf.range(16.0)))
            for value in outputs.values()
        )
    gradients = tape.gradient(loss, [v.value for v in backbone.trainable_weights])
    for variable, gradient in zip(backbone.trainable_weights, gradients, strict=True):
        assert gradient is not None, variable.path
        size = float(tf.reduce_max(tf.abs(tf.convert_to_tensor(gradient))))
        if not variable.path.endswith("attention/key/bias"):  # cancels in the softmax
            assert size > 1e-4, variable.path


@SHOWN
def test_padding_changes_nothing(family, built):
    backbone, inputs = built(family), family.inputs()
    expected = as_numpy(backbone(inputs))
    real = inputs[family.mask].astype(bool)
    other = {**inputs, family.tokens: inputs[family.tokens].copy()}
    other[family.tokens][~real] = 9
    for changed in (widen(family, inputs, 1), widen(family, inputs, 6), other):
        for key, value in as_numpy(backbone(changed)).items():
            close = expected[key]
            if value.ndim == 3:
                value, close = value[:, :10][real], close[real]
            np.testing.assert_allclose(value, close, atol=1e-5, err_msg=key)


@SHOWN
def test_rows_do_not_see_each_other(family, built):
    backbone, inputs = built(family), family.inputs()
    together = as_numpy(backbone(inputs))
    for row in range(3):
        alone = {key: value[row : row + 1] for key, value in inputs.items()}
        for key, value in as_numpy(backbone(alone)).items():
            np.testing.assert_allclose(value[0], together[key][row], atol=1e-5)


def test_positions_see_what_they_may(family, built):
    backbone, inputs = built(family), family.inputs(rows=1)
    for side in family.sides:
        causal = family.causal or side == "decoder_"
        tokens = f"{side}token_ids" if side else family.tokens
        sequence = f"{side}sequence_output"
        before = as_numpy(backbone(inputs))[sequence][0]
        ids = inputs[tokens].copy()
        ids[0, 5] = np.where(ids[0, 5] != 5, 5, 6)
        after = as_numpy(backbone({**inputs, tokens: ids}))[sequence][0]
        changed = np.abs(after - before).max(axis=1) > 1e-4
        assert changed[5:].all()
        assert changed[:5].any() != causal
        assert changed[:5].all() != causal


@SHOWN
def test_masks_are_derived_from_the_tokens(family, built):
    backbone, inputs = built(family), family.inputs()
    if "segment_ids" in inputs:
        inputs["segment_ids"] = np.zeros_like(inputs["segment_ids"])
    expected = as_numpy(backbone(inputs))
    tokens, beside = inputs[family.tokens], {k: inputs[k] for k in family.beside}
    for short in (
        tokens if not beside else {family.tokens: tokens, **beside},
        {family.tokens: tokens.tolist(), **beside},
    ):
        for key, value in as_numpy(backbone(short)).items():
            np.testing.assert_allclose(value, expected[key], atol=1e-6)


@SHOWN
def test_other_features_are_ignored(family, built):
    """A tokenizer may know more of a row than a model reads."""
    backbone, inputs = built(family), family.inputs()
    expected = as_numpy(backbone(inputs))
    mask = inputs[family.mask]
    more = {"a_feature": mask + 7, "z": mask}
    for key, value in as_numpy(backbone({**more, **inputs})).items():
        np.testing.assert_array_equal(value, expected[key])


def test_a_backbone_takes_its_own_config(family, built):
    backbone = built(family)
    with pytest.raises(TypeError, match="must be a .*Config. Received: dict"):
        type(backbone)(dict(family.config))
