"""Rows of CSV, TSV, JSON and Parquet files, with the numbers of their lines."""

import codecs
import csv
import dataclasses
import io
import json
import lzma
import pathlib
import re
import zlib

from zoo.files.inflation import check_growth
from zoo.files.whole_files import OPENERS, open_any

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
        numbers: list of int, the number of each row in the file, from 1.
        unit: str, what `numbers` counts: "line", "object" or "row".
        header: True if the names are not a row; None if they may be one.
    """

    path: pathlib.Path
    names: list
    rows: list
    numbers: list
    unit: str = "line"
    header: bool | None = None

    def place(self, row):
        """Where a row is in the file, such as "line 7"."""
        return f"{self.unit} {self.numbers[row]}"


def read_table(path):
    """Reads a table. The suffix of the file decides how; see `read_labelled`.

    Args:
        path: str or path.

    Returns:
        `Table` with at least one row.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if the file cannot be read, or rows differ in length.
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
    table = READERS[suffix](path, _read_bytes(path))
    if not table.rows:
        raise ValueError(f"{path} must have rows. Received: none.")
    return table


def _read_bytes(path):
    try:
        with open_any(path) as file:
            return file.read()
    except (EOFError, zlib.error, lzma.LZMAError, OSError) as error:
        if path.suffix not in OPENERS or getattr(error, "errno", None):
            raise
        raise ValueError(
            f"{path} must be a complete {path.suffix} file. Received: {error}. Copy "
            "or compress the file again."
        ) from error


def _decode(path, data):
    """Decodes UTF-8, and UTF-16 with a byte order mark, which Excel writes.

    Raises:
        ValueError: if the text has another encoding.
    """
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
    found, errors = [], []
    for delimiter in [d for d in DELIMITERS if d in begin] or DELIMITERS[:1]:
        try:
            found.append(_parse(path, text, delimiter))
        except ValueError as error:
            errors.append(error)
    tables = [table for table in found if _ragged(table) is None]
    if len(tables) > 1:
        raise ValueError(
            f"{path} must have one kind of delimiter. Received: several of comma, "
            "semicolon and tab, each of which divides all lines into equally many "
            "columns. Save it as TSV, or quote the texts."
        )
    if not tables and not found:
        raise errors[0]
    return _checked(tables or sorted(found, key=lambda table: -len(table.names)))


def _read_tsv(path, data):
    """Reads TSV, in which quotes are characters, or are removed from all fields.

    Raises:
        ValueError: if both are possible, with different rows.
    """
    text = _decode(path, data)
    ends = "\n" if "\n" in text else "\r"
    lines = [line.removesuffix("\r").split("\t") for line in text.split(ends)]
    plain = _text_table(path, lines, range(1, len(lines) + 1))
    if '"' not in text or not QUOTED.fullmatch(text):
        return _checked([plain])
    quoted = _parse(path, text, "\t")
    if len(plain.rows) == len(quoted.rows) or _ragged(plain) is not None:
        return _checked([quoted])
    if _ragged(quoted) is not None:
        return plain
    raise ValueError(
        f"The quotes of {path} must be clear. Received: quotes that are characters of "
        f"{len(plain.rows)} lines, or that enclose fields of {len(quoted.rows)} rows "
        "with line breaks. Save it as CSV."
    )


def _parse(path, text, delimiter):
    """Parses text with CSV's quotes.

    Raises:
        ValueError: if a quoted field does not end before a delimiter.
    """
    rows, numbers, next_number = [], [], 1
    limit = csv.field_size_limit(max(csv.field_size_limit(), len(text)))
    try:
        lines = io.StringIO(text, newline="")
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
        for row in reader:
            rows.append(row)
            numbers.append(next_number)
            next_number = reader.line_num + 1
    except csv.Error as error:
        raise ValueError(
            f"A quoted field of {path} must end with a quote before a delimiter or the "
            "end of a line, and quotes in it must be doubled. Received: another quote "
            f"in the row that begins in line {next_number} ({error})."
        ) from error
    finally:
        csv.field_size_limit(limit)
    return _text_table(path, rows, numbers)


