"""Rows of CSV and TSV files of any size."""

import csv
import functools
import re

from zoo.files.lines import read_lines
from zoo.files.whole_files import open_text

DELIMITERS = ",;\t"  # of CSV
LONGEST_CELL = 2**27  # characters; a quote that does not end would take the whole file
# A line of TSV whose fields with quotes are all quoted as CSV quotes them; and one
# whose last field ends in a later line.
FIELD = r'(?:"[^"]*+(?:""[^"]*+)*+"|[^"\t]*+)'
CLOSED_LINE = re.compile(rf"{FIELD}(?:\t{FIELD})*+")
OPEN_LINE = re.compile(rf'(?:{FIELD}\t)*+"[^"]*+(?:""[^"]*+)*+')


def csv_rows(path):
    """Finds the delimiter with which all rows of a CSV file have the same length.

    Returns a function that returns an iterator of (place, row), and their number.
    Blank rows are left out, and empty fields beyond the first row's.

    Raises:
        ValueError: if there is none, or if there are several.
    """
    begin = _first_record(path)
    marks = [mark for mark in DELIMITERS if mark in begin] or DELIMITERS[:1]
    found, errors = [], []
    for mark in sorted(marks, key=begin.count, reverse=True):
        rows = functools.partial(_even_rows, path, _parsed, mark)
        try:
            found.append((rows, sum(1 for _ in rows())))
        except ValueError as error:
            errors.append(error)
    if len(found) > 1:
        raise ValueError(
            f"{path} must have one kind of delimiter. Received: several of comma, "
            "semicolon and tab, each of which divides all lines into equally many "
            "columns. Save it as TSV, or quote the texts."
        )
    if not found:
        raise errors[0]
    return found[0]


def tsv_rows(path):
    """Finds out whether quotes of a TSV file are characters; see `csv_rows`.

    They are not if all fields with quotes are quoted as in CSV.
    """
    all_quoted, newline = _scan_quotes(path)
    plain = functools.partial(_even_rows, path, _split, newline)
    if not all_quoted:
        return plain, sum(1 for _ in plain())
    quoted, counts, errors = functools.partial(_even_rows, path, _parsed, "\t"), {}, {}
    for rows in (plain, quoted):
        try:
            counts[rows] = sum(1 for _ in rows())
        except ValueError as error:
            errors[rows] = error
    if quoted in errors and plain in errors:
        raise errors[quoted]
    if quoted in errors or plain in errors or counts[plain] == counts[quoted]:
        chosen = plain if quoted in errors else quoted
        return chosen, counts[chosen]
    raise ValueError(
        f"The quotes of {path} must be clear. Received: quotes that are characters of "
        f"{counts[plain]} lines, or that enclose fields of {counts[quoted]} rows with "
        "line breaks. Save it as CSV."
    )


def read_columns(path, columns):
    """Yields the chosen columns of each line that is not blank, a list of str.

    They are separated by tabs. There is no header, and quotes are characters. `columns`
    are ints from 0. ValueError if a line has too few columns.
    """
    count = max(columns) + 1
    for number, line in enumerate(read_lines(path, "\n"), start=1):
        cells = line.split("\t")
        if line.strip() and len(cells) < count:
            raise ValueError(
                f"Every line of {path} must have at least {count} columns, separated "
                f"by tabs. Received: {len(cells)} in line {number}: {line!r:.60}."
            )
        if line.strip():
            yield [cells[column] for column in columns]


def _first_record(path):
    """The first line that is not empty, and the next ones while a quote is open."""
    begin = ""
    with open_text(path, newline="") as file:
        for line in file:
            begin += line if begin else line.lstrip("\r\n")
            if begin and begin.count('"') % 2 == 0 or len(begin) > LONGEST_CELL:
                break
    return begin


def _scan_quotes(path):
    """Whether a TSV file has quotes, all of them as in CSV; and what ends its lines."""
    found, inside, clear, newline = False, False, True, "\r"
    with open_text(path, newline="") as file:
        for line in file:
            newline = "\n" if line.endswith("\n") else newline
            if clear and '"' in line:
                # The beginning of a field in earlier lines does not matter.
                line = ('"' if inside else "") + line.rstrip("\r\n")
                inside = CLOSED_LINE.fullmatch(line) is None
                found, clear = True, not inside or OPEN_LINE.fullmatch(line) is not None
            if not clear and newline == "\n":
                break
    return found and clear and not inside, newline


def _even_rows(path, split, mark):
    """Yields the place and the fields of each row; ValueError if they are uneven."""
    width = None
    for number, row in split(path, mark):
        if not "".join(row).strip():
            continue
        width = len(row) if width is None else width
        if any(row[width:]) or len(row) < width:
            raise ValueError(
                f"Every row of {path} must have as many columns as the first, {width}. "
                f"Received: {len(row)} in line {number}: {row!r:.80}. Complete it, or "
                "quote the field that contains a delimiter."
            )
        yield f"line {number}", row[:width]


def _split(path, newline):
    """Yields the number and the fields of each line; quotes are characters."""
    with open_text(path, newline) as file:
        for number, line in enumerate(file, start=1):
            yield number, line.removesuffix(newline).removesuffix("\r").split("\t")


def _parsed(path, delimiter):
    """Yields the number of the first line and the fields of each row of CSV."""
    with open_text(path, newline="") as file:
        reader = csv.reader(file, delimiter=delimiter, strict=True)
        while True:
            number = reader.line_num + 1
            limit = csv.field_size_limit(LONGEST_CELL)  # of all readers
            try:
                row = next(reader, None)
            except csv.Error as error:
                raise ValueError(
                    f"A quoted field of {path} must end with a quote before a "
                    "delimiter or the end of a line, and quotes in it must be doubled. "
                    "Received: another quote in the row that begins in line "
                    f"{number} ({error})."
                ) from error
            finally:
                csv.field_size_limit(limit)
            if row is None:
                return
            yield number, row
