"""The LSTM against its equations, one step at a time."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from scipy.special import expit as sigmoid

from zoo.layers import LSTM
from zoo.layers.recurrent import scan

MASK = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [0, 1, 1, 1, 0], [0, 0, 0, 0, 0]])


def reference(layer, x, mask, m, c):
    """One row at a time, one step at a time, as TensorFlow 1's cell computes it."""
    kernel, recurrent, bias, *project = layer.get_weights()
    both = np.concatenate([kernel, recurrent])
    sequence = np.zeros((*x.shape[:2], m.shape[1]))
    m, c = m.copy(), c.copy()
    for row in range(len(x)):
        steps = range(x.shape[1])
        for step in reversed(steps) if layer.reverse else steps:
            if not mask[row, step]:
                continue
            z = np.concatenate([x[row, step], m[row]]) @ both + bias
            i, f, g, o = np.split(z, 4)
            c[row] = sigmoid(f + layer.forget_bias) * c[row] + sigmoid(i) * np.tanh(g)
            if layer.cell_clip:
                c[row] = np.clip(c[row], -layer.cell_clip, layer.cell_clip)
            h = sigmoid(o) * np.tanh(c[row])
            m[row] = h @ project[0] if project else h
            if layer.projection_clip:
                m[row] = np.clip(m[row], -layer.projection_clip, layer.projection_clip)
            sequence[row, step] = m[row]
    return sequence, m, c


def make(projection_dim=3, clips=True, reverse=False, dtype="float64", packed=False):
    """A layer of 4 units with weights that saturate gates and reach the bounds."""
    options = {"forget_bias": 0.7, "reverse": reverse, "packed": packed, "dtype": dtype}
    if clips:
        options |= {
            "cell_clip": 0.5,
            "projection_clip": 0.3 if projection_dim else None,
        }
    layer = LSTM(4, projection_dim, **options)
    layer.build((None, None, 5))
    draw = np.random.default_rng(0)
    for weight in layer.weights:
        weight.assign(draw.normal(size=weight.shape))
    return layer


def assert_close(found, expected, name=""):
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-12, err_msg=name)


def data(layer, rows=4, length=5):
    draw = np.random.default_rng(1)
    sizes = [(rows, length, 5), (rows, layer.output_dim), (rows, layer.units)]
    return [draw.normal(size=size) / 3 for size in sizes]


CASES = [
    (projection_dim, clips, reverse)
    for projection_dim in (None, 3)
    for clips in (False, True)
    for reverse in (False, True)
]


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_it_is_the_equation(case, training):
    layer = make(*case)
    x, m, c = data(layer)
    found = layer(x, mask=MASK, initial_state=(m, c), training=training)
    assert_close(found, reference(layer, x, MASK, m, c))
    everywhere = reference(layer, x, np.ones_like(MASK), 0 * m, 0 * c)
    assert_close(layer(x, training=training), everywhere)


def loss_of(layer, x, state, mask, training):
    """A scalar that depends on every output in a different way."""
    outputs = layer(x, mask=mask, initial_state=state, training=training)
    total = 0.0
    for number, output in enumerate(outputs):
        factors = np.cos(np.arange(np.prod(output.shape)) + number)
        total += tf.reduce_sum(output * factors.reshape(output.shape))
    return total


def gradients(layer, inputs, mask, training):
    x, *state = (tf.constant(part) for part in inputs)
    with tf.GradientTape() as tape:
        tape.watch([x, *state])
        loss = loss_of(layer, x, tuple(state), mask, training)
    weights = [weight.value for weight in layer.weights]
    return tape.gradient(loss, [x, *state, *weights])


@pytest.mark.shown("(None, True, True)-2")
@pytest.mark.parametrize("steps", [2, pytest.param(64, marks=pytest.mark.slow)])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_packed_results_are_the_same(case, steps, monkeypatch):
    monkeypatch.setattr(scan, "STEPS_AT_ONCE", steps)  # prepared at once
    layer = make(*case, packed=True)
    assert not layer.supports_jit and make(*case).supports_jit
    x, m, c = data(layer)
    masks = {"some": MASK, "none": 0 * MASK, "all": 0 * MASK + 1}
    for name, mask in masks.items():
        function = tf.function(layer)
        for call in (layer, function):
            found = call(x, mask=mask, initial_state=(m, c), training=False)
            expected = reference(layer, x, mask, m, c)
            assert_close(found, expected, name)
    expected = gradients(layer, (x, m, c), MASK, training=True)
    found = gradients(layer, (x, m, c), MASK, training=False)
    assert_close(found, expected)


