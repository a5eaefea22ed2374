"""Answers to the texts of a table, as more columns of the table."""

import itertools
import json

from tqdm import tqdm

from zoo.checks.number_rules import numbers_checked
from zoo.data import open_table, write_table
from zoo.data.files.table_columns import choose_text_columns, text_of
from zoo.data.files.table_writing import (
    ROWS_IN_BLOCK,
    TABLE_SUFFIXES,
    check_columns,
)
from zoo.files.buckets import local_path
from zoo.files.path_checks import check_writable
from zoo.files.written_part import WrittenPart, full_disk_explained


@numbers_checked()
def answer_table(
    model,
    data,
    output,
    text_column=None,
    pair_column=None,
    *,
    batch_size=None,
    verbose=1,
):
    """Writes a table again, with the answers of a model in more columns.

    `Task.answer_file` calls it. All columns and line breaks are kept, rows without any
    value are left out. Only a block of rows is in memory. If it is stopped, the same
    call continues after the last block; until the end, the answers are in files beside
    `output`, whose names end in `.part` and `.part.json`.

    Args:
        model: `zoo.tasks.Task` or `zoo.TextEnsemble` with a tokenizer, or an
            `ExportedTask`.
        data: path of a table with a header: .csv, .tsv, .jsonl, .json or .parquet; all
            but Parquet may be compressed, as .csv.gz. It is read by the rules of
            `zoo.data.read_labelled`.
        output: path to write: .csv, .tsv, .jsonl or .parquet.
        text_column, pair_column: names or numbers, from 0, of the columns of texts. By
            default they are found by their names; see `zoo.data.read_labelled`.
        batch_size: int, see `predict`.
        verbose: int, 1 for a progress bar, 0 for none.

    Returns:
        int, the number of rows.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if the file cannot be read, the columns are not found, a text is
            not a str, the output cannot have the columns, or there are answers of other
            texts or of another model to continue.
    """
    output = local_path(output)
    _check_output(output)
    table = open_table(data)
    schema = check_columns(output, table)
    pair = model.optional_columns and (model.pair or pair_column is not None)
    names = model.columns if pair else model.columns[: required_count(model)]
    columns = choose_text_columns(table, names, text_column, pair_column)
    count = table.count - (not table.header)
    keys = map(repr, texts_of(table, columns))  # different for different texts
    with full_disk_explained(output, "answers"):
        part = WrittenPart(output, "answers", model.files.fingerprint(model), keys)
        bar = {"total": count, "unit": " rows", "disable": not verbose}
        with tqdm(**bar, initial=part.state["rows"]) as shown:
            for done in _answer_rest(model, texts_of(table, columns), part, batch_size):
                shown.update(done)
        part.check_size()
        _write(table, output, part.path, schema)
        part.remove()
    return count


def _check_output(output):
    if output.suffix.lower() not in TABLE_SUFFIXES:
        raise ValueError(
            f"The output must end in {', '.join(TABLE_SUFFIXES)}. Received: "
            f"{str(output)!r}."
        )
    check_writable(output)


def _answer_rest(model, texts, part, batch_size):
    """Answers the texts that are not in a part yet; yields the sizes of blocks."""
    rows = itertools.islice(texts, part.state["rows"], None)
    while block := list(itertools.islice(rows, ROWS_IN_BLOCK)):
        x = tuple(map(list, zip(*block, strict=True)))
        found = model.files.table_rows(model, x[0] if len(x) == 1 else x, batch_size)
        lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in found]
        part.add(map(repr, block), "".join(lines).encode())
        yield len(block)


def required_count(model):
    """The number of columns that a model needs."""
    return len(model.columns) - len(model.optional_columns)


def texts_of(table, columns):
    """Yields the texts of each row, a tuple of str."""
    for place, row in table.body():
        yield tuple(text_of(table, place, row, column) for column in columns)


def _write(table, output, path, schema):
    """Writes rows with their answers, which are lines of JSON in the file `path`."""

    def answers():
        with path.open(encoding="utf-8") as file:
            yield from map(json.loads, file)

    def rows():
        pairs = zip(table.body(), answers(), strict=True)
        return ([*row, *found.values()] for (_, row), found in pairs)

    names = [*table.names]
    for name in next(answers(), ()):
        while name in names:
            name = f"predicted_{name}"
        names.append(name)
    write_table(output, names, rows, schema)
