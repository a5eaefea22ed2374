"""Files, scores and reports of a classifier whose texts have sets of labels."""

import collections

import tensorflow as tf

from zoo.data import holds_label_sets, read_label_sets
from zoo.evaluation import (
    assess_label_sets,
    frequent_label_set,
    tfidf_label_sets,
)
from zoo.tasks.files.labelled_files import LabelledFiles

CHOSEN_SEPARATORS = "|;,/\t\x1f"  # of which the first one is the default


def unused_separator(labels):
    """The first of `CHOSEN_SEPARATORS` that is in no label, or else the first, str."""
    names = "".join(labels)
    return next(
        (mark for mark in CHOSEN_SEPARATORS if mark not in names), CHOSEN_SEPARATORS[0]
    )


class LabelSetFiles(LabelledFiles):
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
    read_options = ("separator",)
    answer_names = ("labels", "scores")

    def __init__(self, separator=CHOSEN_SEPARATORS[0]):
        self.separator = separator

    def read(
        self,
        path,
        text_column=None,
        pair_column=None,
        label_column=None,
        separator=None,
    ):
        """Reads texts and sets of labels, see `zoo.data.read_label_sets`."""
        columns = text_column, pair_column, label_column
        if separator is None and not holds_label_sets(path, *columns):
            separator = self.separator
        return read_label_sets(path, *columns, separator)

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

    def measure(self, model, x, labels):
        """Scores as of every task, and those of `assess`."""
        found = self.assess(model, labels, *self.predict_labels(model, x))
        return super().measure(model, x, labels) | found.values()

    def predict_labels(self, model, x):
        """The labels of each text, list of tuples, and all scores, float32 (N, C)."""
        logits = model.predict(x, verbose=0)
        found = model.answers(tf.constant(logits))
        rows = found["labels"].numpy().tolist()
        rows = [tuple(name.decode() for name in row if name) for row in rows]
        return rows, found["all_scores"].numpy()

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

    def answer_rows(self, model, x, batch_size=None):
        """Yields the labels of each text and their scores, without padding."""
        for row in super().answer_rows(model, x, batch_size):
            count = sum(map(bool, row["labels"]))
            yield {name: values[:count] for name, values in row.items()}