def _text_table(path, rows, numbers):
    """A table without empty rows, and without empty fields beyond the first row's."""
    pairs = zip(rows, numbers, strict=True)
    kept = [(row, number) for row, number in pairs if "".join(row).strip()]
    rows, numbers = map(list, zip(*kept, strict=True)) if kept else ([], [])
    width = len(rows[0]) if rows else 0
    rows = [row if any(row[width:]) else row[:width] for row in rows]
    names = [name.strip() for name in rows[0]] if rows else []
    return Table(path, names, rows, numbers)


def _ragged(table):
    """The number of the first row whose length differs, or None."""
    width = len(table.names)
    return next((i for i, row in enumerate(table.rows) if len(row) != width), None)


def _checked(tables):
    """The first table.

    Raises:
        ValueError: if its rows differ in length.
    """
    table = tables[0]
    wrong = _ragged(table)
    if wrong is not None:
        row = table.rows[wrong]
        raise ValueError(
            f"Every row of {table.path} must have as many columns as the first, "
            f"{len(table.names)}. Received: {len(row)} in {table.place(wrong)}: "
            f"{row!r:.80}. Complete it, or quote the field that contains a delimiter."
        )
    return table


def _read_json(path, data):
    """Reads one JSON object per line, or one list of objects."""
    text = _decode(path, data)
    if text.lstrip()[:1] == "[":
        objects = _load(path, text, "the list")
        unit, numbers = "object", list(range(1, len(objects) + 1))
    else:
        lines = enumerate(text.split("\n"), start=1)
        kept = [(number, line) for number, line in lines if line.strip()]
        unit, numbers = "line", [number for number, _ in kept]
        objects = [_load(path, line, f"line {number}") for number, line in kept]
    for found, number in zip(objects, numbers, strict=True):
        if not isinstance(found, dict):
            raise ValueError(
                f"{path} must have one JSON object per line, or one list of objects. "
                f"Received: {type(found).__name__} in {unit} {number}."
            )
    names = list(dict.fromkeys(name for found in objects for name in found))
    rows = [[found.get(name) for name in names] for found in objects]
    return Table(path, names, rows, numbers, unit, header=True)


def _load(path, text, place):
    try:
        found = json.loads(text)
        if "\\ud" in text or "\\uD" in text:
            json.dumps(found, ensure_ascii=False).encode()  # half of a surrogate pair
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"{path} must have one JSON object per line, or one list of objects. "
            f"Received: an error in {place}: {error}."
        ) from error
    return found


def _read_parquet(path, data):
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise ValueError(
            f"Parquet needs the package pyarrow. Received: {path}. Run `pip install "
            "pyarrow`, or save the data as CSV."
        ) from error
    try:
        file, rows = parquet.ParquetFile(io.BytesIO(data)), []
        declared = 0
        # A file can hold a value once, and use it in every row.
        for batch in file.iter_batches(PARQUET_ROWS):
            values = batch.num_rows * max(batch.num_columns, 1)
            declared += batch.nbytes + PARQUET_VALUE * values
            check_growth(declared, len(data))
            columns = [column.to_pylist() for column in batch.columns]
            rows += map(list, zip(*columns, strict=True))
    except (ValueError, OSError) as error:
        raise ValueError(f"{path} must be a Parquet file. Received: {error}") from error
    numbers = list(range(1, len(rows) + 1))
    names = list(file.schema_arrow.names)
    return Table(path, names, rows, numbers, "row", header=True)


READERS = {
    ".csv": _read_csv,
    ".tsv": _read_tsv,
    ".txt": _read_tsv,
    "": _read_tsv,
    ".jsonl": _read_json,
    ".ndjson": _read_json,
    ".json": _read_json,
    ".parquet": _read_parquet,
}
