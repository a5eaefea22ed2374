"""Files of texts and their translations."""

import functools

from zoo.data.files.document_formats import Format, numbered_lines
from zoo.data.files.separated_values import read_columns
from zoo.files.lines import read_lines


def read_bitext(path, target=None, columns=(0, 1)):
    """Reads pairs of a source and a target text.

    Args:
        path: UTF-8 file, plain, `.gz` or `.xz`. With one file, each line has columns
            that are separated by tabs, without a header; empty lines are ignored. With
            two files, each line is a text.
        target: path of the file with the targets, or None.
        columns: pair of ints, the columns of source and target in one file, from 0.

    Returns:
        two lists of str of the same length.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if a column is not a number, a line has too few columns, the files
            have different numbers of lines, or a file is damaged or not UTF-8. The
            message names the file and the line.
    """
    if target is not None:
        lines = [*read_lines(path, "\n")]
        target_lines = [*read_lines(target, "\n")]
        if len(lines) != len(target_lines):
            raise ValueError(
                "The two files must have the same number of lines. Received: "
                f"{len(lines)} in {path}, {len(target_lines)} in {target}."
            )
        return lines, target_lines
    found = [], []
    for texts in read_columns(path, [_column_number(column) for column in columns]):
        for side, text in zip(found, texts, strict=True):
            side.append(text.strip())
    return found


def bitext_format(columns, path):
    """The `Format` of a file of pairs, whose documents are a source and a target."""
    parse = functools.partial(_split, [_column_number(column) for column in columns])
    return Format(numbered_lines, parse, lambda line: True)


def _split(columns, line):
    cells = line.split("\t")
    if max(columns) >= len(cells):
        raise ValueError(
            f"A line must have at least {max(columns) + 1} columns, separated by tabs. "
            f"Received: {len(cells)}: {line!r:.60}"
        )
    return [cells[column] for column in columns]


def _column_number(column):
    if not str(column).isdecimal():
        raise ValueError(
            "Columns of sources and targets must be numbers from 0. Received: "
            f"{column!r}."
        )
    return int(column)
