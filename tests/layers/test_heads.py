"""The heads as layers of any model."""

import keras
import numpy as np

from zoo.layers import ComparedSegments, MaskedLMHead


def test_the_masked_lm_head_is_rebuilt_and_scores_some_positions():
    embedding = keras.layers.Embedding(11, 4)
    embedding.build()
    head = MaskedLMHead(embedding, "relu", layer_norm_epsilon=0.5, stddev=0.3)
    sequence = keras.random.normal((2, 3, 4), seed=0)
    every = np.asarray(head(sequence))
    some = head(sequence, np.array([[2, 0], [1, 1]]))
    np.testing.assert_allclose(some[0], every[0, [2, 0]], atol=1e-6)
    np.testing.assert_allclose(some[1], every[1, [1, 1]], atol=1e-6)
    config = keras.saving.serialize_keras_object(head)
    copy = keras.saving.deserialize_keras_object(config)
    copy(sequence)
    copy.set_weights(head.get_weights())
    assert copy.get_config() == head.get_config()
    np.testing.assert_allclose(copy(sequence), every, atol=1e-6)


def test_compared_segments_are_their_formula():
    sequence = np.random.default_rng(0).normal(size=(4, 5, 4)).astype("float32")
    mask = np.array([[1, 1, 1, 1, 0], [1, 1, 1, 0, 0], [0] * 5, [0, 1, 1, 1, 0]])
    segments = np.array([[0, 0, 1, 1, 1], [0] * 5, [1] * 5, [0, 1, 1, 1, 1]])
    found = np.asarray(ComparedSegments()(sequence, mask, segments))

    def mean(row, begin, end):
        vector = sequence[row, begin:end].mean(0)
        return vector / np.sqrt(np.square(vector).mean())

    m, u, v = mean(0, 0, 4), mean(0, 0, 2), mean(0, 2, 4)
    expected = np.concatenate([m, np.abs(u - v), u * v])
    np.testing.assert_allclose(found[0], expected, atol=1e-5)
    sides = np.asarray(ComparedSegments(sides=True)(sequence, mask, segments))
    np.testing.assert_allclose(sides[0, :8], np.concatenate([u, v]), atol=1e-5)
    np.testing.assert_array_equal(sides[:, 8:], found[:, 4:])
    for row, begin, end in ((1, 0, 3), (3, 1, 4)):  # of one segment
        np.testing.assert_allclose(found[row, :4], mean(row, begin, end), atol=1e-5)
        assert not found[row, 4:].any()
    assert not found[2].any()
    smaller = np.asarray(ComparedSegments()(1e-3 * sequence, mask, segments))
    np.testing.assert_allclose(smaller, found, atol=1e-5)
