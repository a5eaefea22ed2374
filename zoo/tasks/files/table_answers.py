"""Answers to the texts of a table, as more columns of the table."""

import itertools
import json
import pathlib

from zoo.checks.number_rules import numbers_checked
from zoo.data import open_table, write_table
from zoo.data.files.table_streams import ROWS_IN_BLOCK, WRITTEN
from zoo.files.path_checks import check_writable
from zoo.files.progress_bar import ProgressBar
from zoo.files.written_part import WrittenPart, full_disk_explained


@numbers_checked()
def answer_table(
    model, data, output, text_column=None, pair_column=None, *, batch_size=None,
    verbose=1,
):  # fmt: skip
    """Writes a table again, with the answers of a model in more columns.

    `Task.answer_file` calls it. All columns and line breaks are kept. Only a block of
    rows is in memory. If it is stopped, the same call continues after the last block;
    until the end, the answers are in files beside `output`, whose names end in `.part`
    and `.part.json`.

    Args:
        model: `zoo.tasks.Task` or `zoo.TextEnsemble` with a tokenizer, or an
            `ExportedTask`.
        data: path of a table with a header: .csv, .tsv, .jsonl or .parquet; all but
            Parquet may be compressed, as .csv.gz.
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
            not a str, or there are answers of other texts or another model to continue.
    """
    output = pathlib.Path(output)
    if output.suffix.lower() not in WRITTEN:
        raise ValueError(
            f"The output must end in {', '.join(WRITTEN)}. Received: {str(output)!r}."
        )
    check_writable(output)
    table = open_table(data)
    pair = model.optional_columns and (model.pair or pair_column is not None)
    names = model.columns if pair else model.columns[: required_count(model)]
    columns = table.text_columns(names, text_column, pair_column)
    texts = texts_of(table, columns)
    keys = ("\t".join(row) for row in texts)
    with full_disk_explained(output, "answers"):
        part = WrittenPart(output, "answers", model.files.fingerprint(model), keys)
        bar = ProgressBar(table.count, "rows", verbose, done=part.state["rows"])
        rows = itertools.islice(texts_of(table, columns), part.state["rows"], None)
        while block := list(itertools.islice(rows, ROWS_IN_BLOCK)):
            x = tuple(map(list, zip(*block, strict=True)))
            x = x[0] if len(x) == 1 else x
            found = model.files.table_rows(model, x, batch_size)
            lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in found]
            part.add(map("\t".join, block), "".join(lines).encode())
            bar.add(len(block))
        part.check_size()
        with part.path.open(encoding="utf-8") as answers:
            _write(table, output, map(json.loads, answers))
        part.remove()
    return table.count


def required_count(model):
    """The number of columns that a model needs."""
    return len(model.columns) - len(model.optional_columns)


def texts_of(table, columns):
    """Yields the texts of each row, a tuple of str."""
    for number, row in enumerate(table.rows(), 1):
        found = tuple(row[column] for column in columns)
        wrong = [text for text in found if not isinstance(text, str)]
        if wrong:
            raise ValueError(
                f"Every text of {table.path} must be a string. Received: "
                f"{wrong[0]!r:.40} in row {number}. Convert it, or remove the row."
            )
        yield found


def _write(table, output, answers):
    """Writes rows with their answers; a name that the table has gets a prefix."""
    first = next(answers, {})
    answers = itertools.chain([first] if first else [], answers)
    names = [f"predicted_{n}" if n in table.names else n for n in first]
    rows = (
        [*row, *found.values()]
        for row, found in zip(table.rows(), answers, strict=True)
    )
    write_table(output, [*table.names, *names], rows, table.schema)
