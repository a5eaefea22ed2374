"""Files of beginnings with several endings: SWAG, CODAH, and tables like them."""

import collections
import re

from zoo.data.files.table_columns import column_number, plain_name, text_of
from zoo.data.files.table_files import read_table

# Names of columns, without upper case, spaces and punctuation.
SWAG_COLUMNS = ("sent1", "sent2")
TEXT_COLUMNS = ("text", "prompt", "context", "premise", "ctx")
QUESTION_COLUMN = "question"
LABEL_COLUMNS = ("label", "answer", "gold", "correct")
NUMBERED_COLUMN = re.compile(r"(.*\D)(\d+)")


def read_choices(path):
    """Reads texts, the choices for each, and the numbers of the right choices.

    The suffix of the file decides how it is read, see `read_labelled`. With a header,
    the columns are found by their names:

    - the text: text, prompt, context, premise or ctx; a question follows it, or is the
      text. In SWAG, the text is `sent1`, and every choice begins with `sent2`;
    - the choices: the same name with the numbers 0, 1, 2 ... or 1, 2, 3 ..., such as
      `ending0` and `choice_1`;
    - the number of the right choice, from 0: label, answer, gold or correct.

    A file without a header has the columns of CODAH: a category, the text, the choices,
    and the number of the right one.

    Source: Zellers et al. 2018, SWAG; Chen et al. 2019, CODAH.

    Args:
        path: str or path.

    Returns:
        tuple of lists of str: the texts, the first choices, the second ones and so on;
        and list of int.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if the file cannot be read, columns are missing, rows have different
            numbers of choices, or a number is not that of a choice. The message names
            the line.
    """
    table = read_table(path)
    found = _named_columns(table)
    first = 0 if table.header or found is None else 1
    texts, begins, choices, label = found or _columns_of_codah(table)
    rows = range(first, len(table.rows))
    if not rows:
        raise ValueError(f"{table.path} must have rows. Received: only a header.")
    columns = tuple(
        [
            " ".join(
                text_of(table, table.places[row], table.rows[row], part)
                for part in parts
            )
            for row in rows
        ]
        for parts in (texts, *((*begins, choice) for choice in choices))
    )
    return columns, [_number(table, row, label, len(choices)) for row in rows]


def _named_columns(table):
    """The columns of a table with a header, or None.

    They are those of texts, those that begin every choice, choices, and labels.
    """
    names = [plain_name(name) for name in table.names]
    texts, begins = [name for name in TEXT_COLUMNS if name in names], []
    if {*SWAG_COLUMNS} <= {*names}:
        texts, begins = SWAG_COLUMNS[:1], SWAG_COLUMNS[1:]
    elif len(texts) > 1:
        raise ValueError(
            f"{table.path} must have one column of texts. Received: "
            f"{', '.join(texts)}. Remove or rename the others."
        )
    elif QUESTION_COLUMN in names:
        texts.append(QUESTION_COLUMN)
    label = next((name for name in LABEL_COLUMNS if name in names), None)
    choices = _numbered(names, (*texts, *begins))
    if texts and label and choices:
        texts, begins = (
            [column_number(table, "text", name) for name in part]
            for part in (texts, begins)
        )
        return texts, begins, choices, column_number(table, "label", label)
    if table.header or texts or label or choices:
        raise ValueError(
            f"{table.path} must have columns of a text, of choices with numbers such "
            "as `choice_0` and `choice_1`, and of the number of the right choice. "
            f"Received: {table.names}. Rename them."
        )
    return None


def _numbered(names, excluded):
    """The columns that have one name with the numbers 0, 1 ... or 1, 2 ..."""
    groups = collections.defaultdict(list)
    for column, name in enumerate(names):
        match = NUMBERED_COLUMN.fullmatch(name)
        if match and name not in excluded:
            groups[match[1]].append((int(match[2]), column))
    groups = [sorted(group) for group in groups.values() if len(group) > 1]
    if len(groups) != 1:
        return []
    numbers, columns = zip(*groups[0], strict=True)
    size = len(numbers)
    consecutive = numbers in (tuple(range(size)), tuple(range(1, size + 1)))
    return list(columns) if consecutive else []


def _columns_of_codah(table):
    """The columns of a table without a header; see `_named_columns`."""
    count = len(table.names)
    if count < 5:
        raise ValueError(
            f"{table.path} must have a category, a text, two or more choices and the "
            f"number of the right one. Received: {count} columns in the first line: "
            f"{table.names!r:.80}. Add them, or a header."
        )
    return [1], [], [*range(2, count - 1)], count - 1


def _number(table, row, column, count):
    value = str(table.rows[row][column]).strip()
    if not value.isdecimal() or int(value) >= count:
        raise ValueError(
            f"The number of the right choice must be 0 to {count - 1}. Received: "
            f"{value!r:.40} in {table.places[row]} of {table.path}."
        )
    return int(value)
