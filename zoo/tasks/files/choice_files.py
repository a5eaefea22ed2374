"""Files, scores and reports of a multiple choice."""

from zoo.data import read_choices
from zoo.evaluation import assess_classes, majority_label, tfidf_choice
from zoo.tasks.files.labelled_files import LabelledFiles


class ChoiceFiles(LabelledFiles):
    """Files and scores of a multiple choice; labels are the numbers of choices."""

    pipeline_tag = "multiple-choice"
    baselines = {
        "most frequent number": majority_label,
        "TF-IDF with logistic regression": tfidf_choice,
    }
    stratified = True
    table_names = ("choice", "score")

    def read(self, path, text_column=None, pair_column=None, label_column=None):
        """Reads texts, choices and right numbers, see `zoo.data.read_choices`."""
        columns = (text_column, pair_column, label_column)
        if any(column is not None for column in columns):
            raise ValueError(
                "The columns of choices have fixed names, see "
                f"`zoo.data.read_choices`. Received: {columns}. Leave them out."
            )
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
