"""Tables to answer, written and read without zoo."""

import csv
import gzip
import json

import pytest

TEXTS = ["a good film", 'the "bad" one,\nwith a line break', "", "good; bad"] * 3
COLUMNS = {"id": [str(number) for number in range(12)], "text": TEXTS}
COLUMNS["label"] = ["old"] * 12


def write(path, columns=COLUMNS):
    """Writes a table of str by its suffix."""
    rows = list(zip(*columns.values(), strict=True))
    suffix = path.name.removesuffix(".gz").rpartition(".")[2]
    opener = gzip.open if path.suffix == ".gz" else open
    if suffix == "parquet":
        pyarrow = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        parquet.write_table(pyarrow.table(columns), path)
        return path
    with opener(path, "wt", encoding="utf-8", newline="") as file:
        if suffix == "jsonl":
            named = (dict(zip(columns, row, strict=True)) for row in rows)
            file.writelines(json.dumps(row) + "\n" for row in named)
        else:
            writer = csv.writer(file, delimiter="\t" if suffix == "tsv" else ",")
            writer.writerows([[*columns], *rows])
    return path


def read(path):
    """The columns of a table, dict of lists."""
    if path.suffix == ".parquet":
        from pyarrow import parquet

        return parquet.read_table(path).to_pydict()
    with open(path, encoding="utf-8", newline="") as file:
        if path.suffix == ".jsonl":
            rows = [json.loads(line) for line in file]
        else:
            rows = [
                *csv.DictReader(file, delimiter="\t" if path.suffix == ".tsv" else ",")
            ]
    return {name: [row[name] for row in rows] for name in rows[0]}
