"""Answers of an export for the command line, without Keras and TensorFlow."""

from zoo.serving import ExportedModel
from zoo.serving.lint import DEFAULT_SIGNATURE
from zoo.tasks.files.table_answers import answer_table
from zoo.tasks.files.text_files import TextFiles


class ExportFiles(TextFiles):
    """Answers of an export; its facts say which outputs are in a row and in a table.

    Args:
        model: `zoo.serving.ExportedModel`. Names of other outputs in its facts are
            ignored: they are those of another signature.
    """

    def __init__(self, model):
        def known(names):
            return tuple(name for name in names if name in model.outputs) or None

        self.answer_names = known(model.facts.get("answers", ()))
        self.table_names = known(model.facts.get("table", ()))
        self.padded_names = model.padded

    def fingerprint(self, model):
        """See `TextFiles`."""
        return model.fingerprint()


class ExportedTask(ExportedModel):
    """An export with what the command line asks of a task.

    Args:
        directory, signature: see `zoo.serving.ExportedModel`.
    """

    optional_columns = ()
    pair = False

    def __init__(self, directory, signature=DEFAULT_SIGNATURE):
        super().__init__(directory, signature)
        self.check_takes_texts()
        self.required_columns = self.columns
        self.files = ExportFiles(self)

    def answer_file(self, data, output, text_column=None, pair_column=None, **options):
        """Adds answers to a table; see `zoo.tasks.Task.answer_file`."""
        return answer_table(self, data, output, text_column, pair_column, **options)
