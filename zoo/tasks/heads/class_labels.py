"""What models with one label for each text have in common."""

import keras
import tensorflow as tf

from zoo.tasks.inputs.targets import class_weights, label_ids


class LabelTargets:
    """How a model learns one of several labels for each row.

    Attributes:
        labels: tuple of str, the names, in the order of the outputs, which are logits.
    """

    output_kind = "logits"
    target_spec = tf.TensorSpec([None], tf.int64)

    def default_loss(self):
        """Softmax cross-entropy over the logits."""
        return keras.losses.SparseCategoricalCrossentropy(
            from_logits=True, reduction="mean_with_sample_weight"
        )

    def default_metrics(self):
        """Accuracy."""
        return [keras.metrics.SparseCategoricalAccuracy("accuracy")]

    def encode_labels(self, y, columns=None):
        """Class numbers int64 (B,) from names or numbers, checked."""
        return label_ids(y, self.labels)


class ClassLabels(LabelTargets):
    """Labels and answers of a model whose outputs are a logit for each label."""

    def encode_class_weight(self, class_weight, labels=None):
        """A weight for each class number, checked; see `class_weights`."""
        return class_weights(class_weight, self.labels, labels)

    def answers(self, outputs):
        """From logits to label string (B,), score (B,), scores and labels (B, C)."""
        scores = tf.nn.softmax(tf.cast(outputs, tf.float32))
        labels = tf.constant(self.labels)
        return {
            "label": tf.gather(labels, tf.argmax(scores, axis=-1)),
            "score": tf.reduce_max(scores, axis=-1),
            "scores": scores,
            "labels": tf.tile(labels[None], [tf.shape(scores)[0], 1]),
        }
