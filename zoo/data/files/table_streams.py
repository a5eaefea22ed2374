"""Tables of any size that are read row by row, and written with more columns."""

import contextlib
import csv
import dataclasses
import functools
import itertools
import json
import pathlib
import sys
from collections.abc import Callable

from zoo.data.files.table_columns import (
    check_first_texts,
    column_number,
    known_text_columns,
)
from zoo.data.files.table_files import DELIMITERS, pyarrow_parquet, read_table
from zoo.files.whole_files import OPENERS, open_text, replacing

ROWS_IN_BLOCK = 1024
JSON_LINES = (".jsonl", ".ndjson")
WRITTEN = (".csv", ".tsv", *JSON_LINES, ".parquet")


@dataclasses.dataclass(frozen=True)
class TableStream:
    """A table with a header.

    Args:
        path: pathlib.Path.
        names: list of str, the columns.
        rows: function that returns an iterator of rows, lists of values. Those of CSV
            and TSV are str.
        count: int, the number of rows.
        schema: the `pyarrow.Schema` of a Parquet file, or None.
    """

    path: pathlib.Path
    names: list
    rows: Callable
    count: int
    schema: object = None
    header = True  # as of `zoo.data.files.table_files.Table`

    def text_columns(self, names, text=None, pair=None):
        """The numbers of the columns of texts of a task.

        Args:
            names: tuple of str, the columns of the task, such as question and context.
            text, pair: names or numbers of columns, or None to find them.

        Raises:
            ValueError: if they are not found, or are ambiguous.
        """
        check_first_texts(text, pair)
        given = [column for column in (text, pair) if column is not None]
        if given:
            roles = ("text", "pair")[: len(given)]
            pairs = zip(roles, given, strict=True)
            found = [column_number(self, role, column) for role, column in pairs]
        elif {*names} <= {*self.names}:
            found = [self.names.index(name) for name in names]
        elif len(self.names) == 1 == len(names):
            found = [0]
        else:
            found = known_text_columns(self.names, len(names))
        if len({*found}) != len(names):
            listed = ", ".join(map(repr, self.names[:20]))
            raise ValueError(
                f"{self.path} must have {len(names)} columns of texts. Received: "
                f"{len({*found})} of the columns {listed}. Name them with "
                "`--text-column`, and `--pair-column` for second texts."
            )
        return found


def open_table(path):
    """Opens a table with a header for reading row by row; see `TableStream`.

    CSV, TSV and JSON lines may be compressed. The first line of CSV and TSV is the
    header. Quotes of TSV are those of `zoo.data.read_labelled`.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if it cannot be read. The message names the line.
    """
    path = pathlib.Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"No such file: {path}.")
    suffix = table_suffix(path)
    if suffix == ".csv":
        return _open_csv(path)
    if suffix in JSON_LINES:
        return _open_json_lines(path)
    if suffix == ".parquet":
        return _open_parquet(path)
    table = read_table(path)  # also of TSV with quotes, which the whole file decides
    rows = table.rows if table.header else table.rows[1:]
    return TableStream(path, table.names, lambda: iter(rows), len(rows))


def table_suffix(path):
    """The suffix of a table, without that of its compression."""
    return (path.with_suffix("") if path.suffix in OPENERS else path).suffix.lower()


def _open_csv(path):
    with open_text(path, newline="") as file:
        first = file.readline()
    marks = [mark for mark in DELIMITERS if mark in first] or [DELIMITERS[0]]
    errors = []
    for mark in marks:
        try:
            header, count = _scan_csv(path, mark)
        except ValueError as error:
            errors.append(error)
            continue
        names = [name.strip() for name in header]
        return TableStream(path, names, functools.partial(_csv_body, path, mark), count)
    raise errors[0]


def _scan_csv(path, delimiter):
    """The first row of CSV, and how many rows follow."""
    rows = _csv_rows(path, delimiter)
    return next(rows), sum(1 for _ in rows)


def _csv_body(path, delimiter):
    """The rows of CSV after the header, an iterator."""
    return itertools.islice(_csv_rows(path, delimiter), 1, None)


