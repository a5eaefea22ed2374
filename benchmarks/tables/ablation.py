"""The ablation of the BERT paper (table 5) with small models.

    python -m benchmarks.tables.ablation --data DIR --runs RUNS

DIR has `books`, `wikitext2` and `glue`. For every recipe in `benchmarks/ablation` and
every seed, `zoo pretrain` pretrains a model and `zoo glue` fine-tunes it, in RUNS. The
results are written to `ablation/results/RECIPE-SEED.json`. Existing results are not
computed again, so the command can be stopped. When all results exist, it writes the
table of `ablation/README.md`. With `--seed` it trains one seed only.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import click
import numpy as np

from benchmarks.files import read_json, write_whole
from benchmarks.table import insert

FOLDER = pathlib.Path(__file__).parents[1] / "ablation"
RESULTS = FOLDER / "results"
SEEDS = (0, 1)
# The mean of the tokens, since [CLS] of a left-to-right model sees no other token.
GLUE = ["--arm", "preset", "--pooling", "mean", "--seeds", 2, "--epochs", 3]
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


def train(runs, data, recipe, seed):
    """Pretrains and fine-tunes one model; returns its scores, a dict."""
    run = runs / f"{recipe}-{seed}"
    if not (run / "report.json").exists():
        share(runs, recipe, seed)
        path = FOLDER / f"{recipe}.json"
        zoo("pretrain", "bert", "--recipe", path, "--seed", seed, "--data", data,
            "--output", run)  # fmt: skip
    found = {"valid": read_json(run / "report.json", dict, ["valid"])["valid"]}
    for task, options in TASKS.items():
        zoo("glue", run / "preset", "--data", data / "glue", "--output", run / task,
            "--task", task, *GLUE, *options)  # fmt: skip
        (path,) = [p for p in (run / task).glob("*.json") if p.stem.count("-") == 1]
        found[task] = read_json(path, dict, ["preset"])["preset"]
    return found


def render(results):
    """Makes the table in Markdown.

    Args:
        results: dict of recipe to a list of dict, one per seed.
    """
    heads = ["model", "perplexity", "next sentence, %", "MRPC, %", "SST-2, %"]
    heads += [f"paper: {n}" for n in ("MNLI-m", "QNLI", "MRPC", "SST-2", "SQuAD F1")]
    rows = [heads, ["---"] * len(heads)]
    for recipe, (name, *paper) in PAPER.items():
        runs = results[recipe]
        told = [run["valid"].get("next_sentence_accuracy") for run in runs]
        perplexity = [run["valid"]["perplexity"] for run in runs]
        row = [name, spread(perplexity, 1), "" if None in told else spread(told)]
        for task in TASKS:
            row.append(spread([run[task]["dev"]["accuracy"]["mean"] for run in runs]))
        rows.append([*row, *paper])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def spread(values, unit=100):
    """Mean and range over the pretraining seeds, in percent or another unit."""
    values = unit * np.array(values)
    return f"{values.mean():.1f} ({values.min():.1f} to {values.max():.1f})"


def results():
    """Reads the results: dict of recipe to a list of dict, one per finished seed."""
    found = {}
    for recipe in PAPER:
        paths = sorted(RESULTS.glob(f"{recipe}-*.json"))
        found[recipe] = [read_json(path, dict, ("valid", *TASKS)) for path in paths]
    return found


@click.command()
@click.option("--data", type=click.Path(path_type=pathlib.Path), required=True)
@click.option("--runs", type=click.Path(path_type=pathlib.Path), required=True)
@click.option("--seed", "seeds", type=int, multiple=True, default=SEEDS)
def main(data, runs, seeds):
    """Trains missing models and writes their results, and the table when complete."""
    RESULTS.mkdir(exist_ok=True)
    for seed in seeds:
        for recipe in PAPER:
            path = RESULTS / f"{recipe}-{seed}.json"
            if not path.exists():
                found = train(runs, data, recipe, seed)
                write_whole(path, json.dumps(found, indent=1) + "\n")
    found = results()
    if all(len(rows) == len(SEEDS) for rows in found.values()):
        readme = FOLDER / "README.md"
        write_whole(readme, insert(readme.read_text("utf-8"), render(found)))


if __name__ == "__main__":
    main()
