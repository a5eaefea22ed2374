"""What the command line asks of a multiple choice: files in, scores, reports out."""

from zoo.data import read_choices
from zoo.evaluation import assess_classes, majority_label, tfidf_choice
from zoo.tasks.labelled_files import LabelledFiles


class ChoiceFiles(LabelledFiles):
    """What a multiple choice reads from files, scores and reports with.

    A subclass has `labels`, the numbers of the choices as str.
    """

    baselines = {
        "most frequent number": majority_label,
        "TF-IDF with logistic regression": tfidf_choice,
    }

    @classmethod
    def read(cls, path, text_column=None, pair_column=None, label_column=None):
        """Reads texts, choices and right numbers, see `zoo.data.read_choices`.

        Raises:
            ValueError: if a column is named.
        """
        columns = (text_column, pair_column, label_column)
        if any(column is not None for column in columns):
            raise ValueError(
                "The columns of choices have fixed names, see "
                f"`zoo.data.read_choices`. Received: {columns}. Leave them out."
            )
        texts, numbers = read_choices(path)
        return texts, [str(number) for number in numbers]

    @classmethod
    def column_options(cls, x):
        """The number of choices."""
        return {"num_choices": len(x) - 1}

    def predict_labels(self, x):
        """The numbers of the best choices, list of str, and their probabilities."""
        found = self.answer(x)
        return [str(number) for number in found["choice"]], found["score"]

    def assess(self, labels, predicted, confidence=None):
        """Assesses chosen numbers, see `zoo.evaluation.assess_classes`."""
        return assess_classes(labels, predicted, self.labels, confidence)
