"""Files, scores and reports of a task that is trained on labelled rows."""

import collections

import tensorflow as tf

from zoo.data import read_labelled
from zoo.tasks.files.text_files import TextFiles


def check_no_columns(rule, *columns):
    """Raises ValueError with the rule if one of the columns is not None."""
    if any(column is not None for column in columns):
        raise ValueError(f"{rule} Received: {columns}. Leave them out.")


class LabelledFiles(TextFiles):
    """Reads labelled rows from files; scores, answers and reports of their task.

    A report of a task without `predict_labels` and `assess` has the scores of
    `measure`.

    Attributes:
        baselines: dict of a name to a function, see `zoo.evaluation.baselines`, whose
            predictions a report compares with those of the model.
        takes_target_file: bool, whether `read` takes `target`, the path of a file with
            a label for each line of the other file.
        read_options: tuple of str, the arguments of `read` beside those of columns.
        split_column: int, the column of texts by whose hash rows are split.
        counted: str, what is counted by the labels of `describe_labels`: "rows", or
            the name of another of its numbers.
    """

    baselines = {}
    takes_target_file = False
    read_options = ()
    split_column = 0
    counted = "rows"

    def read(self, path, text_column=None, pair_column=None, label_column=None):
        """Texts, a list or a tuple of lists, and labels of a file.

        The columns are names or numbers, see `zoo.data.read_labelled`; None finds them.
        """
        return read_labelled(path, text_column, pair_column, label_column)

    def for_rows(self, labels, columns=None):
        """The object for rows of labels that were read; they may have another form.

        `columns` are the arguments of `read`, a dict.
        """
        return self

    def options(self, kind, x, labels):
        """Arguments of the task `kind` that follow from the rows of a file, a dict."""
        if not kind.optional_columns:
            return {}
        count = len(x) if isinstance(x, tuple) else 1
        return {"pair": count == len(kind.columns)}

    def hint(self, labels):
        """A sentence about labels that may be meant in another way, or None."""
        return None

    def describe_labels(self, labels):
        """What is known about labels before the training, a dict.

        The value of "counts" is how often each label occurs, a dict of str to int.
        Every other value is a number.
        """
        return {"counts": dict(collections.Counter(labels))}

    def parse_labels(self, labels):
        """Labels from a file, as `fit` takes them."""
        return labels

    def calibrate(self, model, x, labels):
        """Sets the arguments `calibrated` by held-out rows; returns their values."""
        return {}

    def measure(self, model, x, labels):
        """All scores of the model on texts and labels, dict of float."""
        scores = self.evaluate(model, x, labels)
        x, labels = self.rows_to_score(model, x, labels)
        predictions = self.predict_labels(model, x)
        if predictions is None:
            return scores
        return scores | self.assess(model, labels, *predictions).values()

    def evaluate(self, model, x, labels):
        """The loss and the metrics of the training, dict of float."""
        y = self.parse_labels(labels)
        scores = model.evaluate(x, y, verbose=0, return_dict=True)
        return {name: float(value) for name, value in scores.items()}

    def rows_to_score(self, model, x, labels):
        """The texts and labels that `predict_labels` and `assess` take."""
        return x, labels

    def predict_labels(self, model, x):
        """Predicted labels, as `read` gives them, and their probabilities.

        None if the answers are no labels.
        """
        return None

    def predict_baseline(self, predict, model, sample, texts):
        """What one of `baselines` predicts for texts, as `predict_labels`.

        `sample` are texts and labels for its training.
        """
        return predict(*sample, texts), None

    def assess(self, model, labels, predicted, confidence=None):
        """The `zoo.evaluation.Assessment` of predictions and their probabilities."""
        raise NotImplementedError

    def describe_error(self, model, text, label, predicted):
        """What a report says about a wrong prediction, a dict of str to str."""
        return {"true": str(label), "predicted": str(predicted)}


def scaled_logits(model, x, temperature, batch_size):
    """The logits of texts divided by the temperature, a float32 tensor (B, C)."""
    logits = tf.constant(model.predict(x, batch_size, verbose=0), tf.float32)
    return logits / temperature
