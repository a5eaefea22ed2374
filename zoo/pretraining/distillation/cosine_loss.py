"""What the training of a distillation minimizes, and what it reports."""

import keras
import tensorflow as tf
from keras import ops


@keras.saving.register_keras_serializable(package="zoo")
class DistillationLoss(keras.losses.Loss):
    """How far the student's vectors of a batch are from the teacher's.

    `l_i = 1 - s_i t_i + pairs * mean_j (s_i s_j - t_i t_j)^2`, where s and t are the
    vectors of length 1 of student and teacher, and products are cosines. The first
    term is half the squared distance of two vectors; the second compares the texts of
    a batch with one another, those of all replicas.

    Source: Reimers and Gurevych 2020, "Making Monolingual Sentence Embeddings
    Multilingual", equation 1, for the distance; Park et al. 2019, "Relational
    Knowledge Distillation", for pairs.

    With `words`, the vectors are those of a text and then those of its words. The mean
    distance of the words, times this weight, is added. Words whose target is 0 do not
    count.

    Args:
        pairs: float, weight of the second term.
        words: float, weight of the words, or 0 for vectors of texts only.

    Example:
        >>> teacher = ops.array([[1.0, 0.0]])
        >>> student = ops.array([[0.6, 0.8]])
        >>> round(float(DistillationLoss()(teacher, student)), 3)  # 1 - cosine
        0.4
    """

    def __init__(self, pairs=1.0, words=0.0, name="distillation_loss", **kwargs):
        super().__init__(name, **{"reduction": "mean_with_sample_weight", **kwargs})
        self.pairs, self.words = pairs, words

    def call(self, y_true, y_pred):
        """The losses (B,) of vectors (B, D), or with `words` of (B, 1 + W, D)."""
        if not self.words:
            return self._texts(y_true, y_pred)
        distances = 1.0 - ops.sum(y_true * y_pred, axis=-1)[:, 1:]
        given = ops.cast(ops.any(y_true[:, 1:] != 0, axis=-1), distances.dtype)
        mean = ops.sum(distances * given, axis=1) / ops.maximum(ops.sum(given, 1), 1.0)
        return self._texts(y_true[:, 0], y_pred[:, 0]) + self.words * mean

    def _texts(self, y_true, y_pred):
        loss = 1.0 - ops.sum(y_true * y_pred, axis=-1)
        if self.pairs:
            cosines = ops.matmul(y_pred, ops.transpose(on_all_replicas(y_pred)))
            wanted = ops.matmul(y_true, ops.transpose(on_all_replicas(y_true)))
            loss += self.pairs * ops.mean(ops.square(cosines - wanted), axis=-1)
        return loss

    def get_config(self):
        """Constructor arguments."""
        return {**super().get_config(), "pairs": self.pairs, "words": self.words}


def on_all_replicas(rows):
    """The rows (B, D) of all replicas of a strategy of TensorFlow, (sum of B, D)."""
    context = tf.distribute.get_replica_context()
    if context is None or context.num_replicas_in_sync == 1:
        return rows
    return context.all_gather(tf.identity(rows), axis=0)


@keras.saving.register_keras_serializable(package="zoo")
class TextCosine(keras.metrics.CosineSimilarity):
    """The mean cosine of the vectors of texts, (B, D) or the first of (B, 1 + W, D).

    Example:
        >>> value = TextCosine()(ops.array([[1.0, 0.0]]), ops.array([[0.6, 0.8]]))
        >>> round(float(value), 3)
        0.6
    """

    def update_state(self, y_true, y_pred, sample_weight=None):
        """Adds a batch."""
        first = [y[:, 0] if len(y.shape) == 3 else y for y in (y_true, y_pred)]
        return super().update_state(*first, sample_weight)
