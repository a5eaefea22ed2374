"""Optimizers on weights of 16 and 64 bits, against float64."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from zoo.training import Adagrad, AdamW

RATE, DECAY, EPSILON = 0.1, 0.3, 1e-4
UPDATES = 5
TOLERANCES = {"bfloat16": 2e-2, "float16": 2e-3, "float32": 1e-5, "float64": 1e-8}
PAIRS = [(low, "float32") for low in ("bfloat16", "float16", "float64")]
PAIRS += [("bfloat16", "float64"), ("float16", "float16")]
OPTIONS = {"weight_decay": DECAY, "epsilon": EPSILON, "global_clipnorm": 1.0}
OPTIMIZERS = {
    "adamw": lambda **options: AdamW(RATE, **{**OPTIONS, **options}),
    "uncorrected": lambda: AdamW(RATE, **OPTIONS, bias_correction=False),
    "adagrad": lambda **options: Adagrad(RATE, **{"global_clipnorm": 1.0, **options}),
}


def train(make, dtypes, scale=3.0, updates=UPDATES):
    """The weights after some updates, (3, 2) for each dtype, as float64."""
    draw = np.random.default_rng(0)
    values = [draw.normal(size=(3, 2)) for _ in dtypes]
    with keras.name_scope("layer"):
        variables = [
            keras.Variable(value, dtype=dtype, name=f"kernel_{index}")
            for index, (value, dtype) in enumerate(zip(values, dtypes, strict=True))
        ]
    optimizer = make()
    for _ in range(updates):
        steps = [tf.constant(draw.normal(0, scale, (3, 2))) for _ in dtypes]
        steps = [tf.cast(s, dtype) for s, dtype in zip(steps, dtypes, strict=True)]
        optimizer.apply(steps, variables)
    return optimizer, [np.asarray(tf.cast(v.value, "float64")) for v in variables]


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("dtypes", PAIRS, ids="-".join)
@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
def test_weights_of_several_widths_are_clipped_together(
    name, dtypes, backend, monkeypatch
):
    # What other backends run is plain `keras.ops`, which TensorFlow runs as well.
    monkeypatch.setattr(keras.backend, "backend", lambda: backend)
    expected = train(OPTIMIZERS[name], ["float64"] * len(dtypes))[1]
    found = train(OPTIMIZERS[name], dtypes)[1]
    for dtype, ours, theirs in zip(dtypes, found, expected, strict=True):
        # A gradient in 16 bits changes the norm, and so every update.
        tolerance = max(TOLERANCES[other] for other in (dtype, *dtypes))
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


def adam(value, gradients, rate):
    """The rule of the docstring of `AdamW`, with corrected bias, in numpy."""
    m, v = np.zeros_like(value), np.zeros_like(value)
    for step, gradient in enumerate(gradients, start=1):
        m = 0.9 * m + 0.1 * gradient
        v = 0.999 * v + 0.001 * gradient**2
        root = np.sqrt(v / (1 - 0.999**step)) + EPSILON
        value = value - rate * (m / (1 - 0.9**step) / root + DECAY * value)
    return value


def test_float64_is_exact():
    """Keras computes `beta_2 ** t` from a beta of 32 bits; ours has 64."""
    draw = np.random.default_rng(0)
    value = draw.normal(size=(3, 2))
    gradients = [draw.normal(0, 3.0, (3, 2)) for _ in range(UPDATES)]
    found = train(lambda: OPTIMIZERS["adamw"](global_clipnorm=None), ["float64"])[1][0]
    expected = adam(value, gradients, float(np.float32(RATE)))
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    ours, theirs = (
        train(lambda make=make: make(RATE, global_clipnorm=None), ["float64"] * 2)[1]
        for make in (Adagrad, keras.optimizers.Adagrad)
    )
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_the_state_of_narrow_weights_is_float32(name):
    for dtype, expected in (("bfloat16", "float32"), ("float64", "float64")):
        optimizer, _ = train(OPTIMIZERS[name], [dtype])
        slots = [v.dtype for v in optimizer.variables if tuple(v.shape) == (3, 2)]
        assert slots and set(slots) == {expected}


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_a_second_moment_falls(dtype):
    """In bfloat16, 0.999 of a number is the number."""
    variable = keras.Variable(1.0, dtype=dtype)
    optimizer = AdamW(RATE, weight_decay=0.0, global_clipnorm=None)
    optimizer.apply([tf.cast(8.0, dtype)], [variable])
    for _ in range(9):
        optimizer.apply([tf.cast(0.0, dtype)], [variable])
    found = float(optimizer._velocities[0].numpy())
    assert found == pytest.approx(0.001 * 64 * 0.999**9, rel=1e-5)


@pytest.mark.parametrize("gradient", [1e-5, 3e2])
def test_squares_stay_in_the_range_of_float32(gradient):
    """In float16, 1e-5 squared is 0, and 300 squared is infinite."""
    gradient = tf.fill((4,), tf.cast(gradient, "float16"))
    for make in (
        lambda: AdamW(RATE, weight_decay=0.0, epsilon=1e-12),
        lambda: Adagrad(RATE, 0.0, epsilon=0.0, global_clipnorm=1.0),
    ):
        variable = keras.Variable(np.zeros(4), dtype="float16")
        make().apply([gradient], [variable])
        np.testing.assert_allclose(variable.numpy(), -RATE, rtol=1e-3)


def test_narrow_weights_have_a_moving_average():
    """Of a momentum that is 1 in bfloat16."""
    options = {"use_ema": True, "ema_momentum": 0.999, "global_clipnorm": None}
    variable = keras.Variable(0.0, dtype="bfloat16")
    optimizer = AdamW(1.0, weight_decay=0.0, epsilon=1e-12, **options)
    values = []
    for _ in range(4):
        optimizer.apply([tf.constant(-1.0, "bfloat16")], [variable])
        values.append(float(tf.cast(variable.value, "float32")))
    average = values[0]
    for value in values[1:]:
        average = 0.999 * average + 0.001 * value
    optimizer.finalize_variable_values([variable])
    average = float(tf.cast(tf.constant(average, "bfloat16"), "float32"))
    assert float(tf.cast(variable.value, "float32")) == average
    found = optimizer._model_variables_moving_average[0]
    assert found.dtype == "float32" and float(found.numpy()) > values[0]


def test_narrow_gradients_are_accumulated_in_float32():
    """Two updates of 256 halves; in bfloat16 the sum of 256 and 0.5 is 256."""
    variable = keras.Variable(0.0, dtype="bfloat16")
    optimizer = Adagrad(RATE, gradient_accumulation_steps=3)
    for gradient in (256.0, 0.5, 0.5):
        optimizer.apply([tf.constant(gradient, "bfloat16")], [variable])
    accumulated = float(optimizer._accumulators[0].numpy())
    assert accumulated == pytest.approx(0.1 + (257 / 3) ** 2, rel=1e-6)


def test_a_sparse_gradient_of_a_narrow_table():
    table = keras.Variable(np.ones((4, 2)), dtype="bfloat16")
    rows = tf.IndexedSlices(tf.fill((2, 2), tf.cast(3.0, "bfloat16")), [1, 1], (4, 2))
    AdamW(RATE, weight_decay=0.0).apply([rows], [table])
    moved = np.asarray(tf.cast(table.value, "float32")) - 1
    np.testing.assert_allclose(moved[1], -RATE, atol=4e-3)
    np.testing.assert_array_equal(moved[[0, 2, 3]], 0)
