"""Files, scores and reports of a multiple choice."""

import tensorflow as tf

from zoo.data import read_choices
from zoo.evaluation import assess_classes, majority_label, tfidf_choice
from zoo.tasks.files.labelled_files import (
    LabelledFiles,
    check_no_columns,
    scaled_logits,
)


class ChoiceFiles(LabelledFiles):
    """Files and scores of a multiple choice; labels are the numbers of choices."""

    pipeline_tag = "multiple-choice"
    baselines = {
        "most frequent number": majority_label,
        "TF-IDF with logistic regression": tfidf_choice,
    }
    stratified = True
    table_names = ("choice", "score")

    def probabilities(self, model, x, temperature=1.0, batch_size=None):
        """See `TextFiles`."""
        logits = scaled_logits(model, x, temperature, batch_size)
        return tf.nn.softmax(logits).numpy()

    def read(self, path, text_column=None, pair_column=None, label_column=None):
        """Reads texts, choices and right numbers, see `zoo.data.read_choices`."""
        rule = "The columns of choices have fixed names, see `zoo.data.read_choices`."
        check_no_columns(rule, text_column, pair_column, label_column)
        texts, numbers = read_choices(path)
        return texts, [str(number) for number in numbers]

    def options(self, kind, x, labels):
        """The number of choices."""
        return {"num_choices": len(x) - 1}

    def predict_labels(self, model, x):
        """The numbers of the best choices, list of str, and their probabilities."""
        found = model.answer(x)
        return [str(number) for number in found["choice"]], found["score"]

    def assess(self, model, labels, predicted, confidence=None):
        """Assesses chosen numbers, see `zoo.evaluation.assess_classes`."""
        return assess_classes(labels, predicted, model.labels, confidence)
