"""The encoder block."""

import keras
import numpy as np
import pytest

from zoo.layers import TransformerEncoderBlock


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_some_positions_are_those_of_all(causal, masked):
    keras.utils.set_random_seed(0)
    block = TransformerEncoderBlock(2, 16, causal=causal, stddev=0.3)
    x = keras.random.normal((3, 7, 8), seed=1)
    mask = np.arange(7)[None] < np.array([[7], [5], [2]]) if masked else None
    positions = np.array([[0, 6, 3], [2, 2, 0], [1, 4, 5]], "int32")
    every, scores = block(x, mask, return_scores=True)
    some, some_scores = block(x, mask, positions, return_scores=True)
    index = positions[:, :, None]
    np.testing.assert_allclose(
        some, np.take_along_axis(np.asarray(every), index, 1), atol=1e-5
    )
    np.testing.assert_allclose(
        some_scores,
        np.take_along_axis(np.asarray(scores), index[:, None], 2),
        atol=1e-6,
    )
    assert block(x, mask, positions[:, :0]).shape == (3, 0, 8)
