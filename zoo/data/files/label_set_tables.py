"""Tables whose rows have sets of labels."""

import json

from zoo.data.files.labelled_tables import label_of, texts_of
from zoo.data.files.table_columns import choose_columns, column_number
from zoo.data.files.table_files import read_table

SEARCHED_SEPARATORS = "|;,/+ "
# A separator is found if so many of the different labels contain it.
LEAST_SHARE = 0.3
YES_CELLS, NO_CELLS = {"1", "1.0", "true", "yes"}, {"0", "0.0", "false", "no", ""}


def read_label_sets(
    path, text_column=None, pair_column=None, label_column=None, separator=None
):
    """Reads texts with sets of labels from a CSV, TSV, JSON or Parquet file.

    The labels of a row are

    - a str with a `separator` between labels, such as "billing|refund";
    - a list of str, in JSON or Parquet, or as JSON in a column of CSV or TSV;
    - or several columns, one for each label, which hold 0 or 1.

    An empty str, an empty list, and a row of zeros are no labels.

    Args:
        path, text_column, pair_column: see `zoo.data.read_labelled`.
        label_column: str or int, see there; or a list with the column of each label.
        separator: str, or None if there are lists or several columns.

    Returns:
        texts, as of `read_labelled`; labels, list of tuples of str.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: as of `read_labelled`; or if the labels of a row have another form.
    """
    table = read_table(path)
    several = isinstance(label_column, (list, tuple))
    first = label_column[0] if several else label_column
    columns, start = choose_columns(table, text_column, pair_column, first)
    rows = range(start, len(table.rows))
    if not rows:
        raise ValueError(f"{table.path} must have rows. Received: only a header.")
    if several:
        labels = _labels_of_columns(table, rows, label_column)
    else:
        labels = [_label_set(table, row, columns["label"], separator) for row in rows]
    texts = texts_of(table, rows, columns["text"])
    if "pair" in columns:
        texts = texts, texts_of(table, rows, columns["pair"])
    return texts, labels


def holds_label_sets(path, text_column=None, pair_column=None, label_column=None):
    """Whether the labels of a file are lists, or are in several columns."""
    if isinstance(label_column, (list, tuple)):
        return True
    table = read_table(path)
    columns, start = choose_columns(table, text_column, pair_column, label_column)
    values = [row[columns["label"]] for row in table.rows[start:]]
    return bool(values) and all(_as_list(value) is not None for value in values)


def _as_list(value):
    """A list, or a str that is a list of str in JSON, as a list; None for others."""
    if isinstance(value, str) and value.strip().startswith("["):
        try:
            value = json.loads(value)
        except ValueError:
            return None
    return value if isinstance(value, (list, tuple)) else None


def _label_set(table, row, column, separator):
    """The labels of a row as a tuple of str, without repetitions."""
    value = table.rows[row][column]
    found = _as_list(value) if separator is None else None
    if found is None and separator is not None:
        empty = value is None or isinstance(value, str) and not value.strip()
        found = [] if empty else label_of(table, row, column).split(separator)
        found = [name.strip() for name in found]
    if found is None or not all(isinstance(n, str) and n.strip() for n in found):
        raise ValueError(
            f"Every row of {table.path} must have a list of labels"
            f"{'' if separator is None else f' between {separator!r}'}. Received: "
            f"{value!r:.60} in {table.places[row]}. Correct the row, or name another "
            "separator."
        )
    return tuple(dict.fromkeys(found))


def _labels_of_columns(table, rows, names):
    """The labels of each row whose column holds 1, list of tuples."""
    numbers = [column_number(table, "label", name) for name in names]
    if len({*numbers}) < len(numbers):
        raise ValueError(
            f"Every label of {table.path} must have a column of its own. Received: "
            f"{[*names]}."
        )
    labels = [str(table.names[number]).strip() for number in numbers]
    found = []
    for row in rows:
        values = [str(table.rows[row][number]).strip().lower() for number in numbers]
        wrong = [value for value in values if value not in YES_CELLS | NO_CELLS]
        if wrong:
            raise ValueError(
                f"The columns of labels of {table.path} must hold 0 or 1. Received: "
                f"{wrong[0]!r:.40} in {table.places[row]}. Correct the row."
            )
        pairs = zip(labels, values, strict=True)
        found.append(tuple(label for label, value in pairs if value in YES_CELLS))
    return found


def find_separator(labels):
    """The separator of labels that look like sets of fewer labels, str; or None.

    Many of the different labels contain it, they have fewer different parts than there
    are labels, and most parts occur in several labels.
    """
    different = {*labels}
    for separator in SEARCHED_SEPARATORS:
        joined = [label for label in different if separator in label.strip()]
        if len(joined) < max(2, LEAST_SHARE * len(different)):
            continue
        parts = [{*label.split(separator)} for label in different]
        names = {name for row in parts for name in row}
        repeated = [name for name in names if sum(name in row for row in parts) > 1]
        if len(names) < len(different) and 2 * len(repeated) > len(names):
            return separator
    return None
