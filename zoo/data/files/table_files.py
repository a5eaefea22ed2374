"""Reads CSV, TSV, JSON and Parquet files of any size, row by row."""

import contextlib
import dataclasses
import itertools
import json
import pathlib
from collections.abc import Callable

from zoo.data.files.separated_values import LONGEST_CELL, csv_rows, tsv_rows
from zoo.files.buckets import local_path
from zoo.files.inflation import check_growth
from zoo.files.whole_files import OPENERS, open_text

# Rows that are read at once, and the bytes of a value that Parquet may not store.
PARQUET_ROWS, PARQUET_VALUE = 128, 32
JSON_CHARACTERS = 2**16  # of a list that are read at once
JSON_SPACES, JSON_DECODER = " \t\r\n", json.JSONDecoder()


@dataclasses.dataclass(frozen=True)
class TableStream:
    """A table whose rows are read again by each iteration.

    Args:
        path: pathlib.Path of the file.
        names: list of str, the names of the columns. If `header` is None, they are the
            first row.
        rows: function that returns an iterator of pairs: where a row is in the file,
            such as "line 7", and its values, a list as long as `names`. The values of
            CSV and TSV are str. A value that a JSON object does not have is None.
        count: int, the number of rows.
        header: True if the names are not a row; None if they may be one.
        schema: the `pyarrow.Schema` of a Parquet file, or None.
    """

    path: pathlib.Path
    names: list
    rows: Callable
    count: int
    header: bool | None = None
    schema: object = None

    def body(self):
        """The rows without the header, an iterator; see `rows`."""
        return itertools.islice(self.rows(), 0 if self.header else 1, None)


@dataclasses.dataclass(frozen=True)
class Table:
    """The rows of a file in memory; see `TableStream` for other fields.

    Args:
        rows: list of lists of values.
        places: list of str, where each row is in the file.
    """

    path: pathlib.Path
    names: list
    rows: list
    places: list
    header: bool | None = None


def read_table(path):
    """Reads a table of at least one row into memory; see `open_table`."""
    table = open_table(path)
    if not table.count:
        raise ValueError(f"{path} must have rows. Received: none.")
    rows, places = [], []
    for place, row in table.rows():
        rows.append(row)
        places.append(place)
    return Table(table.path, table.names, rows, places, table.header)


def open_table(path):
    """Opens a table by its suffix, for reading row by row.

    The rules of the formats are those of `zoo.data.read_labelled`. A row, or a block of
    rows of Parquet, is in memory. The file is read once to check it.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if it cannot be read, has no rows, or rows of CSV or TSV differ in
            length. The message names the line.
    """
    path = local_path(path)
    if not path.exists():
        raise FileNotFoundError(f"No such file: {path}.")
    suffix = (path.with_suffix("") if path.suffix in OPENERS else path).suffix.lower()
    if suffix not in READERS or path.is_dir():
        raise ValueError(
            "A table must be a file that ends in "
            f"{', '.join(filter(None, READERS))}, perhaps followed by .gz or .xz. "
            f"Received: {path}. Convert the data, for example to CSV in UTF-8."
        )
    table = READERS[suffix](path)
    if not table.names:
        raise ValueError(f"{path} must have rows. Received: none.")
    return table


def _open_csv(path, find_rows=csv_rows):
    rows, count = find_rows(path)
    _, first = next(rows(), (None, []))
    return TableStream(path, [name.strip() for name in first], rows, count)


def _open_tsv(path):
    return _open_csv(path, tsv_rows)


def _open_json(path):
    """Opens a file of one JSON object per line, or of one list of objects."""
    names, count = {}, 0
    for _, found in _objects(path):
        names |= dict.fromkeys(found)
        count += 1
    names = [*names]

    def rows():
        for place, found in _objects(path):
            yield place, [found.get(name) for name in names]

    return TableStream(path, names, rows, count, header=True)


