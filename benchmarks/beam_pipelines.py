"""Apache Beam beside the same work in one process: speed and peak memory.

    python -m benchmarks.beam_pipelines prepare --data DIR --gigabytes 1
    python -m benchmarks.beam_pipelines embed --data DIR --texts 4000

DIR has `books/train-*.txt.xz`. The peers take turns. The program prints a JSON line for
each turn, and compares the sums of the times.

- `prepare` makes the vocabulary and the examples of a shipped recipe from the books,
  repeated with other words until they have so many gigabytes: by `zoo pretrain`, by
  `zoo prepare`, and by `zoo prepare` with two processes. Its memory is that of the
  process that needs most. The seconds of all processors do not depend on other load.
- `embed` computes the vectors of paragraphs by `zoo.embed`, and by `zoo.beam.Embed`
  with the export of the same preset. Both load the model. The vectors must be the same.
"""

import collections
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import click
import numpy as np

from benchmarks.large_corpus import ROOT, read_books, write_corpus

RECIPE = ROOT / "presets/bert/bert_mini_en_uncased_books/recipe.json"
PROCESSES = "direct_num_workers=2", "direct_running_mode=multi_processing"
PEERS = {
    "zoo pretrain": ("pretrain",),
    "zoo prepare": ("prepare",),
    "zoo prepare, two processes": (
        "prepare",
        *(word for option in PROCESSES for word in ("--runner-option", option)),
    ),
}
LAST_STAGE = 64  # tokens of the rows


def time_preparation(arguments, folder):
    """Seconds for the vocabulary and the rows, those of processors, and the peak."""
    output = pathlib.Path(tempfile.mkdtemp(dir=folder))
    arguments = [*arguments, "--data", folder, "--output", output]
    arguments += ["--recipe", folder / "recipe.json"]
    begin = time.time()
    process = subprocess.Popen(
        [sys.executable, "-m", "zoo", *map(str, arguments)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=ROOT,
    )
    rows = output / "examples" / f"train-{LAST_STAGE}"
    while not rows.exists() and process.poll() is None:
        time.sleep(0.2)
    end = time.time()
    if arguments[0] == "pretrain":
        process.kill()  # before it trains
    _, status, usage = os.wait4(process.pid, 0)
    if not rows.exists():
        raise RuntimeError(f"{arguments} has failed with {status}.")
    learned = (output / "vocabulary.txt").stat().st_mtime
    return {
        "vocabulary_s": round(learned - begin, 1),
        "rows_s": round(end - learned, 1),
        "cpu_s": round(usage.ru_utime + usage.ru_stime, 1),
        "peak_mib": round(usage.ru_maxrss / 1024),
        "examples_gb": round(sum(p.stat().st_size for p in rows.iterdir()) / 1e9, 3),
    }


def compare_preparations(data, gigabytes, turns):
    """Prints the times of the peers, and the ratios of their speed."""
    recipe = json.loads(RECIPE.read_text("utf-8"))
    recipe |= {"train": ["corpus.txt"], "valid": [], "warmup_steps": 0}
    recipe["stages"] = [[LAST_STAGE, 32, 10]]
    with tempfile.TemporaryDirectory() as directory:
        folder = pathlib.Path(directory)
        (folder / "recipe.json").write_text(json.dumps(recipe), "utf-8")
        write_corpus(data, folder / "corpus.txt", gigabytes * 1e9)
        sums = {name: collections.Counter() for name in PEERS}
        for _, name in itertools.product(range(turns), PEERS):
            found = time_preparation(PEERS[name], folder)
            print(json.dumps({"peer": name, "corpus_gb": gigabytes, **found}))
            sums[name].update(found)
        for name in PEERS:
            parts = "vocabulary_s", "rows_s", "cpu_s"
            ratios = {k: sums["zoo pretrain"][k] / sums[name][k] for k in parts}
            print(name, {k: round(ratio, 2) for k, ratio in ratios.items()})


def compare_vectors(data, count, turns, preset):
    """Prints the texts per second of both ways."""
    import apache_beam

    import zoo

    paragraphs = (line.strip() for line in read_books(data) if line.strip())
    texts = {}
    while len(texts) < count:
        texts[next(paragraphs)] = None
    texts = list(texts)
    seconds = collections.Counter()
    with tempfile.TemporaryDirectory() as directory:
        export, found = f"{directory}/export", f"{directory}/vectors"
        zoo.from_preset(preset, "text_embedder").export(export)

        def save(pairs):
            keys, vectors = zip(*pairs, strict=True)
            np.savez(found, keys=np.array(keys), vectors=np.stack(vectors))

        for turn in range(turns):
            begin = time.perf_counter()
            expected = zoo.embed(texts, preset, verbose=0)
            middle = time.perf_counter()
            with apache_beam.Pipeline(runner="FnApiRunner") as pipeline:
                vectors = pipeline | apache_beam.Create(texts) | zoo.beam.Embed(export)
                _ = vectors | apache_beam.combiners.ToList() | apache_beam.Map(save)
            end = time.perf_counter()
            times = {"zoo.embed": middle - begin, "zoo.beam.Embed": end - middle}
            seconds.update(times)
            print(json.dumps({"turn": turn, **times}))
        stored = np.load(f"{found}.npz")
        pairs = zip(stored["keys"].tolist(), stored["vectors"], strict=True)
        rows = dict(pairs)
        apart = np.abs(np.stack([rows[text] for text in texts]) - expected).max()
    rates = {name: round(count * turns / s, 1) for name, s in seconds.items()}
    ratio = rates["zoo.beam.Embed"] / rates["zoo.embed"]
    found = {"ratio": round(ratio, 2), "largest_difference": float(apart)}
    print(json.dumps({"texts_per_s": rates, **found}))


@click.command()
@click.argument("work", type=click.Choice(["prepare", "embed"]))
@click.option("--data", required=True, help="Directory of the books.")
@click.option("--gigabytes", default=1.0, help="Unit: 10^9 bytes.")
@click.option("--texts", default=4000, help="Of the vectors.")
@click.option("--turns", default=2)
@click.option("--preset", default="bert_mini_en_uncased_distilled")
def main(work, data, gigabytes, texts, turns, preset):
    """Compares the peers."""
    if work == "prepare":
        compare_preparations(data, gigabytes, turns)
    else:
        compare_vectors(data, texts, turns, preset)


if __name__ == "__main__":
    main()
