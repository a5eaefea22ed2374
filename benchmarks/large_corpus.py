"""Peak memory of pretraining on a large corpus: books, repeated.

    python -m benchmarks.large_corpus --data DIR --gigabytes 1

DIR has `books/train-*.txt.xz`. The corpus is written to a temporary directory. A new
process runs `zoo pretrain` on it, with the shipped recipe and a few updates: it makes
the vocabulary and the examples, and trains. The program prints the peak resident memory
of this process and its time in seconds.
"""

import argparse
import json
import lzma
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

PRESET = "bert/bert_mini_en_uncased_books/recipe.json"
ROOT = pathlib.Path(__file__).resolve().parents[1]


def write_corpus(data, path, size):
    """Writes the books repeatedly until `path` has `size` bytes.

    Raises:
        FileNotFoundError: if there are no books.
    """
    books = sorted((pathlib.Path(data) / "books").glob("train-*.txt.xz"))
    if not books:
        raise FileNotFoundError(
            f"{data} must have books/train-*.txt.xz. Received: no such file."
        )
    written = 0
    with open(path, "w", encoding="utf-8") as file:
        while written < size:
            for book in books:
                with lzma.open(book, "rt", encoding="utf-8") as lines:
                    for line in lines:
                        written += len(line.encode())
                        file.write(line)
                        if written >= size:
                            return
                file.write("\n")


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


def main(arguments=None):
    """Prints one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", required=True, help="directory of the books")
    parser.add_argument("--gigabytes", type=float, default=1.0, help="unit: 10^9 bytes")
    parser.add_argument("--updates", type=int, default=20)
    options = parser.parse_args(arguments)
    recipe = json.loads((ROOT / "presets" / PRESET).read_text("utf-8"))
    recipe.update(train=["corpus.txt"], valid=[], warmup_steps=0)
    recipe["stages"] = [[128, 32, options.updates]]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        write_corpus(options.data, folder / "corpus.txt", options.gigabytes * 1e9)
        (folder / "recipe.json").write_text(json.dumps(recipe), "utf-8")
        files = ["--recipe", folder / "recipe.json", "--output", folder / "run"]
        files += ["--data", folder]
        found = run_zoo("pretrain", "bert", *files, "--every", options.updates)
        written = sum(p.stat().st_size for p in (folder / "run").rglob("*.tfrecord"))
    sizes = {"corpus_gb": options.gigabytes, "examples_gb": round(written / 1e9, 2)}
    print(json.dumps({**sizes, **found}))


if __name__ == "__main__":
    main()
