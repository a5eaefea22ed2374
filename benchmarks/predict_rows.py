"""A table in, a table out: 20,000 sentences of SST-2 and their labels, on the CPU.

The model is the one of `cold_start`, saved before. Every call starts a new process. It
loads the model, reads a CSV file, adds a label and its score to each row, writes a CSV
file and ends.
"""

import csv
import itertools
import pathlib

from benchmarks.cold_start import run_fresh, save
from benchmarks.peers import facts_of, require
from benchmarks.text_to_label import read_texts

UNIT = "rows"
NEEDS = ("data", "vocabulary")
ROWS = 20_000
COLUMNS = ("id", "sentence")
ANSWERS = ("label", "score")

# Programs as a user would write them. The arguments are the directory of the model, the
# table and the result. The last line of the output is the shape of the result.
SHAPE = """
import csv
with open(sys.argv[3], encoding="utf-8", newline="") as file:
    rows = [*csv.reader(file)]
print([len(rows) - 1, len(rows[0])])
"""
PROGRAMS = {
    "zoo": """
import subprocess, sys
model, data, output = sys.argv[1:]
command = [sys.executable, "-m", "zoo", "predict", model, "--data", data]
subprocess.run([*command, "--output", output], check=True)
"""
    + SHAPE,
    "transformers": """
import csv, sys
from transformers import pipeline
model, data, output = sys.argv[1:]
classify = pipeline("text-classification", model=model, device="cpu")
with open(data, encoding="utf-8", newline="") as file:
    rows = [*csv.DictReader(file)]
texts = [row["sentence"] for row in rows]
with open(output, "w", encoding="utf-8", newline="") as file:
    writer = csv.DictWriter(file, [*rows[0], "label", "score"])
    writer.writeheader()
    for row, answer in zip(rows, classify(texts, batch_size=32, truncation=True)):
        writer.writerow({**row, **answer})
"""
    + SHAPE,
}


def write_rows(data, path):
    """Writes the first sentences of the training set with their numbers."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows(enumerate(read_texts(data, "train")[:ROWS]))


def make(library, data, vocabulary):
    """Makes the call and the facts of a peer, a key of `PROGRAMS`."""
    holder, saved = save(library, vocabulary)
    rows = pathlib.Path(holder.name) / "rows.csv"
    write_rows(data, rows)
    number = itertools.count()

    def call(holder=holder):  # which deletes the files at the end
        output = rows.with_name(f"answers-{next(number)}.csv")
        return run_fresh(PROGRAMS[library], (saved["path"], str(rows), str(output)))

    shape = (ROWS, len(COLUMNS) + len(ANSWERS))
    return call, facts_of(None, saved["parameters"], shape, library, items=ROWS)


def make_zoo(data, vocabulary):
    """Ours: the command `zoo predict --data --output`."""
    return make("zoo", data, vocabulary)


def make_transformers(data, vocabulary):
    """Hugging Face on PyTorch: its `pipeline` with batches of 32 rows."""
    require("torch", "transformers")
    return make("transformers", data, vocabulary)


PEERS = {"zoo": make_zoo, "transformers": make_transformers}
