"""The columns of text that a task takes."""

from zoo.tasks.text_input import as_columns


class TextColumns:
    """Which columns of text a task takes, and whether they are right.

    Attributes:
        columns: tuple of str, the names.
        optional_columns: tuple of str, those of the last ones that may be left out.
    """

    columns = ("text",)
    optional_columns = ()

    def as_text(self, x):
        """What the user gives as text, in a form that `as_columns` takes."""
        return x

    @property
    def required_columns(self):
        """Names of the columns that may not be left out."""
        return tuple(c for c in self.columns if c not in self.optional_columns)

    def text_columns(self, x):
        """The columns of text as a tuple of string tensors (B,), checked.

        Raises:
            ValueError: if there are more columns than the model takes, or fewer.
        """
        columns = as_columns(self.as_text(x))
        self.check_columns(len(columns))
        return columns

    def check_columns(self, count):
        """Raises ValueError unless the model takes so many columns."""
        if len(self.required_columns) <= count <= len(self.columns):
            return
        names = [f"`{name}`" for name in self.columns]
        optional = [f"`{name}`" for name in self.optional_columns]
        rule = f"takes the columns of text {', '.join(names)}"
        rule += f", of which {', '.join(optional)} is optional" if optional else ""
        way = "in a tuple of lists" if len(self.columns) > 1 else "as one list"
        raise ValueError(
            f"{type(self).__name__} {rule}. Received: {count} columns. Give texts "
            f"{way}; a tuple holds columns, a list is a batch."
        )

    def check_rows(self, columns, y):
        """Raises ValueError if targets do not fit texts, columns of string (B,)."""

    def check_tensors(self, columns, y):
        """`check_rows` in a tf.data pipeline."""
