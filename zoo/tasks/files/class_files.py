"""Files, scores and reports of tasks with one label, or one number, for each text."""

import tensorflow as tf

from zoo.data import as_numbers, find_separator, read_labelled
from zoo.evaluation import (
    assess_classes,
    assess_numbers,
    majority_label,
    mean_number,
    tfidf_label,
    tfidf_number,
)
from zoo.tasks.files.label_set_files import (
    LabelSetFiles,
    NamedLabelFiles,
    unused_separator,
)
from zoo.tasks.files.labelled_files import LabelledFiles, scaled_logits


class ClassFiles(NamedLabelFiles):
    """Files, scores and reports of a model whose outputs are a logit for each label."""

    pipeline_tag = "text-classification"
    baselines = {
        "majority": majority_label,
        "TF-IDF with logistic regression": tfidf_label,
    }
    stratified = True
    table_names = ("label", "score")

    def probabilities(self, model, x, temperature=1.0, batch_size=None):
        """See `TextFiles`."""
        logits = scaled_logits(model, x, temperature, batch_size)
        return tf.nn.softmax(logits).numpy()

    def for_rows(self, labels, columns=None):
        """See `LabelledFiles`."""
        if not any(isinstance(row, tuple) for row in labels[:1]):
            return self
        unused = unused_separator(name for row in labels for name in row)
        return LabelSetFiles((columns or {}).get("separator") or unused)

    def hint(self, labels):
        """Labels that look like sets of labels; see `zoo.data.find_separator`."""
        mark = find_separator(labels)
        if mark is None:
            return None
        names = {name.strip() for label in labels for name in label.split(mark)}
        return (
            f"The {len({*labels}):,} labels look like sets of {len(names):,} labels, "
            f"separated by {mark!r}. To predict sets, give `--separator {mark!r}`, or "
            f"in Python `multi_label=True, separator={mark!r}`."
        )

    def options(self, kind, x, labels):
        """Whether there are pairs, and the names of the labels."""
        return {**super().options(kind, x, labels), "labels": sorted(set(labels))}

    def predict_labels(self, model, x):
        """The likeliest labels, list of str, and their probabilities, float32 (N,)."""
        shares = tf.nn.softmax(model.predict(x, verbose=0)).numpy()
        return [model.labels[number] for number in shares.argmax(-1)], shares.max(-1)

    def assess(self, model, labels, predicted, confidence=None):
        """Assesses predicted labels, see `zoo.evaluation.assess_classes`."""
        labels, predicted = (
            [model.labels[number] for number in model.encode_labels(rows)]
            for rows in (labels, predicted)
        )
        return assess_classes(labels, predicted, model.labels, confidence)


class NumberFiles(LabelledFiles):
    """Files, scores and reports of a model that predicts a number."""

    baselines = {"mean": mean_number, "TF-IDF with ridge regression": tfidf_number}

    def read(self, path, text_column=None, pair_column=None, label_column=None):
        """Reads texts and finite numbers from a table, see `zoo.data.read_labelled`."""
        columns = text_column, pair_column, label_column
        return read_labelled(path, *columns, numbers=True)

    def describe_labels(self, labels):
        """The smallest number, the mean and the largest number."""
        mean = sum(labels) / len(labels)
        return {"smallest": min(labels), "mean": mean, "largest": max(labels)}

    def parse_labels(self, labels):
        """Labels as finite numbers, see `zoo.data.as_numbers`."""
        return as_numbers(labels)

    def predict_labels(self, model, x):
        """The predicted numbers, list of float, which have no probabilities."""
        return model.predict(x, verbose=0)[:, 0].tolist(), None

    def assess(self, model, labels, predicted, confidence=None):
        """Assesses predicted numbers, see `zoo.evaluation.assess_numbers`."""
        return assess_numbers(labels, predicted)

    def describe_error(self, model, text, label, predicted):
        """The true and the predicted number."""
        return {"true": f"{label:.4g}", "predicted": f"{predicted:.4g}"}
