"""Labelled texts from tables, and splits that never change."""

import hashlib
import math

from zoo.checks.ranges import LARGEST_FLOAT
from zoo.checks.user_warnings import warn_user
from zoo.data.files.table_columns import choose_columns, text_of
from zoo.data.files.table_files import read_table


def read_labelled(
    path, text_column=None, pair_column=None, label_column=None, numbers=False
):
    """Reads texts and labels from a CSV, TSV, JSON or Parquet file.

    The suffix of the file decides how it is read, here and wherever a table is read.
    Text is in UTF-8, or in UTF-16 with a byte order mark. All but Parquet may be
    compressed, with the further suffix `.gz` or `.xz`.

    - `.csv`: separated by commas, semicolons or tabs, with the quotes of RFC 4180. It
      is an error if several of them separate all rows into equally many columns.
    - `.tsv`, `.txt` or no suffix: separated by tabs. Quotes are characters, as in GLUE,
      unless the whole file is quoted as pandas does it: every field with a quote begins
      and ends with one, and the quotes inside are doubled. Then they are removed.
    - `.jsonl`, `.ndjson`, `.json`: one object per line, or one list of objects.
    - `.parquet`: needs the package pyarrow.

    Columns are found by known names in the header, such as text, sentence or review;
    label, class or category; and for pairs sentence1 and sentence2, or premise and
    hypothesis. Upper case, spaces and punctuation are ignored. If one of two columns
    has a known name, the other is found too. A file with two columns and no header
    needs no names: labels are the column of numbers, else the one with fewer different
    values. Blank rows are ignored, and rows with the `gold_label` "-" of SNLI and MNLI,
    on whose label the annotators did not agree.

    Args:
        path: str or path.
        text_column, pair_column, label_column: str or int, the name of a column or its
            number from 0, which Parquet and JSON do not have. `pair_column` has the
            second texts of pairs. With only `text_column`, the texts are not pairs.
        numbers: bool, whether labels are numbers.

    Returns:
        texts, list of str, or for pairs a tuple of two lists; labels, list of str
        without white space around them, or list of float. Empty texts are kept, with a
        warning.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if the file cannot be read, the columns are missing or ambiguous,
            it is unclear whether the first line is a header, or a row has no label or
            another number of columns. The message names the line.
    """
    columns = text_column, pair_column, label_column
    table, numbered, rows = labelled_rows(path, *columns)
    labels = [label_of(table, row, numbered["label"]) for row in rows]
    if numbers:
        labels = as_numbers(labels, table.path, [table.places[row] for row in rows])
    return texts_of(table, rows, numbered), labels


def labelled_rows(path, text_column=None, pair_column=None, label_column=None):
    """Reads a table in which columns of texts and labels are found.

    The arguments are those of `read_labelled`. Returns the table, the numbers of its
    columns by their role, and the numbers of its rows with labels.
    """
    table = read_table(path)
    columns, first = choose_columns(table, text_column, pair_column, label_column)
    rows, label = range(first, len(table.rows)), columns["label"]
    if table.names[label] == "gold_label":  # of SNLI and MNLI
        rows = [row for row in rows if table.rows[row][label] != "-"]
    if not rows:
        found = "only a header" if first == len(table.rows) else 'only labels "-"'
        raise ValueError(f"{table.path} must have rows with labels. Received: {found}.")
    return table, columns, rows


def label_of(table, row, column):
    """The label of a row as str."""
    value = table.rows[row][column]
    label = label_name(value)
    if not label:
        raise ValueError(
            f"Every row of {table.path} must have a label, a text or a number. "
            f"Received: {value!r:.40} in {table.places[row]}: "
            f"{table.rows[row]!r:.80}. Fill it in, or remove the row. If "
            "texts may have no label, read sets of labels with `separator`."
        )
    return label


def label_name(value):
    """The name of a label, a str or a number, as str; "" for NaN and other values."""
    known = isinstance(value, (str, bool, int, float)) and value == value  # no NaN
    return str(value).strip() if known else ""


def texts_of(table, rows, columns):
    """The texts of rows, a list; or a tuple of two lists for pairs."""
    found = []
    for column in (columns[role] for role in ("text", "pair") if role in columns):
        pairs = [(table.places[row], table.rows[row]) for row in rows]
        found.append([text_of(table, place, row, column) for place, row in pairs])
        places = [place for place, row in pairs if not row[column].strip()]
        if places:
            warn_user(
                f"{table.path} has rows with an empty text: {len(places)}, the first "
                f"in {places[0]}. They are kept."
            )
    return tuple(found) if len(found) > 1 else found[0]


def hash_split(texts, parts):
    """Splits rows by a hash of their text, so that a split never changes.

    Args:
        texts: list of str (N,).
        parts: list of (name, share), the shares adding up to 1.

    Returns:
        dict of name to list of row numbers; equal texts are always together.
    """
    split = {name: [] for name, _ in parts}
    for row, text in enumerate(texts):
        place, bound = hash_place(text), 0.0
        for name, share in parts:
            bound += share
            if place < bound or name == parts[-1][0]:
                split[name].append(row)
                break
    return split


def hash_place(text):
    """A number in [0, 1) that depends on a text only, float."""
    digest = hashlib.sha256(text.encode("utf-8", "ignore")).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


def as_numbers(labels, source="the data", places=None):
    """Converts labels to numbers that a regressor can be trained on.

    Args:
        labels: list of str or float.
        source: what the message calls the place where they come from.
        places: list of str, where each label is in the source; by default its row.

    Returns:
        list of float.

    Raises:
        ValueError: if a label is not a number, is not finite, or is too large for
            float32.
    """
    found = []
    for row, label in enumerate(labels):
        try:
            number = float(label)
        except ValueError:
            number = math.nan
        if not abs(number) <= LARGEST_FLOAT:  # nor is NaN
            place = places[row] if places else f"row {row + 1}"
            raise ValueError(
                f"Every label of {source} must be a finite number. Received: "
                f"{label!r:.40} in {place}. Correct the row, or remove it."
            )
        found.append(number)
    return found