def _csv_rows(path, delimiter):
    """Yields the rows of CSV, without blank ones, as wide as the first."""
    width = None
    csv.field_size_limit(sys.maxsize)
    with open_text(path, newline="") as file:
        reader = csv.reader(file, delimiter=delimiter, strict=True)
        while True:
            line = reader.line_num + 1
            try:
                row = next(reader)
            except StopIteration:
                break
            except csv.Error as error:
                raise ValueError(
                    f"{path} must be CSV, with quotes as of RFC 4180. Received: "
                    f"{error} in the row that begins in line {line}."
                ) from error
            if not "".join(row).strip():
                continue
            width = len(row) if width is None else width
            if any(row[width:]) or len(row) < width:
                raise ValueError(
                    f"Every row of {path} must have {width} columns. Received: "
                    f"{len(row)} in line {line}: {row!r:.80}."
                )
            yield row[:width]
    if width is None:
        raise ValueError(f"{path} must have rows. Received: none.")


def _open_json_lines(path):
    names, count = {}, 0
    for found in _objects(path):
        names |= dict.fromkeys(found)
        count += 1
    names = [*names]

    def rows():
        return ([found.get(name) for name in names] for found in _objects(path))

    return TableStream(path, names, rows, count)


def _objects(path):
    """Yields the objects of JSON lines."""
    with open_text(path) as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                found = json.loads(line)
            except (ValueError, RecursionError) as error:
                found = error
            if not isinstance(found, dict):
                raise ValueError(
                    f"{path} must have one JSON object in each line. Received: "
                    f"{line.strip()[:60]!r} in line {number}."
                )
            yield found


def _open_parquet(path):
    parquet = pyarrow_parquet(path)
    with _parquet_errors(path):
        file = parquet.ParquetFile(path)
        count, schema = file.metadata.num_rows, file.schema_arrow

    def rows():
        with _parquet_errors(path):
            for batch in parquet.ParquetFile(path).iter_batches(ROWS_IN_BLOCK):
                columns = [column.to_pylist() for column in batch.columns]
                yield from map(list, zip(*columns, strict=True))

    return TableStream(path, list(schema.names), rows, count, schema)


@contextlib.contextmanager
def _parquet_errors(path):
    try:
        yield
    except (ValueError, OSError) as error:
        raise ValueError(f"{path} must be a Parquet file. Received: {error}") from error


def write_table(path, names, rows, schema=None):
    """Writes rows as CSV, TSV, JSON lines or Parquet by the suffix, whole or not.

    Args:
        path: pathlib.Path.
        names: list of str, the columns.
        rows: iterable of lists of values. Lists and dicts become JSON in CSV and TSV.
        schema: `pyarrow.Schema` of the first columns, or None.
    """
    suffix = path.suffix.lower()
    with replacing(path) as temporary:
        if suffix == ".parquet":
            _write_parquet(temporary, names, rows, schema)
            return
        with open(temporary, "w", encoding="utf-8", newline="") as file:
            if suffix in JSON_LINES:
                for row in rows:
                    named = dict(zip(names, row, strict=True))
                    file.write(json.dumps(named, ensure_ascii=False) + "\n")
                return
            mark = "\t" if suffix == ".tsv" else ","
            writer = csv.writer(file, delimiter=mark, lineterminator="\n")
            writer.writerow(names)
            for row in rows:
                writer.writerow(map(_cell, row))


def _cell(value):
    """A value of CSV."""
    if isinstance(value, (list, tuple, dict)):
        return json.dumps(value, ensure_ascii=False)
    return value


def _write_parquet(path, names, rows, schema):
    parquet = pyarrow_parquet(path)
    import pyarrow

    writer, rows = None, iter(rows)
    while block := list(itertools.islice(rows, ROWS_IN_BLOCK)):
        found = [dict(zip(names, row, strict=True)) for row in block]
        if writer is None:
            # The types of the columns of answers are those of the first block.
            known = pyarrow.Table.from_pylist(found).schema
            fields = [known.field(name) for name in names]
            fields[: len(schema or ())] = list(schema or ())
            schema = pyarrow.schema(fields)
            writer = parquet.ParquetWriter(path, schema)
        writer.write_table(pyarrow.Table.from_pylist(found, schema))
    if writer is None:
        fields = list(schema or ())
        fields += [pyarrow.field(n, pyarrow.string()) for n in names[len(fields) :]]
        writer = parquet.ParquetWriter(path, pyarrow.schema(fields))
    writer.close()
