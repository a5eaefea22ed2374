"""The ablation of the BERT paper (table 5) with small models.

    python -m benchmarks.tables ablation --data DIR --work RUNS

DIR has `books`, `wikitext2` and `glue`. For every recipe in `benchmarks/ablation` and
every seed, `zoo pretrain` pretrains a model and `zoo evaluate-suite` fine-tunes it, in
RUNS/ablation. A cell is named RECIPE-SEED. The table is written when all results exist.
"""

import itertools
import os
import shutil
import subprocess
import sys

import numpy as np

from benchmarks.files import read_json
from benchmarks.tables.runner import BENCHMARKS, Table
from benchmarks.tables.stored_results import lines

SEEDS = 2
# The mean of the tokens, since [CLS] of a left-to-right model sees no other token.
GLUE = ["--compare", "preset", "--pooling", "mean", "--seeds", 2, "--epochs", 3]
GLUE += ["--learning-rate", 3e-4, "--learning-rate", 1e-3]
TASKS = {"mrpc": [], "sst2": ["--rows", 5000]}
# Recipe: its name and numbers in the paper, table 5, for BERT-base on the dev sets.
PAPER = {
    "full": ("BERT", "84.4", "88.4", "86.7", "92.7", "88.5"),
    "no_next_sentence": ("no NSP", "83.9", "84.9", "86.5", "92.6", "87.9"),
    "left_to_right": ("LTR, no NSP", "82.1", "84.3", "77.5", "92.1", "77.8"),
}


def zoo(*arguments):
    """Runs the command `zoo`.

    Raises:
        subprocess.CalledProcessError: if it fails.
    """
    command = [sys.executable, "-m", "zoo", *map(str, arguments)]
    subprocess.run(command, check=True)


def share(runs, recipe, seed):
    """Links vocabulary and examples of the run of another recipe with the same seed.

    The recipes differ in the objective and in the direction only. The vocabulary and
    the examples do not depend on these.
    """
    run, part = runs / f"{recipe}-{seed}", runs / f".{recipe}-{seed}"
    for other in (runs / f"{name}-{seed}" for name in PAPER):
        if other != run and (other / "log.csv").exists() and not run.exists():
            shutil.rmtree(part, ignore_errors=True)
            shutil.copytree(
                other / "examples", part / "examples", copy_function=os.link
            )
            shutil.copyfile(other / "vocabulary.txt", part / "vocabulary.txt")
            part.rename(run)  # when complete, since existing files are not made again


def train(run, recipe, seed):
    """Pretrains and fine-tunes one model; returns its scores, a dict."""
    output = run.models / f"{recipe}-{seed}"
    if not (output / "report.json").exists():
        share(run.models, recipe, seed)
        path = BENCHMARKS / "ablation" / f"{recipe}.json"
        zoo("pretrain", "bert", "--recipe", path, "--seed", seed, "--data", run.data,
            "--output", output)  # fmt: skip
    found = {"valid": read_json(output / "report.json", dict, ["valid"])["valid"]}
    for task, options in TASKS.items():
        zoo("evaluate-suite", output / "preset", "--data", run.data / "glue",
            "--output", output / task, "--task", task, *GLUE, *options)  # fmt: skip
        (path,) = (output / task).glob("*-comparison.json")
        found[task] = read_json(path, dict, ["preset"])["preset"]
    return found


def table(run):
    """The table in Markdown, or None if a result is missing."""
    rows, heads = [], ["model", "perplexity", "next sentence, %", "MRPC, %", "SST-2, %"]
    heads += [f"paper: {n}" for n in ("MNLI-m", "QNLI", "MRPC", "SST-2", "SQuAD F1")]
    for recipe, (name, *paper) in PAPER.items():
        results = run.seed_results(recipe, SEEDS)
        if len(results) < SEEDS:
            return None
        pairs = [found["valid"].get("next_sentence_accuracy") for found in results]
        perplexity = [found["valid"]["perplexity"] for found in results]
        row = [name, spread(perplexity, 1), "" if None in pairs else spread(pairs)]
        for task in TASKS:
            scores = [found[task]["dev"]["accuracy"]["mean"] for found in results]
            row.append(spread(scores))
        rows.append([*row, *paper])
    return lines(heads, rows)


def spread(values, unit=100):
    """Mean and range over the pretraining seeds, in percent or another unit."""
    values = unit * np.array(values)
    return f"{values.mean():.1f} ({values.min():.1f} to {values.max():.1f})"


def cells(run):
    """The names of all cells and what they are: recipe and seed."""
    found = itertools.product(run.seeds(SEEDS), PAPER)
    return {f"{recipe}-{seed}": (recipe, seed) for seed, recipe in found}


TABLE = Table(
    "ablation",
    cells,
    compute=train,
    tables={"results": table},
    fields=("valid", *TASKS),
)
