"""What the tasks with one label for each text, and logits, have in common."""

import keras
import tensorflow as tf

from zoo.tasks.losses.class_loss import ClassLoss, class_accuracy

CLASS_NUMBERS = tf.TensorSpec([None], tf.int64)


def class_loss(label_smoothing=0.0):
    """Softmax cross-entropy over logits, averaged over weights."""
    return ClassLoss(label_smoothing)


def class_metrics():
    """Accuracy, a list."""
    return [keras.metrics.MeanMetricWrapper(class_accuracy, "accuracy")]


def class_answers(labels, outputs):
    """Answers from logits (B, C): label and score (B,), scores and labels (B, C)."""
    scores = tf.nn.softmax(tf.cast(outputs, tf.float32))
    labels = tf.constant(labels)
    return {
        "label": tf.gather(labels, tf.argmax(scores, axis=-1)),
        "score": tf.reduce_max(scores, axis=-1),
        "scores": scores,
        "labels": tf.tile(labels[None], [tf.shape(scores)[0], 1]),
    }
