"""Rows of CSV, TSV, JSON and Parquet files, with their places in the file."""

import codecs
import csv
import dataclasses
import io
import json
import pathlib
import re

from zoo.files.inflation import check_growth
from zoo.files.whole_files import DAMAGE_ERRORS, OPENERS, open_any

DELIMITERS = ",;\t"  # of CSV
# Rows that are read at once, and the bytes of a value that Parquet may not store.
PARQUET_ROWS, PARQUET_VALUE = 128, 16
# A file in which every field with a quote is quoted as CSV quotes it.
QUOTED = re.compile(
    r'(?:(?:"[^"]*+(?:""[^"]*+)*+"|[^"\t\r\n]*+)(?:\t|\r\n|\n|\r|\Z))*+'
)


@dataclasses.dataclass(frozen=True)
class Table:
    """The rows of a file.

    Args:
        path: pathlib.Path of the file.
        names: list of str, the names of the columns. If `header` is None, they are the
            first row.
        rows: list of lists of values, all as long as `names`. The values of CSV and
            TSV are str. A value that a JSON object does not have is None.
        places: list of str, where each row is in the file, such as "line 7".
        header: True if the names are not a row; None if they may be one.
        error: str, why the file cannot be read in this way, or None.
    """

    path: pathlib.Path
    names: list
    rows: list
    places: list
    header: bool | None = None
    error: str | None = None


def read_table(path):
    """Reads a table of at least one row by its suffix; see `zoo.data.read_labelled`.

    FileNotFoundError if there is no such file; ValueError if it cannot be read, or rows
    differ in length.
    """
    path = pathlib.Path(path)
    if not path.exists():
        raise FileNotFoundError(f"No such file: {path}.")
    suffix = (path.with_suffix("") if path.suffix in OPENERS else path).suffix.lower()
    if suffix not in READERS or path.is_dir():
        raise ValueError(
            "Labelled texts must be a file that ends in "
            f"{', '.join(filter(None, READERS))}, perhaps followed by .gz or .xz. "
            f"Received: {path}. Convert the data, for example to CSV in UTF-8."
        )
    try:
        with open_any(path) as file:
            data = file.read()
    except DAMAGE_ERRORS as error:
        raise ValueError(
            f"{path} must be a complete {path.suffix} file. Received: {error}. Copy "
            "or compress the file again."
        ) from error
    table = READERS[suffix](path, data)
    if not table.rows:
        raise ValueError(f"{path} must have rows. Received: none.")
    return table


def _decode(path, data):
    """Decodes UTF-8, and UTF-16 with a byte order mark, which Excel writes."""
    marked = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    encoding = "utf-16" if marked else "utf-8"
    zero = data[:2].find(0)  # UTF-16 without a mark
    try:
        if zero >= 0:
            raise UnicodeDecodeError(encoding, data, zero, zero + 1, "zero byte")
        return data.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = len(re.findall(rb"\r\n|\n|\r", data[: error.start])) + 1
        former = "UTF-16" if marked or zero >= 0 else "WINDOWS-1252"
        raise ValueError(
            f"{path} must be text in UTF-8. Received: byte "
            f"0x{data[error.start]:02x} at position {error.start}, in line {line}. "
            f"Save the file as UTF-8, for example with `iconv -f {former} -t UTF-8`."
        ) from error


def _read_csv(path, data):
    """Reads CSV with the delimiter that gives all rows the same length."""
    text = _decode(path, data)
    begin = re.split(r"[\r\n]", text.lstrip("\r\n"), maxsplit=1)[0]
    begin = text if begin.count('"') % 2 else begin  # a line ends in a quoted field
    delimiters = [mark for mark in DELIMITERS if mark in begin] or DELIMITERS[:1]
    tables = [_parse(path, text, delimiter) for delimiter in delimiters]
    if sum(table.error is None for table in tables) > 1:
        raise ValueError(
            f"{path} must have one kind of delimiter. Received: several of comma, "
            "semicolon and tab, each of which divides all lines into equally many "
            "columns. Save it as TSV, or quote the texts."
        )
    return _sound(max(tables, key=lambda t: (t.error is None, len(t.names))))