@pytest.mark.parametrize("packed", [False, True])
def test_shapes_may_be_unknown(packed):
    inputs = keras.Input((None, 5)), keras.Input((None,))
    model = keras.Model(inputs, LSTM(4, 3, packed=packed)(*inputs))
    assert model.output_shape == [(None, None, 3), (None, 3), (None, 4)]
    function = tf.function(
        lambda *inputs: model(inputs),
        input_signature=[tf.TensorSpec((None, None, 5)), tf.TensorSpec((None, None))],
    )
    shapes = [tuple(t.shape) for t in function(tf.ones((2, 3, 5)), tf.ones((2, 3)))]
    assert shapes == [(2, 3, 3), (2, 3), (2, 4)]


@pytest.mark.shown("(3, False, False)-True")
@pytest.mark.parametrize("masked", [pytest.param(False, marks=pytest.mark.slow), True])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_gradient_equals_automatic_differentiation(case, masked):
    layer, mask = make(*case), MASK if masked else None
    inputs = data(layer)
    expected = gradients(layer, inputs, mask, training=False)
    for jit in (False, True):
        function = tf.function(
            lambda: gradients(layer, inputs, mask, training=True), jit_compile=jit
        )
        assert_close(function(), expected)


@pytest.mark.slow
def test_its_gradient_is_the_difference_quotient():
    layer = make()
    x, *state = data(layer)
    x, state = tf.constant(x), tuple(map(tf.constant, state))
    weights = layer.get_weights()
    for number, found in enumerate(gradients(layer, [x, *state], MASK, True)[3:]):
        for place in np.ndindex(*weights[number].shape):
            values = []
            for sign in (1, -1):
                moved = [w.copy() for w in weights]
                moved[number][place] += sign * 1e-6
                layer.set_weights(moved)
                values.append(float(loss_of(layer, x, state, MASK, True)))
            quotient = (values[0] - values[1]) / 2e-6
            assert abs(float(found[place]) - quotient) < 1e-7
        layer.set_weights(weights)


@pytest.mark.parametrize("reverse", [False, True])
def test_a_split_sequence_gives_the_same_result(reverse):
    layer = make(reverse=reverse)
    x, m, c = data(layer)
    whole = layer(x, initial_state=(m, c))
    parts = [x[:, :2], x[:, 2:]]
    found, state = {}, (m, c)
    for number in (1, 0) if reverse else (0, 1):
        found[number], *state = layer(parts[number], initial_state=tuple(state))
    sequence = np.concatenate([found[0], found[1]], axis=1)
    np.testing.assert_allclose(sequence, whole[0], atol=1e-12)
    np.testing.assert_allclose(state[1], whole[2], atol=1e-12)


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
@pytest.mark.parametrize("training", [False, True, "packed"])
def test_16_bit_outputs_are_close_and_the_cell_is_float32(policy, training):
    packed, training = training == "packed", training is True
    layer, half = make(dtype="float32"), make(dtype=policy, packed=packed)
    x, m, c = (part.astype("float32") for part in data(layer))
    expected = layer(x, MASK, (m, c), training=training)
    found = half(x, MASK, (m, c), training=training)
    assert [t.dtype.name for t in found] == [policy[6:], policy[6:], "float32"]
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(tf.cast(ours, "float32"), theirs, atol=0.05)


@pytest.mark.parametrize("packed", [False, True])
def test_a_sequence_without_steps_returns_the_initial_state(packed):
    layer = make(packed=packed)
    x, m, c = data(layer, length=0)
    sequence, *state = layer(x, mask=MASK[:, :0], initial_state=(m, c))
    assert sequence.shape == (4, 0, 3)
    np.testing.assert_equal(state, [m, c])


def test_it_reads_the_mask_of_keras():
    inputs = keras.Input((None,), dtype="int32")
    x = keras.layers.Embedding(9, 5, mask_zero=True)(inputs)
    layer = LSTM(4, dtype="float32")
    model = keras.Model(inputs, layer(x))
    short, long = np.array([[3, 4]]), np.array([[3, 4, 0, 0]])
    found, expected = model(long), model(short)
    np.testing.assert_allclose(found[1], expected[1], atol=1e-6)
    np.testing.assert_allclose(found[0][:, :2], expected[0], atol=1e-6)
    assert not np.any(found[0][:, 2:])


def test_a_config_makes_the_same_layer():
    layer = make(reverse=True)
    copy = LSTM.from_config(layer.get_config())
    copy.build((None, None, 5))
    copy.set_weights(layer.get_weights())
    x = data(layer)[0]
    np.testing.assert_array_equal(copy(x)[0], layer(x)[0])
    with pytest.raises(ValueError, match="needs `projection_dim`"):
        LSTM(2, projection_clip=3.0)
