"""Layer normalization: its values, its gradients, and that TensorFlow merges it."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from final_graph import final_operations, require_onednn

from zoo.layers import LayerNorm, normalization
from zoo.layers.normalization import is_merged, normalize_rows

EPSILON = 1e-12
SHAPES = [(6,), (1, 6), (5, 6), (3, 4, 6), (2, 2, 3, 6)]


def make(dtype="float32", width=6):
    """A layer with weights that are not the initial ones."""
    layer = LayerNorm(epsilon=EPSILON, dtype=dtype)
    layer.build((None, width))
    generator = np.random.default_rng(0)
    layer.set_weights([generator.normal(size=width) for _ in range(2)])
    return layer


def expected(layer, x):
    x = np.asarray(x, "float64")
    centred = x - x.mean(-1, keepdims=True)
    gamma, beta = (np.asarray(w, "float64") for w in layer.get_weights())
    variance = (centred**2).mean(-1, keepdims=True)
    return centred / np.sqrt(variance + EPSILON) * gamma + beta


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize(
    "shape, jit", [(s, False) for s in SHAPES] + [(s, True) for s in SHAPES[1::3]]
)
def test_values(shape, jit, training):
    layer = make()
    x = np.random.default_rng(1).normal(3, 2, shape).astype("float32")
    call = tf.function(lambda x: layer(x, training=training), jit_compile=jit)
    found = call(x)
    assert found.shape == shape
    np.testing.assert_allclose(found, expected(layer, x), atol=1e-5)


@pytest.mark.parametrize(
    "dtype, tolerance",
    [("mixed_bfloat16", 0.05), ("mixed_float16", 0.005), ("float64", 1e-12)],
)
def test_other_policies(dtype, tolerance):
    layer = make(dtype)
    x = np.random.default_rng(1).normal(3, 2, (7, 6))
    found = layer(x)
    assert keras.backend.standardize_dtype(found.dtype) == layer.compute_dtype
    found = np.asarray(found, "float64")
    np.testing.assert_allclose(found, expected(layer, x), atol=tolerance)
    assert layer(np.zeros((0, 6), "float32")).shape == (0, 6)


def test_gradients_are_those_of_keras():
    layer, keras_layer = make(), keras.layers.LayerNormalization(epsilon=EPSILON)
    keras_layer.build((None, 6))
    keras_layer.set_weights(layer.get_weights())
    x = tf.random.stateless_normal((5, 6), (1, 2))

    def gradients(layer):
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = tf.reduce_sum(tf.sin(layer(x)))
        return tape.gradient(loss, [x, *layer.trainable_variables])

    for ours, theirs in zip(gradients(layer), gradients(keras_layer), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("shape", [(None, 6), (5, 6), (None, None, 6)])
def test_one_operation_on_the_cpu(shape, dtype):
    require_onednn(dtype)
    layer = make(dtype)

    @tf.function(input_signature=[tf.TensorSpec(shape, dtype)])
    def call(x):
        return tf.tanh(layer(tf.exp(x)))

    operations = final_operations(call, tf.ones([size or 2 for size in shape], dtype))
    assert [op for op in operations if "Norm" in op] == ["_MklLayerNorm[]"]


@pytest.mark.parametrize("setting", ["0", "1"])
def test_whether_it_is_merged_is_what_tensorflow_does(setting, monkeypatch):
    """Not what the environment says: TensorFlow asks the processor, too."""
    monkeypatch.setenv("TF_ENABLE_ONEDNN_OPTS", setting)  # too late to change anything
    is_merged.cache_clear()
    gamma = tf.Variable(tf.ones(6))

    @tf.function(input_signature=[tf.TensorSpec((None, 6))])
    def call(x):
        return normalize_rows(x, EPSILON) * gamma + gamma

    operations = final_operations(call, tf.ones((2, 6)))
    assert is_merged() == ("_MklLayerNorm[]" in operations)


def test_without_onednn_keras_computes_it(monkeypatch):
    monkeypatch.setattr(normalization, "is_merged", lambda: False)
    layer = make()
    graph = tf.function(lambda x: layer(x)).get_concrete_function(tf.ones((2, 6)))
    assert not any("BatchNorm" in node.op for node in graph.graph.as_graph_def().node)
