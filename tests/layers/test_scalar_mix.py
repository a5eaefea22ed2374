"""The scalar mix against the two reference programs' equations."""

import keras
import numpy as np
import pytest

from zoo.layers import ScalarMix

LAYERS = np.random.default_rng(0).normal(size=(2, 3, 5, 4)).astype("float32")
MASK = np.array([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0]])


def make(**options):
    layer = ScalarMix(**options)
    layer.build(LAYERS.shape)
    layer.gamma.assign([1.1])
    if layer.scalars is not None:
        layer.scalars.assign([0.1, 0.3, 0.5])
    return layer


def weights():
    exponents = np.exp([0.1, 0.3, 0.5])
    return 1.1 * exponents / exponents.sum()


def test_it_starts_as_the_mean_and_is_the_equation():
    np.testing.assert_allclose(ScalarMix()(LAYERS), LAYERS.mean(1), atol=1e-6)
    expected = np.einsum("n,bnld->bld", weights(), LAYERS)
    np.testing.assert_allclose(make()(LAYERS, MASK), expected, atol=1e-6)


def test_the_top_layer_only():
    layer = make(layer=-1)
    np.testing.assert_allclose(layer(LAYERS), 1.1 * LAYERS[:, -1], atol=1e-6)
    assert len(layer.weights) == 1


@pytest.mark.parametrize("epsilon", [1e-12, 1e-1])
def test_layer_norm_is_over_all_tokens_together(epsilon):
    found = np.asarray(make(layer_norm_epsilon=epsilon)(LAYERS, MASK))
    real, mixed = MASK.astype(bool), 0
    for number, weight in enumerate(weights()):
        inside = LAYERS[:, number][real]
        scale = np.sqrt(inside.var() + epsilon)
        mixed = mixed + weight * (inside - inside.mean()) / scale
    np.testing.assert_allclose(found[real], mixed, atol=1e-5)
    assert not found[~real].any()


def test_it_sums_in_float32():
    layer = make(dtype="mixed_float16")
    found = layer((LAYERS * 2e4).astype("float16"))
    expected = np.einsum("n,bnld->bld", weights(), (LAYERS * 2e4).astype("float16"))
    assert found.dtype.name == "float16"
    fits = np.abs(expected) < 6e4
    np.testing.assert_allclose(np.asarray(found)[fits], expected[fits], rtol=2e-3)


def test_the_loss_pulls_to_the_mean():
    layer = make(l2=0.1)
    np.testing.assert_allclose(sum(layer.losses), 0.1 * (0.01 + 0.09 + 0.25), rtol=1e-6)
    config = keras.saving.serialize_keras_object(layer)
    assert keras.saving.deserialize_keras_object(config).l2 == 0.1
