"""Writes tables of any size as CSV, TSV, JSON lines or Parquet."""

import csv
import itertools
import json
import types

from zoo.data.files.table_files import pyarrow_parquet
from zoo.files.whole_files import replacing

SEPARATORS = {".csv": ",", ".tsv": "\t"}
JSON_LINES = (".jsonl", ".ndjson")
TABLE_SUFFIXES = (*SEPARATORS, *JSON_LINES, ".parquet")
ROWS_IN_BLOCK = 1024


def write_table(path, names, rows, schema=None):
    """Writes rows as CSV, TSV, JSON lines or Parquet by the suffix, whole or not.

    Args:
        path: pathlib.Path.
        names: list of str, the columns.
        rows: function that returns an iterator of lists of values. Lists and dicts
            become JSON in CSV and TSV, and values that JSON lacks, such as dates, str.
        schema: `pyarrow.Schema` of the first columns of Parquet, or None; see
            `parquet_schema`.

    Raises:
        ValueError: see `parquet_schema`.
    """
    suffix = path.suffix.lower()
    with replacing(path) as temporary:
        if suffix == ".parquet":
            _write_parquet(temporary, names, rows, parquet_schema(names, rows, schema))
            return
        with open(temporary, "w", encoding="utf-8", newline="") as file:
            if suffix in JSON_LINES:
                for row in rows():
                    file.write(_as_json(dict(zip(names, row, strict=True))) + "\n")
                return

            def write(row):
                file.write(row.removesuffix("\r\n") + "\n")

            # Only with this end of lines, `csv` quotes cells that have a "\r".
            lines = types.SimpleNamespace(write=write)
            writer = csv.writer(lines, delimiter=SEPARATORS[suffix])
            writer.writerow(names)
            for row in rows():
                writer.writerow(map(_cell, row))


def check_columns(path, table):
    """Checks whether a file to write can have the columns of a table.

    Args:
        path: pathlib.Path of the file.
        table: `zoo.data.files.table_files.TableStream`.

    Returns:
        for Parquet, the `pyarrow.Schema` of the columns; for other formats None.

    Raises:
        ValueError: if the format needs other names or values.
    """
    suffix, names = path.suffix.lower(), table.names
    repeated = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if repeated and suffix not in SEPARATORS:
        raise ValueError(
            f"The columns of {path} must have different names. Received: "
            f"{repeated[:5]}, each of several columns. Rename them, or write .csv."
        )
    if suffix != ".parquet" or table.schema is not None:
        return table.schema
    return parquet_schema(names, lambda: (row for _, row in table.body()))


def _as_json(value):
    return json.dumps(value, ensure_ascii=False, default=str)


def _cell(value):
    """A value of CSV."""
    return _as_json(value) if isinstance(value, (list, tuple, dict)) else value


def parquet_schema(names, rows, known=None):
    """The `pyarrow.Schema` of columns, whose types are those of all rows.

    Args:
        names, rows: see `write_table`.
        known: `pyarrow.Schema` of the first columns, or None.

    Raises:
        ValueError: if the values of a column have no common type.
    """
    pyarrow_parquet("the output")
    import pyarrow

    fields = [*(known or ())]
    added = names[len(fields) :]
    schema = pyarrow.schema([(name, pyarrow.null()) for name in added])
    try:
        for block in _blocks(added, rows()) if added else ():
            found = [schema, pyarrow.Table.from_pylist(block).schema]
            schema = pyarrow.unify_schemas(found, promote_options="permissive")
    except (ValueError, TypeError) as error:
        raise ValueError(
            "The values of a column of Parquet must have one type. Received: "
            f"{error}. Write .jsonl or .csv."
        ) from error
    return pyarrow.schema([*fields, *schema])


def _write_parquet(path, names, rows, schema):
    parquet = pyarrow_parquet(path)
    import pyarrow

    with parquet.ParquetWriter(path, schema) as writer:
        for block in _blocks(names, rows()):
            writer.write_table(pyarrow.Table.from_pylist(block, schema))


def _blocks(names, rows):
    """Lists of dicts of the last values of rows, by their names."""
    while block := list(itertools.islice(rows, ROWS_IN_BLOCK)):
        yield [dict(zip(names, row[-len(names) :], strict=True)) for row in block]
