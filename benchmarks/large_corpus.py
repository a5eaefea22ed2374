"""Peak memory of work on a large corpus: books, repeated with other words.

    python -m benchmarks.large_corpus pretrain --data DIR --gigabytes 1
    python -m benchmarks.large_corpus embed --data DIR --gigabytes 1

DIR has `books/train-*.txt.xz`. The corpus is written to a temporary directory. A new
process works on it, and the program prints its peak resident memory and its time in
seconds.

- `pretrain` runs `zoo pretrain` with the shipped recipe and a few updates. It makes the
  vocabulary and the examples, and trains.
- `embed` runs `zoo embed` with a shipped preset. It reads the first tokens of each
  paragraph.
"""

import itertools
import json
import lzma
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import click
import numpy as np

RECIPE = "bert/bert_mini_en_uncased_books/recipe.json"
ROOT = pathlib.Path(__file__).resolve().parents[1]


def read_books(data):
    """The lines of the books, without end; FileNotFoundError if there are none."""
    books = sorted((pathlib.Path(data) / "books").glob("train-*.txt.xz"))
    if not books:
        raise FileNotFoundError(
            f"{data} must have books/train-*.txt.xz. Received: no such file."
        )
    for copy in itertools.count():
        for book in books:
            with lzma.open(book, "rt", encoding="utf-8") as lines:
                for number, line in enumerate(lines):
                    words = line.split()
                    if words and copy:  # no document is there twice
                        begin = copy % len(words)
                        words = words[begin:] + words[:begin]
                        if number % 20 == 0:
                            words[0] += f"{copy:x}{number % 100:x}"
                    yield " ".join(words) + "\n"
            yield "\n"


def write_corpus(data, path, size):
    """Writes the books with changes until `path` has `size` bytes."""
    written = 0
    with open(path, "w", encoding="utf-8") as file:
        for line in read_books(data):
            written += file.write(line)
            if written >= size:
                return


def run_zoo(*arguments):
    """Runs the command `zoo` in a new process; returns its `peak_mib` and `seconds`."""
    begin = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "zoo", *map(str, arguments)],
        check=True,
        stdout=subprocess.DEVNULL,
        cwd=ROOT,
    )
    seconds = time.perf_counter() - begin
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return {"peak_mib": round(peak), "seconds": round(seconds)}


def pretrain(folder, updates):
    """Pretrains on a corpus in a folder; returns the measured values, a dict."""
    recipe = json.loads((ROOT / "presets" / RECIPE).read_text("utf-8"))
    recipe.update(train=["corpus.txt"], valid=[], warmup_steps=0)
    recipe["stages"] = [[128, 32, updates]]
    (folder / "recipe.json").write_text(json.dumps(recipe), "utf-8")
    files = ["--recipe", folder / "recipe.json", "--output", folder / "run"]
    found = run_zoo("pretrain", "bert", *files, "--data", folder, "--every", updates)
    written = sum(p.stat().st_size for p in (folder / "run").rglob("*.tfrecord"))
    return {"examples_gb": round(written / 1e9, 2), **found}


def embed(folder, preset, length):
    """Computes vectors of a corpus in a folder; returns the measured values, a dict."""
    output = folder / "vectors.npy"
    given = ["--output", output, "--sequence-length", length]
    found = run_zoo("embed", preset, folder / "corpus.txt", *given)
    return {"vectors": np.load(output, mmap_mode="r").shape, **found}


@click.command()
@click.argument("work", type=click.Choice(["pretrain", "embed"]))
@click.option("--data", required=True, help="Directory of the books.")
@click.option("--gigabytes", default=1.0, help="Unit: 10^9 bytes.")
@click.option("--updates", default=20, help="Of the pretraining.")
@click.option("--preset", default="bert_mini_en_uncased_distilled")
@click.option("--sequence-length", default=16, help="Of the vectors. Unit: tokens.")
def main(work, data, gigabytes, updates, preset, sequence_length):
    """Prints one JSON line."""
    with tempfile.TemporaryDirectory() as directory:
        folder = pathlib.Path(directory)
        write_corpus(data, folder / "corpus.txt", gigabytes * 1e9)
        if work == "pretrain":
            found = pretrain(folder, updates)
        else:
            found = embed(folder, preset, sequence_length)
    print(json.dumps({"corpus_gb": gigabytes, **found}))


if __name__ == "__main__":
    main()
