"""Probabilities that a trained model gives to texts, to train another one on."""

import keras
import numpy as np

from zoo.checks.ranges import Positive, check_value
from zoo.tasks import Task, TextEnsemble


def soft_labels(teacher, texts, labels=None, temperature=1.0, batch_size=None):
    """The probabilities of a teacher for texts, as `y` of a student's `fit`.

    Texts without labels are enough to train a student on what a larger model, or an
    ensemble, has learned. With a temperature t, the probabilities are those of
    `logits / t`; above 1, the less likely labels have more.

    Source: Hinton et al. 2015, section 2.

    Args:
        teacher: `zoo.TextClassifier`, `zoo.TextEnsemble`, `zoo.MultipleChoice` or
            `zoo.TokenClassifier`; or a task whose `files` have `probabilities`.
        texts: list of str, or what else `predict` takes.
        labels: list of str (C,), those of the student in their order; by default those
            of the teacher.
        temperature: float, t.
        batch_size: int, see `predict`.

    Returns:
        numpy float32 (B, C). With `multi_label`, each label has a probability of its
        own. Of a `TokenClassifier`, a list of arrays (W, C), one for each text; with
        `decoder="crf"` these are the marginals, and the student needs "softmax".

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
    if not isinstance(teacher, (Task, TextEnsemble)):
        raise TypeError(
            "`teacher` must be a trained task or an ensemble. Received: "
            f"{type(teacher).__name__}. Load it with `zoo.load_model`."
        )
    check_value("temperature", temperature, Positive)
    shares = teacher.files.probabilities(teacher, texts, temperature, batch_size)
    known = [*teacher.labels]
    order = known if labels is None else [*map(str, labels)]
    if sorted(order) != sorted(known):
        raise ValueError(
            "`labels` must be those of the teacher, in any order. Received: "
            f"{order}. The teacher has {known}."
        )
    places = [known.index(name) for name in order]
    return keras.tree.map_structure(lambda rows: np.take(rows, places, -1), shares)
