"""The columns of text that a task takes."""

import tensorflow as tf

from zoo.tasks.inputs.text_input import (
    as_columns,
    holds_text,
    named_columns,
    refuse_input,
)
from zoo.tasks.inputs.text_sources import plain_columns
from zoo.tasks.inputs.text_streams import text_stream


class TextColumns:
    """Names the columns of text of a task, and checks what a user gives for them.

    A row of two columns, such as `text` and `text_pair`, becomes one row of tokens
    with two segments, unless the packer of a task makes a row of each column.

    Attributes:
        columns: tuple of str, the names.
        optional_columns: tuple of str, the last columns that a user may leave out.
    """

    columns = ("text",)
    optional_columns = ()

    def as_text(self, x):
        """Input of a user in a form that `as_columns` takes.

        A dict or a table with the names of the columns becomes a tuple, a column of
        another package a list, and a stream a dataset. Token ids do not change.

        Raises:
            TypeError: if no method of a task takes `x`.
            ValueError: if the names in a dict or a table are not those of the columns.
        """
        x = text_stream(self, named_columns(x))
        x = refuse_input(plain_columns(x))
        if isinstance(x, tf.data.Dataset):
            spec = x.element_spec
            spec = spec[0] if isinstance(spec, tuple) else spec
            if isinstance(spec, dict) and holds_text(x):
                return x.map(lambda x, *others: (self.choose_columns(x), *others))
        if isinstance(x, dict):
            known = not {*self.columns}.isdisjoint(x)
            if known or (x and all(map(holds_text, x.values()))):
                return self.choose_columns(x)
        return x

    def choose_columns(self, named):
        """A tuple of columns from a dict of them, in the order of `columns`.

        Raises:
            ValueError: if a column is missing or unknown.
        """
        names = self.columns[: len(named)]
        if {*named} != {*names} or len(names) < len(self.required_columns):
            raise ValueError(
                "A dict or a table of texts must have the names "
                f"{self._list_columns()}. Received: {list(named)}. Select the text, "
                "such as `x[name]`, and give labels as `y`."
            )
        return tuple(named[name] for name in names)

    def _list_columns(self):
        """The names of the columns for an error message."""
        names = ", ".join(f"`{name}`" for name in self.columns)
        optional = ", ".join(f"`{name}`" for name in self.optional_columns)
        return f"{names} ({optional} is optional)" if optional else names

    @property
    def required_columns(self):
        """Names of the columns that a user must give."""
        return tuple(c for c in self.columns if c not in self.optional_columns)

    def text_columns(self, x):
        """The columns of text as a tuple of string tensors (B,), checked.

        Raises:
            TypeError: if `x` is not text.
            ValueError: if there are more columns than the task takes, or fewer.
        """
        columns = as_columns(self.as_text(x))
        self.check_columns(len(columns))
        return columns

    def check_columns(self, count):
        """Returns the number of columns; raises ValueError if it is not allowed."""
        if len(self.required_columns) <= count <= len(self.columns):
            return count
        several = len(self.columns) > 1
        form = "one list for each column, in a tuple" if several else "one list of str"
        raise ValueError(
            f"{type(self).__name__} takes the column{'s' * several} "
            f"{self._list_columns()}. Received: {count} columns. Use {form}."
        )

    def check_training_columns(self, count):
        """Warns if `fit` is given columns that the model does not tell apart."""

    def check_rows(self, columns, y):
        """Raises ValueError if targets do not fit their texts.

        Args:
            columns: tuple of string tensors (B,).
            y: array (B, ...), from `encode_labels`.
        """

    def check_tensors(self, columns, y):
        """`check_rows` in a tf.data pipeline."""
