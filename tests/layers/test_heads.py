"""The heads as layers of any model."""

import keras
import numpy as np

from zoo.layers import ComparedSegments, ComparedTexts, MaskedLMHead


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
    for row, begin, end in ((1, 0, 3), (3, 1, 4)):  # of one segment
        np.testing.assert_allclose(found[row, :4], mean(row, begin, end), atol=1e-5)
        assert not found[row, 4:].any()
    assert not found[2].any()
    smaller = np.asarray(ComparedSegments()(1e-3 * sequence, mask, segments))
    np.testing.assert_allclose(smaller, found, atol=1e-5)


def test_compared_texts_are_their_formula():
    random = np.random.default_rng(0)
    first, second = random.normal(size=(3, 4, 8)), random.normal(size=(3, 5, 8))
    first[0, 1] = 2 * second[0, 2]  # a token that both texts have
    masks = np.array([[1, 1, 1, 0], [1] * 4, [0] * 4]), np.array([[1, 1, 1, 1, 0]] * 3)
    found = np.asarray(ComparedTexts()(first, masks[0], second, masks[1]))
    for row, length in ((0, 3), (1, 4)):
        a, b = first[row, :length], second[row, :4]
        u, v = (x.mean(0) / np.sqrt(np.square(x.mean(0)).mean()) for x in (a, b))
        sizes = np.outer(np.linalg.norm(a, axis=1), np.linalg.norm(b, axis=1))
        cosines = a @ b.T / sizes
        sides = cosines.max(1), cosines.max(0)
        similar = [np.mean(u * v)]
        similar += [number for side in sides for number in (side.mean(), side.min())]
        expected = [u / 4, v / 4, np.abs(u - v) / 4, u * v / 4, 100 * np.array(similar)]
        np.testing.assert_allclose(found[row], np.concatenate(expected), atol=1e-4)
    assert found[0, 33] < 100 and not found[2, :8].any() and not found[2, 16:].any()
    longer = np.pad(second, ((0, 0), (0, 2), (0, 0)), constant_values=9)
    mask = np.pad(masks[1], ((0, 0), (0, 2)))
    padded = ComparedTexts()(first, masks[0], longer, mask)
    np.testing.assert_allclose(padded, found, atol=1e-4)
