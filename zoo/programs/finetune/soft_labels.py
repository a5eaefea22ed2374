"""Probabilities that a trained model gives to texts, to train another one on."""

import numpy as np
import tensorflow as tf

from zoo.checks.ranges import Positive, check_value
from zoo.tasks import MultipleChoice, TextClassifier, TextEnsemble


def soft_labels(teacher, texts, labels=None, temperature=1.0, batch_size=None):
    """The probabilities of a teacher for texts, as `y` of a student's `fit`.

    Texts without labels are enough to train a student on what a larger model, or an
    ensemble, has learned. With a temperature t, the probabilities are those of
    `logits / t`; above 1, the less likely labels have more.

    Source: Hinton et al. 2015, section 2.

    Args:
        teacher: `zoo.TextClassifier`, `zoo.TextEnsemble` or `zoo.MultipleChoice`.
        texts: list of str, or what else `predict` takes.
        labels: list of str (C,), those of the student in their order; by default those
            of the teacher.
        temperature: float, t.
        batch_size: int, see `predict`.

    Returns:
        numpy float32 (B, C). With `multi_label`, each label has a probability of its
        own.

    Raises:
        TypeError: if the teacher is something else.
        ValueError: if the labels are not those of the teacher.

    Example:
        >>> import zoo
        >>> preset = "bert_mini_en_uncased_books"
        >>> teacher = zoo.from_preset(preset, task="text_classifier", labels=["a", "b"])
        >>> soft_labels(teacher, ["a text"]).shape
        (1, 2)
    """
    if not isinstance(teacher, (TextClassifier, TextEnsemble, MultipleChoice)):
        raise TypeError(
            "`teacher` must be a classifier, an ensemble or a model of multiple "
            f"choice. Received: {type(teacher).__name__}."
        )
    check_value("temperature", temperature, Positive)
    known = [*teacher.labels]
    order = known if labels is None else [*map(str, labels)]
    if sorted(order) != sorted(known):
        raise ValueError(
            "`labels` must be those of the teacher, in any order. Received: "
            f"{order}. The teacher has {known}."
        )
    outputs = teacher.predict(texts, batch_size, verbose=0)
    logits = tf.constant(outputs, tf.float32) / temperature
    sets = getattr(teacher, "options", {}).get("multi_label", False)
    shares = tf.sigmoid(logits) if sets else tf.nn.softmax(logits)
    return np.take(shares.numpy(), [known.index(name) for name in order], axis=1)
