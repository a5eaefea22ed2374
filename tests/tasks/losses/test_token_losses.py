"""Cross-entropy of tokens: with smoothed labels, its gradient, and as a metric."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from zoo.tasks.losses.label_smoothing import KINDS, SmoothedCrossentropy, probabilities
from zoo.tasks.losses.token_metrics import TokenCrossentropy

CLASSES = 7
LABELS = np.array([[1, 3, 6], [2, 0, 3]], "int32")
LOGITS = np.random.default_rng(0).normal(0, 2, (2, 3, CLASSES)).astype("float32")
WEIGHTS = np.array([[1, 1, 0.5], [1, 0, 0]], "float32")


def smoothed(smoothing, kind):
    """The distributions of the labels, one number for each class."""
    right, other, fewer = probabilities(smoothing, CLASSES, kind)
    found = np.full((*LABELS.shape, CLASSES), other, "float32")
    if fewer:
        found[..., 0] = 0
    np.put_along_axis(found, LABELS[..., None], right, axis=-1)
    return found


def gradient_of(loss):
    """The gradient of a loss of logits, and the loss."""
    logits = tf.Variable(LOGITS)
    with tf.GradientTape() as tape:
        value = loss(logits)
    return tape.gradient(value, logits).numpy(), value.numpy()


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("kind", KINDS)
def test_smoothed_labels(kind, smoothing):
    labels = smoothed(smoothing, kind)
    total = WEIGHTS.sum()

    def expected(logits):
        each = tf.nn.softmax_cross_entropy_with_logits(labels, logits)
        return tf.reduce_sum(each * WEIGHTS) / total

    loss = SmoothedCrossentropy(smoothing, kind)
    gradient, value = gradient_of(lambda logits: loss(LABELS, logits, WEIGHTS))
    expected_gradient, expected_value = gradient_of(expected)
    np.testing.assert_allclose(gradient, expected_gradient, atol=1e-6)
    if kind in ("paper", "annotated"):  # these subtract the entropy
        entropy = -np.where(labels > 0, labels * np.log(np.maximum(labels, 1e-9)), 0)
        expected_value -= (entropy.sum(axis=-1) * WEIGHTS).sum() / total
    np.testing.assert_allclose(value, expected_value, atol=1e-5)


def test_a_label_that_is_no_class_has_an_error():
    with pytest.raises(tf.errors.InvalidArgumentError, match="not in"):
        SmoothedCrossentropy()(LABELS + 1, LOGITS)


def test_crossentropy_of_batches():
    metric = TokenCrossentropy()
    metric.update_state(LABELS[:1], LOGITS[:1], WEIGHTS[:1])
    metric.update_state(LABELS[1:], LOGITS[1:].astype("float64"), WEIGHTS[1:])
    each = keras.ops.sparse_categorical_crossentropy(LABELS, LOGITS, from_logits=True)
    expected = np.average(each, weights=WEIGHTS)
    np.testing.assert_allclose(metric.result(), expected, atol=1e-6)


def test_a_weight_for_each_row_counts_for_its_tokens():
    each = keras.ops.sparse_categorical_crossentropy(LABELS, LOGITS, from_logits=True)
    rows = np.array([1.0, 3.0], "float32")
    for weight in (rows, rows[:, None]):
        metric = TokenCrossentropy()
        metric.update_state(LABELS, LOGITS, weight)
        expected = np.average(each, weights=np.repeat(rows[:, None], 3, axis=1))
        np.testing.assert_allclose(metric.result(), expected, atol=1e-6)
