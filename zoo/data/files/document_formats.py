"""The formats of files of documents, and how files are divided between documents."""

import dataclasses
import itertools
import json
import pathlib
import re
from collections.abc import Callable

import tensorflow as tf
from google.protobuf.message import DecodeError

from zoo.data.files.table_files import open_table
from zoo.files.buckets import local_path
from zoo.files.lines import read_lines
from zoo.files.whole_files import OPENERS, open_any, open_text

# Replaces `<unk>` of WikiText.
UNKNOWN_MARK = "[UNK]"
FIELD = "text"  # of JSON lines, Parquet and TFRecord
LINE_BREAK = re.compile("\r\n|\r|\n")
WET_HEADER = re.compile(rb"([\w-]+): *(.*?)\r?\n")


@dataclasses.dataclass(frozen=True)
class Span:
    """A part of a file that begins and ends between documents.

    Args:
        path: path of the file.
        begin, end: int, its first byte and its end; None for the whole file.
    """

    path: pathlib.Path
    begin: int = 0
    end: int | None = None


@dataclasses.dataclass(frozen=True)
class Format:
    """A format of documents.

    Args:
        records: function of a `Span`, and how wrong bytes are decoded; an iterator of
            places, such as "line 3", and records.
        parse: function of a record to its text, str or a list of lines. ValueError if
            it has none.
        divides: function of a line, bytes, to whether a span can begin there; None if
            only the whole file is read.
    """

    records: Callable
    parse: Callable = lambda lines: lines
    divides: Callable | None = None


def find_format(path):
    """The `Format` of a file by its name; plain text if the suffix is another one."""
    path = pathlib.Path(path)
    plain = path.with_suffix("") if path.suffix in OPENERS else path
    suffix = ".tokens" if ".tokens" in path.suffixes else plain.suffix.lower()
    return FORMATS.get(suffix, PLAIN)


def read_spans(spans, formats=find_format, fault=None):
    """Yields the documents of spans; see `zoo.data.read_documents` for `fault`.

    `formats` is a function of a path to a `Format`.
    """
    for span in spans:
        span = dataclasses.replace(span, path=local_path(span.path))
        kind = formats(span.path)
        for place, record in kind.records(
            span, "surrogateescape" if fault else "strict"
        ):
            try:
                lines = kind.parse(record)
                if isinstance(lines, str):
                    lines = filter(str.strip, LINE_BREAK.split(lines))
                lines = [line.strip() for line in lines]
                "".join(lines).encode()  # fails on what is no UTF-8
            except (ValueError, RecursionError) as error:
                if fault is None:
                    raise ValueError(
                        f"Every document of {span.path} must be readable. Received: an "
                        f"error in {place}: {error}. Correct or remove it, or use `zoo "
                        "prepare`, which leaves it out."
                    ) from error
                fault(span, place, error)
                continue
            if any(lines):
                yield lines


def span_lines(span, errors, newline=None):
    """The lines of a span of text; see `zoo.files.lines.read_lines`."""
    with open_text(span.path, newline, (span.begin, span.end), errors) as file:
        yield from read_lines(file)


def numbered_lines(span, errors):
    """The places of the lines of a span that are not blank, and the lines."""
    for number, line in enumerate(span_lines(span, errors, "\n"), start=1):
        if line.strip():
            yield place_of("line", number, span), line


def place_of(what, number, span):
    """The place of a line, or of a document, in a span."""
    return f"{what} {number}" + (f" after byte {span.begin}" if span.begin else "")


def _paragraphs(span, errors, convert=iter):
    """The lines of each document, between which are blank lines."""
    groups = itertools.groupby(
        convert(span_lines(span, errors)), lambda line: bool(line.strip())
    )
    documents = (list(lines) for filled, lines in groups if filled)
    for number, document in enumerate(documents, start=1):
        yield place_of("document", number, span), document


def _articles(span, errors):
    """The lines of each article of WikiText."""
    return _paragraphs(span, errors, _wikitext)


def _wikitext(lines):
    """Converts WikiText to plain text with a blank line before each article."""
    for line in lines:
        if line.startswith(" = ") and not line.startswith(" = ="):
            yield ""
        elif line.strip() and not line.startswith(" = "):
            line = re.sub(" @([-,.])@ ", r"\1", line)
            yield line.replace("<unk>", UNKNOWN_MARK)


def _parse_json(line):
    found = json.loads(line)
    return _checked(found.get(FIELD) if isinstance(found, dict) else None)


def _checked(text):
    if not isinstance(text, str):
        raise ValueError(f"no {FIELD!r} that is a string")
    return text


def _table_rows(span, errors):
    """The texts of a Parquet file."""
    table = open_table(span.path)
    if FIELD not in table.names:
        raise ValueError(
            f"{span.path} must have a column {FIELD!r}. Received: {table.names}."
        )
    column = table.names.index(FIELD)
    for place, row in table.rows():
        yield place, row[column]


def _examples(span, errors):
    """The serialized examples of a TFRecord file."""
    path = pathlib.Path(span.path)
    kind = "GZIP" if path.suffix == ".gz" else None
    try:
        records = tf.data.TFRecordDataset(str(path), kind).as_numpy_iterator()
        for number, record in enumerate(records, start=1):
            yield f"record {number}", record
    except tf.errors.OpError as error:
        raise ValueError(
            f"{path} must be a complete TFRecord file. Received: {error.message}."
        ) from error


def _parse_example(record):
    try:
        features = tf.train.Example.FromString(record).features.feature
    except DecodeError as error:
        raise ValueError(str(error)) from error
    values = features[FIELD].bytes_list.value
    return _checked(values[0].decode() if values else None)


def _conversions(span, errors):
    """The texts of a WET file, bytes; it is text of Common Crawl in WARC records."""
    with open_any(pathlib.Path(span.path)) as file:
        number = 0
        while line := file.readline():
            if not line.startswith(b"WARC/"):
                continue  # the blank lines between records
            header, number = {}, number + 1
            while match := WET_HEADER.fullmatch(file.readline()):
                header[match[1].lower()] = match[2]
            size = header.get(b"content-length", b"")
            body = file.read(int(size)) if size.isdigit() else b""
            if not size.isdigit() or len(body) < int(size):
                raise ValueError(
                    f"{span.path} must have complete WARC records. Received: record "
                    f"{number} with {len(body)} of {size.decode()!r} bytes."
                )
            if header.get(b"warc-type") == b"conversion":
                yield f"record {number}", body


PLAIN = Format(_paragraphs, divides=lambda line: not line.strip())
FORMATS = {
    ".tokens": Format(
        _articles,
        divides=lambda line: line.startswith(b" = ") and line[3:5] != b"= ",
    ),
    **dict.fromkeys(
        (".jsonl", ".ndjson"),
        Format(numbered_lines, _parse_json, lambda line: True),
    ),
    ".parquet": Format(_table_rows, _checked),
    ".tfrecord": Format(_examples, _parse_example),
    ".wet": Format(_conversions, bytes.decode),
}
