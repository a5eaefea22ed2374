"""What the command line asks of a task: files in, scores and answers out."""

from zoo.data import read_labelled


class LabelledFiles:
    """What a task reads from files, trains on, scores and answers with.

    A task that cannot be trained on labelled rows of a file sets `read` to None.
    """

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

    def parse_labels(self, labels):
        """Labels from a file, as `fit` takes them."""
        return labels

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

    def answer_rows(self, x):
        """Yields a dict of plain values for each row, what `answer` gives."""
        answers = self.answer(x)
        columns = [array.tolist() for array in answers.values()]
        for values in zip(*columns, strict=True):
            yield dict(zip(answers, values, strict=True))
