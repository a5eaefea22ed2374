"""The answers of a task to rows of text, for the command line."""

import hashlib
import json

import numpy as np

from zoo.serving.answer_rows import plain_rows


class TextFiles:
    """Answers of a task that is not trained on labelled rows of a file.

    A task names an instance as `files`. It has no state: a method that needs a model
    takes it as its first argument.

    Attributes:
        read: None, or a method that reads texts and labels; see `LabelledFiles`.
        marked_texts: None if the answers are not parts of a text. Else a method of the
            model, its texts `x`, as `fit` takes them, and its answers, a list from
            `answer_rows`. It returns what `zoo.visualize.spans_page` draws: list of str
            (B,), and list (B,) of lists of dict of begin, end, and perhaps label and
            score.
        answer_name: str, the name of the text that a task writes.
        answer_names: tuple of str, the names of the answers that are in a row; None for
            all.
        padded_names: tuple of str, the answers (B, W) whose length differs from text to
            text. The first one has strings, whose padding is "".
        table_names: tuple of str, those that are columns of a table; None for those of
            `answer_names`.
        stratified: bool, whether a row has one of a few labels, which all have their
            shares in the rows that are held out.
        pipeline_tag: str, what the hub of Hugging Face calls the task, or None.

    Args:
        pipeline_tag: str, see above.
    """

    read = None
    marked_texts = None
    answer_name = "text"
    answer_names = None
    table_names = None
    padded_names = ()
    stratified = False
    pipeline_tag = None

    def __init__(self, pipeline_tag=None):
        self.pipeline_tag = pipeline_tag or self.pipeline_tag

    def calibrated(self, model):
        """The arguments that held-out rows choose for this model, tuple of str."""
        return ()

    def set_calibrated(self, model, values):
        """Sets the arguments `calibrated` of a model, a dict."""
        model.options |= values
        model.answer_function = None

    def answer_rows(self, model, x, batch_size=None):
        """Yields a dict of plain values for each row, what `answer` gives."""
        answers = model.answer(x, batch_size)
        return plain_rows(answers, self.answer_names, self.padded_names)

    def table_rows(self, model, x, batch_size=None):
        """Yields a dict of the answers to each row that are columns of a table."""
        for row in self.answer_rows(model, x, batch_size):
            yield {name: row[name] for name in self.table_names or row}

    def probabilities(self, model, x, temperature=1.0, batch_size=None):
        """The probabilities of the labels of texts, see `zoo.soft_labels`.

        Args:
            model: the task.
            x: texts, as `predict` takes them.
            temperature: float, by which the logits are divided.
            batch_size: see `predict`.

        Returns:
            float32 (B, C), in the order of the labels; or a list of arrays (W, C), one
            for each text, if words have labels.

        Raises:
            TypeError: if the task has no such probabilities.
        """
        raise TypeError(
            "`teacher` must be a classifier of texts or words, an ensemble or a model "
            f"of multiple choice. Received: {type(model).__name__}."
        )

    def fingerprint(self, model):
        """A hash of all that the outputs of a model depend on, str."""
        config = {**model.get_config(), "name": None}
        digest = hashlib.sha256(json.dumps(config, sort_keys=True).encode())
        for array in model.get_weights():
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def answer_file(self, model, path, output):
        """Answers the rows of a file in the task's own format; returns how many.

        It ignores labels. By default it raises ValueError: there is no usual format.
        """
        raise ValueError(
            "Only questions in a file of SQuAD are answered as a file. Received: "
            f"{path} for a {type(model).__name__}. Give the texts as lines of standard "
            "input."
        )
