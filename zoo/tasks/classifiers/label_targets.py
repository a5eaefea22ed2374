"""What a classifier predicts for a text: one of its labels, or a set of them."""

import numpy as np
import tensorflow as tf
from keras import metrics

from zoo.checks.ranges import Positive, check_value
from zoo.tasks.files.class_files import ClassFiles
from zoo.tasks.files.label_set_files import LabelSetFiles, unused_separator
from zoo.tasks.heads.class_labels import (
    CLASS_NUMBERS,
    class_answers,
    class_loss,
    class_metrics,
)
from zoo.tasks.inputs.label_set_targets import label_set_rows
from zoo.tasks.inputs.targets import check_in_arrays, class_targets, class_weights
from zoo.tasks.losses.label_set_loss import LabelSetLoss
from zoo.tasks.losses.logit_losses import LABEL_LOGITS
from zoo.tasks.option_kinds import Threshold


class OneLabel:
    """One label for a text: a softmax over the labels.

    The attributes and methods are those of the task; see `zoo.tasks.Task`.

    Args:
        labels: tuple of str (C,).
        label_smoothing: float in [0, 1).
    """

    output_kind = "logits"
    target_spec = CLASS_NUMBERS
    files = ClassFiles()

    def __init__(self, labels, label_smoothing=0.0):
        self.labels, self.label_smoothing = labels, label_smoothing

    def options(self):
        """The options of the task, a dict."""
        smoothing = self.label_smoothing
        return {"label_smoothing": smoothing} if smoothing else {}

    def loss(self):
        """Softmax cross-entropy, see `zoo.tasks.losses.class_loss.ClassLoss`."""
        return class_loss(self.label_smoothing)

    def metrics(self):
        """Accuracy."""
        return class_metrics()

    def encode(self, y):
        """Class numbers, int64 (B,), or probabilities, float32 (B, C)."""
        return class_targets(y, self.labels)

    def class_weight(self, task, factors, numbers=None, weights=None):
        """Keras' `class_weight`; see `class_weights`."""
        return class_weights(factors, self.labels, numbers)

    def answers(self, outputs):
        """Label, score, scores and labels; see `class_answers`."""
        return class_answers(self.labels, outputs)


