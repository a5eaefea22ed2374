"""Tables whose rows have labels or sets of labels."""

import json

from zoo.data.files.labelled_tables import (
    label_name,
    label_of,
    labelled_rows,
    texts_of,
)
from zoo.data.files.table_columns import column_number

SEARCHED_SEPARATORS = "|;,/+ "
# A separator is found if so many of the different labels contain it.
LEAST_SHARE = 0.3
YES_CELLS, NO_CELLS = {"1", "1.0", "true", "yes"}, {"0", "0.0", "false", "no", ""}


def read_classes(
    path,
    text_column=None,
    pair_column=None,
    label_column=None,
    separator=None,
    default_separator=None,
):
    """Reads texts with a label each, or with sets of labels, from a table.

    A row has a set of labels if its labels are

    - a str with a `separator` between labels, such as "billing|refund";
    - a list of str or numbers, in JSON or Parquet, or as JSON in CSV or TSV;
    - or several columns, one for each label, which hold 0 or 1.

    An empty str, an empty list, and a row of zeros are no labels. White space around a
    label is ignored, and so are repetitions.

    Args:
        path, text_column, pair_column: see `zoo.data.read_labelled`.
        label_column: str or int, see there; or a list with the column of each label.
        separator: str, or None if there are lists, several columns or single labels.
        default_separator: str, the separator of labels that are no lists; None if they
            are single labels.

    Returns:
        texts, as of `read_labelled`; labels, list of str, or of tuples of str.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: as of `read_labelled`; or if the labels of a row have another form
            than those of others.
    """
    if separator is not None and not (isinstance(separator, str) and separator):
        raise ValueError(
            "`separator` must be a str of at least one character. Received: "
            f"{separator!r}."
        )
    several = isinstance(label_column, (list, tuple)) and len(label_column) > 0
    first = label_column[0] if several else label_column
    table, columns, rows = labelled_rows(path, text_column, pair_column, first)
    label = columns["label"]
    lists = [_as_list(table.rows[row][label]) for row in rows]
    if separator is None and None in lists:
        separator = default_separator
    if several:
        labels = _labels_of_columns(table, rows, label_column)
    elif separator is None and lists.count(None) == len(lists):
        labels = [label_of(table, row, label) for row in rows]
    else:
        pairs = zip(rows, lists, strict=True)
        labels = [_label_set(table, row, label, separator, x) for row, x in pairs]
    return texts_of(table, rows, columns), labels


def _as_list(value):
    """A list, or a str that is a list in JSON, as a list; None for others."""
    if isinstance(value, str) and value.strip().startswith("["):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, (list, tuple)) else None


def _label_set(table, row, column, separator, found):
    """The labels of a row as a tuple of str; `found` is a list of them, or None."""
    value = table.rows[row][column]
    if found is None and separator is not None:
        empty = value is None or isinstance(value, str) and not value.strip()
        found = [] if empty else label_of(table, row, column).split(separator)
    names = [label_name(name) for name in found or ()]
    if found is None or not all(names):
        between = "" if separator is None else f", or labels between {separator!r}"
        raise ValueError(
            f"Every row of {table.path} must have a list of labels{between}. Received: "
            f"{value!r:.60} in {table.places[row]}. Correct the row, or name another "
            "separator."
        )
    return tuple(dict.fromkeys(names))


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
