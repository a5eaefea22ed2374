"""Biattention, its pooling, concat pooling and maxout against NumPy."""

import keras
import numpy as np
import pytest

from zoo.layers import AttentivePooling, Biattention, ConcatPooling, Maxout

RNG = np.random.default_rng(0)
SPANS = np.array([(0, 9), (0, 4), (5, 9), (0, 0)])[:, :, None]
MASK = ((SPANS[:, 0] <= np.arange(9)) & (np.arange(9) < SPANS[:, 1])).astype("int32")


def normal(*shape):
    return RNG.normal(0, 0.3, shape).astype("float32")


def shares_of(scores):
    powers = np.exp(scores - scores.max())
    return powers / powers.sum()


def test_biattention_is_its_definition_and_padding_has_no_influence():
    x, y = normal(4, 7, 5) * 5, normal(4, 9, 5) * 5
    found = np.asarray(Biattention()(x, y, MASK))
    for row in range(4):
        kept = y[row][MASK[row] == 1]
        for i, vector in enumerate(x[row]):
            a = shares_of(kept @ vector) @ kept if len(kept) else np.zeros(5)
            expected = np.concatenate([vector, vector - a, vector * a])
            np.testing.assert_allclose(found[row, i], expected, atol=5e-6)


def test_pooling_is_its_definition_and_padding_has_no_influence():
    x = normal(4, 9, 5) - 2
    layer = AttentivePooling()
    layer.build(x.shape)
    vector = normal(5, 1) * 5
    layer.set_weights([vector])
    found = np.asarray(layer(x, MASK))
    for row in range(3):
        kept = x[row][MASK[row] == 1]
        weighted = shares_of((kept @ vector)[:, 0]) @ kept
        parts = kept.max(0), kept.min(0), kept.mean(0), weighted
        np.testing.assert_allclose(found[row], np.concatenate(parts), atol=5e-6)
    assert not found[3].any()


@pytest.mark.parametrize("reverse", [False, True])
def test_concat_pooling_is_its_definition_and_padding_has_no_influence(reverse):
    x = normal(4, 9, 5) - 2
    pooled = ConcatPooling(reverse)(x, MASK).numpy()
    for row in range(3):
        kept = x[row][MASK[row] == 1]
        last = kept[0] if reverse else kept[-1]
        expected = np.concatenate([last, kept.max(0), kept.mean(0)])
        np.testing.assert_allclose(pooled[row], expected, atol=1e-6)
    assert not np.any(pooled[3])


def test_maxout_is_the_largest_of_its_functions():
    x, layer = normal(6, 5), Maxout(3, pool_size=4)
    layer.build(x.shape)
    kernel, bias = normal(5, 12), normal(12)
    layer.set_weights([kernel, bias])
    found = np.asarray(layer(x))
    for unit in range(3):
        four = [x @ kernel[:, k] + bias[k] for k in range(4 * unit, 4 * unit + 4)]
        np.testing.assert_allclose(found[:, unit], np.max(four, axis=0), atol=5e-6)


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_16_bits_are_near(policy):
    x, mask = normal(4, 9, 5), MASK
    wide = Biattention()(x, x, mask)
    narrow = Biattention(dtype=policy)(x, x, mask)
    assert narrow.dtype == policy.removeprefix("mixed_")
    np.testing.assert_allclose(keras.ops.cast(narrow, "float32"), wide, atol=0.02)