def _objects(path):
    """Yields the place of each object and the object, a dict."""
    with open_text(path, "\n") as file:
        start = file.read(JSON_CHARACTERS)
        while start and not start.strip():
            start = file.read(JSON_CHARACTERS)
    values = _values_of_list if start.lstrip()[:1] == "[" else _values_of_lines
    for place, found, text in values(path):
        if "\\ud" in text or "\\uD" in text:  # half of a surrogate pair
            with _json_errors(path, place):
                json.dumps(found, ensure_ascii=False).encode()
        if not isinstance(found, dict):
            raise _json_error(path, f"{type(found).__name__} in {place}")
        yield place, found


def _values_of_lines(path):
    """Yields place, value and text of each line of JSON that is not blank."""
    with open_text(path, "\n") as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                with _json_errors(path, f"line {number}"):
                    found = json.loads(line)
                yield f"line {number}", found, line


def _values_of_list(path):
    """Yields place, value and text of each entry of one JSON list."""
    with open_text(path, "\n") as file:
        text, mark, number = "", "[", 0
        while True:
            text = _without_spaces(text, file)
            if text[:1] == "]" and number:
                break
            if text[:1] != mark:
                raise _json_error(path, f"no {mark!r} before object {number + 1}")
            text, mark = _without_spaces(text[1:], file), ","
            if text[:1] == "]" and not number:
                break
            number += 1
            place = f"object {number}"
            found, end, text = _first_value(path, place, text, file)
            yield place, found, text[:end]
            text = text[end:]
        if _without_spaces(text[1:], file):
            raise _json_error(path, "more text after the list")


def _first_value(path, place, text, file):
    """Parses the JSON value at the start of a text; reads more of the file if needed.

    Returns the value, the position of its end, and the text with what was read.
    """
    size = JSON_CHARACTERS
    while True:
        try:
            return *JSON_DECODER.raw_decode(text), text
        except (ValueError, RecursionError) as error:
            unfinished = len(text) < LONGEST_CELL and isinstance(error, ValueError)
            more = file.read(size) if unfinished else ""
            if not more:
                raise _json_error(path, f"an error in {place}: {error}") from error
        text, size = text + more, 2 * size


def _without_spaces(text, file):
    """Strips spaces from the start of a text; reads more of the file if it is empty."""
    text = text.lstrip(JSON_SPACES)
    while not text and (more := file.read(JSON_CHARACTERS)):
        text = more.lstrip(JSON_SPACES)
    return text


def _json_error(path, received):
    return ValueError(
        f"{path} must have one JSON object per line, or one list of objects. Received: "
        f"{received}."
    )


@contextlib.contextmanager
def _json_errors(path, place):
    try:
        yield
    except (ValueError, RecursionError) as error:
        raise _json_error(path, f"an error in {place}: {error}") from error


def pyarrow_parquet(path):
    """The module for Parquet; ValueError if it is not installed."""
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise ValueError(
            f"Parquet needs the package pyarrow. Received: {path}. Run `pip install "
            "pyarrow`, or save the data as CSV."
        ) from error
    return parquet


def _open_parquet(path):
    parquet = pyarrow_parquet(path)
    with _parquet_errors(path), parquet.ParquetFile(path) as file:
        schema, count = file.schema_arrow, file.metadata.num_rows

    def rows():
        number, declared, size = 0, 0, path.stat().st_size
        with _parquet_errors(path), parquet.ParquetFile(path) as file:
            # A file can hold a value once, and use it in every row.
            for batch in file.iter_batches(PARQUET_ROWS):
                values = batch.num_rows * max(batch.num_columns, 1)
                declared += batch.nbytes + PARQUET_VALUE * values
                check_growth(declared, size)
                columns = [column.to_pylist() for column in batch.columns]
                for row in zip(*columns, strict=True):
                    number += 1
                    yield f"row {number}", [*row]

    return TableStream(path, [*schema.names], rows, count, True, schema)


@contextlib.contextmanager
def _parquet_errors(path):
    try:
        yield
    except (ValueError, OSError) as error:
        raise ValueError(f"{path} must be a Parquet file. Received: {error}") from error


READERS = {
    ".csv": _open_csv,
    **dict.fromkeys((".tsv", ".txt", ""), _open_tsv),
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), _open_json),
    ".parquet": _open_parquet,
}
