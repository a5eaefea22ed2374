"""What the command line asks of a task: files in, scores, answers and reports out."""

import collections

from zoo.data import read_labelled


class LabelledFiles:
    """What a task reads from files, trains on, scores, answers and reports with.

    A task that cannot be trained on labelled rows of a file sets `read` to None. A
    report of a task without `predict_labels` and `assess` has the scores of `measure`.

    Attributes:
        baselines: dict of a name to a function, see `zoo.evaluation.baselines`, whose
            predictions a report compares with those of the model.
        takes_target_file: bool, whether `read` takes `target`, the path of a file with
            a label for each line of the other file.
        reads_words: bool, whether `read` takes `documents` and `skip_empty_words` of
            `zoo.data.read_conll`.
        split_column: int, the column of texts by whose hash rows are split.
        stratified: bool, whether a row has one of a few labels, which all have their
            shares in the rows that are held out.
        calibrated: tuple of str, arguments that `calibrate` chooses for this model.
    """

    baselines = {}
    takes_target_file = False
    reads_words = False
    split_column = 0
    stratified = False
    calibrated = ()

    @classmethod
    def read(cls, path, text_column=None, pair_column=None, label_column=None):
        """Reads texts and labels from a file.

        Args:
            path: of a table, see `zoo.data.read_labelled`.
            text_column, pair_column, label_column: str or int, names or numbers of the
                columns; None finds them.

        Returns:
            texts, a list or a tuple of lists, and list of labels.
        """
        return read_labelled(path, text_column, pair_column, label_column)

    @classmethod
    def data_options(cls, labels):
        """Arguments of the task that follow from the labels of a file, a dict."""
        return {}

    @classmethod
    def describe_labels(cls, labels):
        """What is known about labels before the training.

        Args:
            labels: list, as `read` gives them.

        Returns:
            dict. The value of "counts" is how often each label occurs, a dict of str
            to int. Every other value is a number.
        """
        return {"counts": dict(collections.Counter(labels))}

    def parse_labels(self, labels):
        """Labels from a file, as `fit` takes them."""
        return labels

    def calibrate(self, x, labels):
        """Chooses the arguments `calibrated` after the training, and sets them.

        Args:
            x, labels: as of `measure`, rows that are not those of the training.

        Returns:
            dict of each argument to its value.
        """
        return {}

    def measure(self, x, labels):
        """All scores of the model on labelled rows.

        Args:
            x: texts, as `fit` takes them.
            labels: list, as `read` gives them.

        Returns:
            dict of float.
        """
        y = self.parse_labels(labels)
        scores = self.evaluate(x, y, verbose=0, return_dict=True)
        return {name: float(value) for name, value in scores.items()}

    def rows_to_score(self, x, labels):
        """The rows that `predict_labels` and `assess` take.

        Args:
            x, labels: as of `measure`.

        Returns:
            texts and labels; by default those that are given.
        """
        return x, labels

    def predict_labels(self, x):
        """The labels that the model predicts, for a report.

        Args:
            x: texts, as `fit` takes them.

        Returns:
            Tuple of a list of labels, in the form of `read`, and their probabilities,
            in the form that `assess` takes. None if the answers are no labels.
        """
        return None

    def assess(self, labels, predicted, confidence=None):
        """Assesses predicted labels.

        Args:
            labels: list, as `read` gives them.
            predicted: list of the same form.
            confidence: the probabilities of the predictions, or None.

        Returns:
            `zoo.evaluation.Assessment`.
        """
        raise NotImplementedError

    def describe_error(self, text, label, predicted):
        """What a report says about a wrong prediction beside its text.

        Args:
            text: str, or a list of words.
            label, predicted: as in the lists of `assess`.

        Returns:
            dict of str to str.
        """
        return {"true": str(label), "predicted": str(predicted)}

    def answer_rows(self, x):
        """Yields a dict of plain values for each row, what `answer` gives."""
        answers = self.answer(x)
        columns = [array.tolist() for array in answers.values()]
        for values in zip(*columns, strict=True):
            yield dict(zip(answers, values, strict=True))

    def answer_file(self, path, output):
        """Answers the rows of a file in the task's own format; ignores its labels.

        Args:
            path: of the file.
            output: path of the file of answers.

        Returns:
            int, the number of answers.

        Raises:
            ValueError: by default, if there is no usual format of answers.
        """
        raise ValueError(
            "Only questions in a file of SQuAD are answered as a file. Received: "
            f"{path} for a {type(self).__name__}. Give the texts as lines of standard "
            "input."
        )

    def marked_texts(self, x, answers):
        """Texts in which the answers are marked, for `zoo.visualize.spans_page`.

        Args:
            x: texts, as `fit` takes them.
            answers: list of dict, from `answer_rows`.

        Returns:
            list of str (B,), and list (B,) of lists of dict of begin, end, and perhaps
            label and score.

        Raises:
            NotImplementedError: by default, if the answers are not parts of a text.
        """
        raise NotImplementedError
