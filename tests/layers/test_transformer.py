"""The encoder block."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from final_graph import final_operations, require_onednn

from zoo.layers import (
    MultiHeadAttention,
    PositionEmbedding,
    SinusoidalPositions,
    TransformerBlock,
)
from zoo.layers.attention.transformer import WithScores


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_some_positions_are_those_of_all(causal, masked):
    keras.utils.set_random_seed(0)
    block = TransformerBlock(2, 16, causal=causal, stddev=0.3)
    x = keras.random.normal((3, 7, 8), seed=1)
    mask = np.arange(7)[None] < np.array([[7], [5], [2]]) if masked else None
    positions = np.array([[0, 6, 3], [2, 2, 0], [1, 4, 5]], "int32")
    every, scores = block(x, mask, return_scores=True)
    some, some_scores = block(x, mask, positions, return_scores=True)
    index = positions[:, :, None]
    expected = np.take_along_axis(np.asarray(every), index, 1)
    np.testing.assert_allclose(some, expected, atol=1e-5)
    expected = np.take_along_axis(np.asarray(scores), index[:, None], 2)
    np.testing.assert_allclose(some_scores, expected, atol=1e-6)
    assert block(x, mask, positions[:, :0]).shape == (3, 0, 8)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("causal", [False, True])
def test_scale_and_mask_are_merged_into_the_scores(causal, dtype):
    """TensorFlow merges them only in one order and without a cast between them."""
    require_onednn(dtype)
    keras.utils.set_random_seed(0)
    block = TransformerBlock(2, 8, causal=causal, dtype=dtype, stddev=0.3)
    x = tf.cast(keras.random.normal((2, 5, 4), seed=1), dtype)
    mask = tf.constant([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0]])
    shapes = [((None, None, 4), dtype), ((None, None), "int32")]
    call = tf.function(block, input_signature=[tf.TensorSpec(*s) for s in shapes])
    operations = final_operations(call, x, mask)
    assert "_MklFusedBatchMatMulV2[b'Mul', b'Add']" in operations
    found, expected = (tf.cast(f(x, mask), "float32") for f in (call, block))
    atol = 1e-5 if dtype == "float32" else 0.1
    np.testing.assert_allclose(found, expected, atol=atol)


def test_a_mask_may_be_that_of_all_rows():
    keras.utils.set_random_seed(0)
    attention = MultiHeadAttention(2, stddev=0.3)
    x = keras.random.normal((3, 5, 4), seed=1)
    mask = np.tri(5, dtype=bool)[None]
    expected = attention(x, np.repeat(mask, 3, axis=0))
    np.testing.assert_allclose(attention(x, mask), expected, atol=1e-6)
    assert not np.allclose(attention(x), expected, atol=1e-2)


@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16", "bfloat16"])
def test_symbolic_outputs_are_like_those_of_numbers(dtype):
    block = TransformerBlock(2, 8, cross=True, dtype=dtype)
    shapes = {"x": (3, 5, 4), "positions": (3, 2), "memory": (3, 6, 4)}
    numbers = {
        name: np.zeros(shape, "int32" if name == "positions" else "float32")
        for name, shape in shapes.items()
    }
    for names in (["x"], ["x", "positions"], ["x", "memory"], [*shapes]):
        values = {name: numbers[name] for name in names}
        symbols = {n: keras.Input(v.shape[1:], 3, v.dtype) for n, v in values.items()}
        calls = [(block, ("x", "mask", "positions", "memory"))]
        if "positions" not in names:
            calls.append((WithScores(block), ("x", "mask", "memory")))
        for layer, order in calls:
            by_name = [layer(**given) for given in (symbols, values)]
            by_place = [layer(*map(given.get, order)) for given in (symbols, values)]
            for outputs in (by_name, by_place):
                pairs = zip(*map(keras.tree.flatten, outputs), strict=True)
                for symbol, value in pairs:
                    assert symbol.shape == tuple(value.shape)
                    assert keras.backend.standardize_dtype(value.dtype) == symbol.dtype


@pytest.mark.parametrize("layer", [PositionEmbedding(8), SinusoidalPositions(8)])
def test_symbolic_positions_are_like_those_of_numbers(layer):
    x, places = np.zeros((3, 5, 4), "float32"), np.ones((3, 5), "int32")
    symbols = keras.Input((5, 4), 3), keras.Input((5,), 3, "int32")
    assert layer(symbols[0]).shape == layer(x).shape == (1, 5, 4)
    assert layer(*symbols).shape == layer(x, places).shape == (3, 5, 4)
    assert layer.compute_output_shape((3, 5, 4)) == (1, 5, 4)


def test_the_config_of_a_block_has_every_argument():
    options = {
        "num_heads": 2,
        "intermediate_dim": 8,
        "activation": "relu",
        "dropout": 0.1,
        "attention_dropout": 0.2,
        "layer_norm_epsilon": 1e-5,
        "stddev": None,
        "causal": True,
        "cross": True,
        "norm_first": True,
        "attention_bias": False,
        "activation_dropout": 0.3,
    }
    defaults = TransformerBlock(num_heads=2, intermediate_dim=8).get_config()
    assert options.keys() <= defaults.keys()
    assert defaults["layer_norm_epsilon"] == 1e-12 and defaults["stddev"] == 0.02
    block = TransformerBlock(**options, name="block", dtype="mixed_bfloat16")
    config = block.get_config()
    assert config.items() >= options.items()
    copy = TransformerBlock.from_config(config)
    assert copy.get_config() == config and copy.name == "block"
    assert copy.dtype_policy.name == "mixed_bfloat16"
    with pytest.raises(ValueError, match="rate"):
        TransformerBlock(2, 8, rate=0.1)
