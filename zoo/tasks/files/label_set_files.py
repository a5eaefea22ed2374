"""Files, scores and reports of a classifier whose texts have sets of labels."""

import collections

import tensorflow as tf

from zoo.data import read_classes
from zoo.evaluation import (
    assess_label_sets,
    frequent_label_set,
    tfidf_label_sets,
)
from zoo.tasks.files.labelled_files import LabelledFiles, scaled_logits

CHOSEN_SEPARATORS = "|;,/\t\x1f"  # of which the first one is the default


def unused_separator(labels):
    """The first of `CHOSEN_SEPARATORS` that is in no label, or else the first, str."""
    names = "".join(labels)
    return next(
        (mark for mark in CHOSEN_SEPARATORS if mark not in names), CHOSEN_SEPARATORS[0]
    )


class NamedLabelFiles(LabelledFiles):
    """Reads labels that have names, one for each text or a set.

    Attributes:
        separator: str, between the labels of a row of a file without lists; None if a
            row has one label.
    """

    separator = None
    read_options = ("separator",)

    def read(
        self,
        path,
        text_column=None,
        pair_column=None,
        label_column=None,
        separator=None,
    ):
        """Reads texts and labels, or sets of them, see `zoo.data.read_classes`."""
        columns = text_column, pair_column, label_column
        return read_classes(path, *columns, separator, self.separator)


class LabelSetFiles(NamedLabelFiles):
    """Files, scores and reports of a model with a sigmoid for each label.

    Labels of a row are a tuple of str.

    Args:
        separator: str, between the labels of a row of a file without lists.
    """

    pipeline_tag = "text-classification"
    baselines = {
        "most frequent set": frequent_label_set,
        "TF-IDF with a logistic regression for each label": tfidf_label_sets,
    }
    answer_names = padded_names = ("labels", "scores")

    def __init__(self, separator=CHOSEN_SEPARATORS[0]):
        self.separator = separator

    def probabilities(self, model, x, temperature=1.0, batch_size=None):
        """See `TextFiles`; each label has one of its own."""
        logits = scaled_logits(model, x, temperature, batch_size)
        return tf.sigmoid(logits).numpy()

    def options(self, kind, x, labels):
        """Whether there are pairs, and the names of the labels."""
        names = sorted({name for row in labels for name in row})
        known = {"labels": names, "multi_label": True, "separator": self.separator}
        return {**super().options(kind, x, labels), **known}

    def describe_labels(self, labels):
        """How many texts have each label, and how many labels a text has."""
        counts = collections.Counter(name for row in labels for name in row)
        mean = sum(counts.values()) / len(labels)
        return {"counts": dict(counts), "labels of each text": mean}

    def calibrated(self, model):
        """The threshold of all labels."""
        return ("threshold",)

    def set_calibrated(self, model, values):
        """Sets the threshold, also where labels are made from scores."""
        super().set_calibrated(model, values)
        model.label_targets.threshold = values["threshold"]

    def calibrate(self, model, x, labels):
        """Finds the threshold with the best micro F1, see `find_thresholds`."""
        return {"threshold": model.find_thresholds(x, labels)}

    def predict_labels(self, model, x):
        """The labels of each text, list of tuples, and all scores, float32 (N, C)."""
        logits = model.predict(x, verbose=0)
        found = model.answers(tf.constant(logits))
        rows = found["labels"].numpy().tolist()
        rows = [tuple(name.decode() for name in row if name) for row in rows]
        return rows, found["all_scores"].numpy()

    def predict_baseline(self, predict, model, sample, texts):
        """Sets of labels, list of tuples, and the scores of all labels (N, C)."""
        return predict(*sample, texts, model.labels)

    def assess(self, model, labels, predicted, confidence=None):
        """Assesses sets of labels, see `zoo.evaluation.assess_label_sets`."""
        labels, predicted = (
            [
                [name for name, chosen in zip(model.labels, row, strict=True) if chosen]
                for row in model.encode_labels(rows) >= 0.5
            ]
            for rows in (labels, predicted)
        )
        return assess_label_sets(labels, predicted, model.labels, confidence)

    def describe_error(self, model, text, label, predicted):
        """The true and the predicted labels."""
        named = {"true": label, "predicted": predicted}
        return {key: ", ".join(row) or "no label" for key, row in named.items()}
