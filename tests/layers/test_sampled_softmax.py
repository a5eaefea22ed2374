"""The softmax over many words, whole and sampled."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from zoo.layers import SampledSoftmax

WORDS, WIDTH = 50, 6


def make(num_samples=None, **options):
    """A layer with random weights, and random hidden states and targets."""
    layer = SampledSoftmax(WORDS, num_samples, seed=3, **options)
    draw = np.random.default_rng(0)
    hidden = draw.normal(size=(4, 5, WIDTH)).astype("float32")
    targets = draw.integers(0, WORDS, (4, 5)).astype("int32")
    layer.build(hidden.shape)
    layer.kernel.assign(draw.normal(size=(WORDS, WIDTH)))
    layer.bias.assign(draw.normal(size=WORDS))
    return layer, hidden, targets


def whole(layer, hidden, targets):
    """The definition, in NumPy."""
    logits = hidden @ layer.kernel.numpy().T + layer.bias.numpy()
    total = np.log(np.exp(logits).sum(-1))
    return total - np.take_along_axis(logits, targets[..., None], -1)[..., 0]


@pytest.mark.parametrize(
    "num_samples, training", [(None, False), (None, True), (3, False)]
)
def test_whole_softmax(num_samples, training):
    """Without samples, and always in evaluation."""
    layer, hidden, targets = make(num_samples)
    found = layer(hidden, targets, training=training)
    np.testing.assert_allclose(found, whole(layer, hidden, targets), rtol=1e-5)


def test_sampled_softmax_by_its_definition():
    layer, hidden, targets = make(7)
    samples = np.array([0, 1, 1, 9, 30, 49, targets[0, 0]])
    logits, own = layer.sampled_logits(
        ops.reshape(hidden, (-1, WIDTH)), ops.reshape(targets, (-1,)), samples
    )
    law = np.log((np.arange(WORDS) + 2) / (np.arange(WORDS) + 1)) / np.log(WORDS + 1)
    np.testing.assert_allclose(law.sum(), 1, rtol=1e-6)
    scores = hidden.reshape(-1, WIDTH) @ layer.kernel.numpy().T + layer.bias.numpy()
    for row, target in enumerate(targets.ravel()):
        np.testing.assert_allclose(own[row], scores[row, target], rtol=1e-4, atol=1e-4)
        for column, word in enumerate(samples):
            score = scores[row, word] - np.log(7 * law[word])
            expected, found = -1e9 if word == target else score, logits[row, column]
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_samples_follow_zipfs_law():
    layer, *_ = make(200_000)
    found = np.bincount(ops.convert_to_numpy(layer.draw()), minlength=WORDS)
    expected = np.exp(ops.convert_to_numpy(layer.expected(np.arange(WORDS))))
    np.testing.assert_allclose(expected.sum(), 200_000, rtol=1e-5)
    assert np.abs(found - expected).max() < 6
    few = make(4)[0]
    drawn = np.concatenate([few.draw() for _ in range(400)])
    seen = np.bincount(drawn, minlength=WORDS)
    expected = 400 * np.exp(ops.convert_to_numpy(few.expected(np.arange(WORDS))))
    chi_square = ((seen - expected) ** 2 / expected).sum()
    assert chi_square < 90  # at most 49 degrees of freedom: one in 3,000


def test_the_mean_gradient_of_samples_is_close_to_the_exact_one():
    layer, hidden, targets = make(100)
    hidden = 0.3 * hidden

    def gradient(training):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(layer(hidden, targets, training=training))
        return tf.convert_to_tensor(tape.gradient(loss, layer.kernel.value)).numpy()

    exact = gradient(False)
    found = np.mean([gradient(True) for _ in range(50)], axis=0)
    assert np.abs(found - exact).max() < 0.1 * np.abs(exact).max()


def test_samples_differ_between_batches_and_depend_on_the_seed():
    layer, hidden, targets = make(5)
    again, *_ = make(5)
    first, second = (np.array(layer(hidden, targets, training=True)) for _ in range(2))
    assert np.abs(first - second).max() > 1e-3
    np.testing.assert_array_equal(first, again(hidden, targets, training=True))


@pytest.mark.half_precision
def test_sixteen_bits():
    layer, hidden, targets = make(dtype="mixed_bfloat16")
    found = layer(hidden, targets)
    assert keras.backend.standardize_dtype(found.dtype) == "float32"
    np.testing.assert_allclose(found, whole(layer, hidden, targets), atol=0.1)
