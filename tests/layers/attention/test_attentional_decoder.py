"""The decoder with attention: its equations, its gradient, its steps."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from python_process import run_python
from scipy.special import expit as sigmoid

from zoo.layers import AttentionalDecoder
from zoo.layers.attention import attentional_decoder as module
from zoo.layers.attention.attentional_steps import run_plain

ROWS, LENGTH, WIDTH, SOURCE = 3, 5, 4, 6


def make(dropout=0.0, layers=2, dtype=None):
    """A layer with large weights, and its inputs; the last source has one word."""
    keras.utils.set_random_seed(2)
    layer = AttentionalDecoder(9, 3, WIDTH, layers, dropout, 0.7, dtype=dtype)
    draw = np.random.default_rng(0)
    state = (2, ROWS, layers, WIDTH)
    hidden, cell = draw.normal(0, 0.5, state).astype("float32")
    inputs = {
        "token_ids": draw.integers(0, 9, (ROWS, LENGTH)),
        "memory": draw.normal(0, 1, (ROWS, SOURCE, 7)).astype("float32"),
        "memory_mask": np.arange(SOURCE) < np.array([[6], [3], [1]]),
        "hidden": hidden,
        "cell": cell,
    }
    layer(**inputs)
    for bias in layer.biases:
        bias.assign(draw.normal(0, 0.5, bias.shape))
    return layer, {name: tf.constant(value) for name, value in inputs.items()}


JAX_PROGRAM = """
import keras, numpy as np
from zoo.layers import AttentionalDecoder
shapes = {"token_ids": (5,), "memory": (6, 7), "memory_mask": (6,)}
shapes |= {"hidden": (2, 4), "cell": (2, 4)}
inputs = {
    name: keras.Input(shape, dtype="int32" if "_" in name else "float32")
    for name, shape in shapes.items()
}
model = keras.Model(inputs, AttentionalDecoder(9, 3, 4, 2)(**inputs))
model.compile(keras.optimizers.SGD(0.1), "mse")
x = {name: np.ones((3, *shape), inputs[name].dtype) for name, shape in shapes.items()}
losses = [model.train_on_batch(x, np.ones((3, 5, 4))) for _ in range(3)]
assert losses[0] > losses[1] > losses[2], losses
"""


def by_the_equations(layer, x):
    """The attentional vectors of the class's equations, row by row, in float64."""
    w = {v.path.split("/")[-1]: np.asarray(v, "float64") for v in layer.weights}
    x = {name: np.asarray(value, "float64") for name, value in x.items()}
    found = np.zeros((ROWS, LENGTH, WIDTH))
    for row in range(ROWS):
        m = x["memory"][row][x["memory_mask"][row] > 0]
        hs, cs, a = list(x["hidden"][row]), list(x["cell"][row]), np.zeros(WIDTH)
        for t, token in enumerate(x["token_ids"][row].astype(int)):
            below = a
            for i in range(layer.num_layers):
                z = np.concatenate([below, hs[i]]) @ w[f"recurrent_kernel_{i}"]
                z += w[f"bias_{i}"]
                if i == 0:
                    z += w["embeddings"][token] @ w["kernel"]
                z_i, z_f, z_g, z_o = np.split(z, 4)
                cs[i] = sigmoid(z_f) * cs[i] + sigmoid(z_i) * np.tanh(z_g)
                hs[i] = below = sigmoid(z_o) * np.tanh(cs[i])
            scores = np.exp(m @ w["attention_kernel"] @ below)
            context = scores @ m / scores.sum()
            a = np.tanh(np.concatenate([context, below]) @ w["output_kernel"])
            found[row, t] = a
    return found


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("training", [False, True])
def test_it_computes_its_equations(layers, training):
    layer, inputs = make(layers=layers)
    found = layer(**inputs, training=training)
    np.testing.assert_allclose(found, by_the_equations(layer, inputs), atol=2e-6)


@pytest.mark.shown("0.4-3")
@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("dropout", [0.0, 0.4])
def test_the_gradient_is_that_of_the_steps(monkeypatch, layers, dropout):
    results = []
    for run in (module.run_trained, run_plain):
        monkeypatch.setattr(module, "run_trained", run)
        layer, inputs = make(dropout, layers)
        sources = [v for v in inputs.values() if v.dtype == "float32"]
        with tf.GradientTape() as tape:
            tape.watch(sources)
            vectors = layer(**inputs, training=True)
            loss = tf.reduce_sum(tf.sin(3 * vectors))
        variables = [v.value for v in layer.trainable_weights]
        gradients = tape.gradient(loss, [*variables, *sources])
        results.append([vectors, *map(tf.convert_to_tensor, gradients)])
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)
        assert np.abs(ours).max() > 1e-3


def test_dropout_is_drawn_anew_and_only_in_training():
    layer, inputs = make(0.5)
    first, second = (layer(**inputs, training=True) for _ in range(2))
    assert np.abs(first - second).max() > 0.1
    again = [layer(**inputs, training=False) for _ in range(2)]
    np.testing.assert_array_equal(*again)


@pytest.mark.parametrize("beams", [1, 3])
def test_steps_with_beams_are_the_call(beams):
    layer, inputs = make()
    draw = np.random.default_rng(3)
    ids = draw.integers(0, 9, (ROWS * beams, LENGTH))
    repeated = {k: np.repeat(v, beams, axis=0) for k, v in inputs.items()}
    expected = layer(**{**repeated, "token_ids": ids})
    source = layer.read_source(inputs["memory"], inputs["memory_mask"])
    states = layer.first_states(repeated["hidden"], repeated["cell"])
    found = []
    for begin, end in ((0, 1), (1, 3), (3, 4), (4, 5)):
        vectors, states = layer.step(ids[:, begin:end], states, source, beams)
        found.append(vectors)
    np.testing.assert_allclose(np.concatenate(found, axis=1), expected, atol=1e-6)


def test_a_source_without_words_is_finite():
    layer, inputs = make()
    inputs["memory_mask"] = tf.zeros_like(inputs["memory_mask"])
    assert np.isfinite(layer(**inputs)).all()


def test_half_precision_and_int8_are_close():
    layer, inputs = make()
    exact = layer(**inputs)
    half, _ = make(dtype="mixed_bfloat16")
    half.set_weights(layer.get_weights())
    np.testing.assert_allclose(
        np.asarray(half(**inputs, training=True), "float32"), exact, atol=0.05
    )
    layer.quantize("int8")
    np.testing.assert_allclose(layer(**inputs), exact, atol=0.05)


@pytest.mark.slow
def test_jax_trains_it():
    pytest.importorskip("jax")
    run_python(JAX_PROGRAM, KERAS_BACKEND="jax", JAX_PLATFORMS="cpu")