class LabelSets:
    """A set of labels for a text: a sigmoid for each label.

    The attributes and methods are those of the task; see `zoo.tasks.Task`.

    `class_weight` of `fit` weighs the decisions about a label in the mean of the loss,
    as the `class_weight` of a scikit-learn classifier for each label. By name or as an
    array, it is the weight of the texts that have the label, and the others have 1.
    With "balanced", it is n / (2 n_c) for the n_c of n texts that have the label c, and
    n / (2 (n - n_c)) for the others; both are 1 for a label that all texts or no text
    has. `pos_weight` multiplies the loss itself, also in `evaluate`. With both, the
    loss of a text that has a label counts by their product.

    Args:
        labels: tuple of str (C,).
        threshold: float, or a sequence of float (C,), in [0, 1]: a text has the labels
            whose scores are at least that.
        pos_weight: None; or the weight of the texts that have a label: a positive
            float, a sequence of float (C,), or a dict of labels to floats, 1 for the
            others.
        separator: str, between the labels of a target that is a str; None for the first
            of `CHOSEN_SEPARATORS` that is in no label.
    """

    output_kind = LABEL_LOGITS

    def __init__(self, labels, threshold=0.5, pos_weight=None, separator=None):
        self.labels = labels
        self.threshold = _for_each_label("threshold", threshold, labels, Threshold)
        self.pos_weight = pos_weight
        if pos_weight is not None:
            weights = _for_each_label("pos_weight", pos_weight, labels, Positive)
            self.pos_weight = np.broadcast_to(weights, (len(labels),)).tolist()
        self.separator = check_separator(separator, labels)
        self.files = LabelSetFiles(self.separator)
        self.target_spec = tf.TensorSpec([None, len(labels)], tf.float32)

    def options(self):
        """The options of the task, a dict."""
        return {
            "multi_label": True,
            "threshold": self.threshold,
            "pos_weight": self.pos_weight,
            "separator": self.separator,
        }

    def loss(self):
        """Binary cross-entropy of each label."""
        return LabelSetLoss(self.pos_weight)

    def metrics(self):
        """The share of right decisions at a score of 0.5."""
        return [metrics.BinaryAccuracy("accuracy")]

    def encode(self, y):
        """1 for each label that a text has, float32 (B, C); see `label_set_rows`."""
        return label_set_rows(y, self.labels, self.separator)

    def class_weight(self, task, factors, rows=None, weights=None):
        """Weights of the labels of texts, float (B, C), see the class."""
        check_in_arrays(rows)
        if not isinstance(task.loss, LabelSetLoss):
            raise ValueError(
                "`class_weight` of sets of labels needs the default loss. Received: "
                f"{task.loss!r:.60}. Leave `loss` out of `compile`."
            )
        if isinstance(factors, str) and factors == "balanced":
            having = (rows >= 0.5).sum(axis=0)
            counts = np.stack([len(rows) - having, having])
            known = (counts > 0).all(axis=0)
            factors = np.where(known, len(rows) / np.maximum(2 * counts, 1), 1.0)
        else:
            factors = 1.0, [*class_weights(factors, self.labels).values()]
        without, having = factors
        found = rows * having + (1 - rows) * without
        return found if weights is None else found * weights[:, None]

    def answers(self, outputs):
        """Answers from logits (B, C).

        Returns:
            dict of (B, C): labels string and scores float32, those of the text, with
            the highest score first, padded with "" and 0; all_labels string and
            all_scores float32, in the order of the labels.
        """
        scores = tf.sigmoid(tf.cast(outputs, tf.float32))
        names = tf.constant(self.labels)
        chosen = scores >= tf.constant(self.threshold, tf.float32)
        order = tf.argsort(tf.where(chosen, scores, -1.0), direction="DESCENDING")
        real = tf.gather(chosen, order, batch_dims=1)
        return {
            "labels": tf.where(real, tf.gather(names, order), ""),
            "scores": tf.where(real, tf.gather(scores, order, batch_dims=1), 0.0),
            "all_labels": tf.tile(names[None], [tf.shape(scores)[0], 1]),
            "all_scores": scores,
        }


def check_separator(separator, labels):
    """The separator of labels, checked; or a chosen one for None."""
    empty = [label for label in labels if not label.strip()]
    if empty:
        raise ValueError(
            f"Labels of sets must not be empty. Received: {empty[0]!r} among "
            f"{list(labels)}. A text without labels has an empty list."
        )
    if separator is None:
        return unused_separator(labels)
    known = isinstance(separator, str) and separator
    parts = [label for label in labels if separator in label] if known else []
    if not known or parts:
        raise ValueError(
            "`separator` must be a str that is in no label. Received: "
            f"{separator!r}, and the labels {parts or list(labels)}. Use another one."
        )
    return separator


def _for_each_label(name, value, labels, kind):
    """A number, or a list with one for each label, checked."""
    if isinstance(value, dict):
        unknown = [key for key in value if key not in labels]
        if unknown:
            raise ValueError(
                f"`{name}` must name labels of the model. Received: {unknown[:5]}. The "
                f"labels are {list(labels)}."
            )
        value = [value.get(label, 1.0) for label in labels]
    value = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(value, (list, tuple)):
        return float(check_value(name, value, kind))
    if len(value) != len(labels):
        raise ValueError(
            f"`{name}` must be one number, or one for each of the {len(labels)} labels."
            f" Received: {len(value)} numbers. The labels are {list(labels)}."
        )
    return [float(check_value(f"{name}[{i}]", n, kind)) for i, n in enumerate(value)]