def _read_tsv(path, data):
    """Reads TSV, in which quotes are characters, or are removed from all fields."""
    text = _decode(path, data)
    lines = text.split("\n" if "\n" in text else "\r")
    rows = (line.removesuffix("\r").split("\t") for line in lines)
    plain = _text_table(path, enumerate(rows, start=1))
    if '"' not in text or not QUOTED.fullmatch(text):
        return _sound(plain)
    quoted = _parse(path, text, "\t")
    if plain.error or len(plain.rows) == len(quoted.rows):
        return _sound(quoted)
    if quoted.error:
        return plain
    raise ValueError(
        f"The quotes of {path} must be clear. Received: quotes that are characters of "
        f"{len(plain.rows)} lines, or that enclose fields of {len(quoted.rows)} rows "
        "with line breaks. Save it as CSV."
    )


def _sound(table):
    if table.error:
        raise ValueError(table.error)
    return table


def _parse(path, text, delimiter):
    """Parses text with CSV's quotes."""
    rows, number = [], 1
    limit = csv.field_size_limit(max(csv.field_size_limit(), len(text)))
    try:
        lines = io.StringIO(text, newline="")
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
        for row in reader:
            rows.append((number, row))
            number = reader.line_num + 1
    except csv.Error as error:
        message = (
            f"A quoted field of {path} must end with a quote before a delimiter or the "
            "end of a line, and quotes in it must be doubled. Received: another quote "
            f"in the row that begins in line {number} ({error})."
        )
        return Table(path, [], [], [], error=message)
    finally:
        csv.field_size_limit(limit)
    return _text_table(path, rows)


def _text_table(path, numbered):
    """A table without blank rows, and without empty fields beyond the first row's."""
    kept = [(number, row) for number, row in numbered if "".join(row).strip()]
    width, error = len(kept[0][1]) if kept else 0, None
    rows = [row if any(row[width:]) else row[:width] for _, row in kept]
    places = [f"line {number}" for number, _ in kept]
    names = [name.strip() for name in rows[0]] if rows else []
    ragged = [pair for pair in zip(rows, places, strict=True) if len(pair[0]) != width]
    if ragged:
        row, place = ragged[0]
        error = (
            f"Every row of {path} must have as many columns as the first, {width}. "
            f"Received: {len(row)} in {place}: {row!r:.80}. Complete it, or quote the "
            "field that contains a delimiter."
        )
    return Table(path, names, rows, places, error=error)


def _read_json(path, data):
    """Reads one JSON object per line, or one list of objects."""
    text = _decode(path, data)
    rule = f"{path} must have one JSON object per line, or one list of objects."
    lines = enumerate(text.split("\n"), start=1)
    parts = {f"line {number}": line for number, line in lines if line.strip()}
    listed = text.lstrip()[:1] == "["
    if listed:
        parts = {"the list": text}
    objects = []
    for place, part in parts.items():
        try:
            objects.append(json.loads(part))
            if "\\ud" in part or "\\uD" in part:  # half of a surrogate pair
                json.dumps(objects[-1], ensure_ascii=False).encode()
        except (ValueError, RecursionError) as error:
            message = f"{rule} Received: an error in {place}: {error}."
            raise ValueError(message) from error
    places = [*parts]
    if listed:
        objects = objects[0]
        places = [f"object {number}" for number in range(1, len(objects) + 1)]
    for found, place in zip(objects, places, strict=True):
        if not isinstance(found, dict):
            kind = type(found).__name__
            raise ValueError(f"{rule} Received: {kind} in {place}.")
    names = list(dict.fromkeys(name for found in objects for name in found))
    rows = [[found.get(name) for name in names] for found in objects]
    return Table(path, names, rows, places, header=True)


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


def _read_parquet(path, data):
    parquet = pyarrow_parquet(path)
    try:
        file, rows, declared = parquet.ParquetFile(io.BytesIO(data)), [], 0
        # A file can hold a value once, and use it in every row.
        for batch in file.iter_batches(PARQUET_ROWS):
            values = batch.num_rows * max(batch.num_columns, 1)
            declared += batch.nbytes + PARQUET_VALUE * values
            check_growth(declared, len(data))
            columns = [column.to_pylist() for column in batch.columns]
            rows += map(list, zip(*columns, strict=True))
    except (ValueError, OSError) as error:
        raise ValueError(f"{path} must be a Parquet file. Received: {error}") from error
    places = [f"row {number}" for number in range(1, len(rows) + 1)]
    return Table(path, list(file.schema_arrow.names), rows, places, header=True)


READERS = {
    ".csv": _read_csv,
    **dict.fromkeys((".tsv", ".txt", ""), _read_tsv),
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), _read_json),
    ".parquet": _read_parquet,
}
