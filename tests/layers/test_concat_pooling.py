"""Concat pooling against NumPy."""

import numpy as np
import pytest

from zoo.layers import ConcatPooling

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("reverse", [False, True])
def test_pooling_is_its_definition_and_padding_has_no_influence(reverse):
    x = RNG.normal(-2, 1, (4, 9, 5)).astype("float32")
    mask = np.zeros((4, 9), "int32")
    for row, (start, stop) in enumerate([(0, 9), (0, 4), (5, 9), (0, 0)]):
        mask[row, start:stop] = 1
    pooled = ConcatPooling(reverse)(x, mask).numpy()
    for row in range(3):
        kept = x[row][mask[row] == 1]
        last = kept[0] if reverse else kept[-1]
        expected = np.concatenate([last, kept.max(0), kept.mean(0)])
        np.testing.assert_allclose(pooled[row], expected, atol=1e-6)
    assert not np.any(pooled[3])
