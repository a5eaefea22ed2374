"""The text classifier with ULMFiT's head."""

import keras
import numpy as np
import pytest
import tensorflow as tf
import tiny
from tiny_tasks import make_tiny_task

from zoo.tasks import TextClassifier
from zoo.tasks.heads.concat_head import BatchNormalization


def make(family="ulmfit", **options):
    options = {"head": "concat_pooling", **options}
    return make_tiny_task(TextClassifier, family, **options)


@pytest.mark.slow
def test_replicas_have_the_same_moments(two_replicas, monkeypatch):
    monkeypatch.setattr("zoo.tasks.heads.concat_head.HIDDEN_DROPOUT", 0.0)
    # The layer of several replicas, also without them: it differs for one row.
    own = "zoo.tasks.heads.concat_head.BatchNormalization"
    monkeypatch.setattr(own, keras.layers.BatchNormalization)
    texts, labels = tiny.make_texts(9)  # the last batch has one row, one replica none
    found = []
    for strategy in (tf.distribute.get_strategy(), two_replicas):
        with strategy.scope():
            model = make(head_dropout=0.0)
            model.compile(keras.optimizers.SGD(0.1))
        model.fit(texts, labels, batch_size=8, epochs=2, verbose=0)
        found.append(model.predict(texts, verbose=0))
    np.testing.assert_allclose(*found, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("compiled", [False, True])
def test_a_batch_of_one_row_is_not_lost(compiled):
    layer, x = BatchNormalization(), tf.constant([[5.0, -3.0], [1.0, 0.0]])
    layer(x, training=True)
    call = tf.function(layer) if compiled else layer
    before = [v.numpy() for v in layer.weights]
    found = call(x[:1], training=True)
    np.testing.assert_allclose(found, layer(x[:1], training=False), rtol=1e-6)
    assert np.abs(found).min() > 1
    for old, new in zip(before, layer.weights, strict=True):
        np.testing.assert_array_equal(old, new)
    spec = tf.TensorSpec((None, 2))
    call = tf.function(lambda x: layer(x, training=True), [spec])
    np.testing.assert_allclose(call(x[:1]), found, rtol=1e-6)
    np.testing.assert_allclose(call(x)[0], [1.0, -1.0], atol=1e-3)
    assert np.any(layer.weights[2].numpy() != before[2])
