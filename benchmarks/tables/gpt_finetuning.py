"""The table of GPT's fine-tuning: what pretraining and the second loss add.

    python -m benchmarks.tables.gpt_finetuning --data DIR

DIR has the data of `gpt_tasks.TASKS`. Every task is learned with the head of the paper
in four ways: from the weights of the preset and from random weights, each with the loss
of the language model (`lm_weight=0.5`) and without it. For every task:

1. The baselines are computed.
2. For each way, rates are tried with seed 0 on a part of the rows for training, and
   compared on other rows of them.
3. With the best rate, each way is trained with every seed, for 3 epochs with 32 rows in
   a batch, as in the paper. Its predictions for the test are stored.

A cell is named TASK-PRESET-WAY-SEED. Results are written to `gpt_finetuning/results`
and not computed again, so the command can be stopped. `--list` prints the cells and
their state. `--cells PATTERN` computes those that match, such as `--cells "stsb-*"`.
The table is written to `gpt_finetuning/README.md`.
"""

import dataclasses
import functools
import gc
import pathlib

import click
import keras
import numpy as np

import zoo
from benchmarks.tables.gpt_tasks import TASKS
from benchmarks.tables.labelled_sets import columns, hold_out
from benchmarks.tables.stored_results import (
    choose_cells,
    lines,
    mean_interval,
    short_name,
    stored,
    told,
    write_table,
)
from zoo.evaluation import bootstrap_interval

FOLDER = pathlib.Path(__file__).parents[1] / "gpt_finetuning"
PRESET, DTYPE = "gpt_mini_en_books", "mixed_bfloat16"
SEEDS, EPOCHS, BATCH_SIZE = 3, 3, 32
RATES = (1e-4, 3e-4, 1e-3, 3e-3)
SEARCHED = 4000  # most rows of a search
# Name of a way to whether weights are loaded, and to `lm_weight`.
WAYS = {
    "preset_lm": (True, 0.5),
    "preset": (True, 0.0),
    "random_lm": (False, 0.5),
    "random": (False, 0.0),
}
# Differences in the table: what adds something, the way with it and the way without.
DIFFERENCES = {
    "pretraining": ("preset_lm", "random_lm"),
    "second loss": ("preset_lm", "preset"),
}


@dataclasses.dataclass(frozen=True)
class Cell:
    """One model of the table.

    Args:
        task: str, key of `TASKS`.
        way: str, key of `WAYS`.
        seed: int.
    """

    task: str
    way: str
    seed: int

    def name(self, preset):
        """The name of the file of its result."""
        return f"{self.task}-{short_name(preset)}-{self.way}-{self.seed}"


def cells():
    """All cells, in the order in which they are computed."""
    return [Cell(t, w, s) for t in TASKS for w in WAYS for s in range(SEEDS)]


def train(cell, preset, rows, rate, dtype):
    """A trained model of a cell.

    Args:
        cell: `Cell`.
        preset: see `zoo.from_preset`.
        rows: list of x and y.
        rate: float, the peak.
        dtype: str.
    """
    keras.backend.clear_session()
    gc.collect()
    task = TASKS[cell.task]
    load, weight = WAYS[cell.way]
    options = {"load_weights": load, "lm_weight": weight, "seed": cell.seed}
    options |= {"dtype": dtype, "head": "delimiter", **task.options}
    model = zoo.from_preset(preset, task.task, **options)
    model.compile(learning_rate=rate)
    sizes = {"epochs": EPOCHS, "batch_size": BATCH_SIZE, "seed": cell.seed}
    model.fit(*columns(rows), **sizes, verbose=0)
    return model


class Computation:
    """Computes cells.

    Args:
        data: pathlib.Path of the data.
        preset: see `zoo.from_preset`.
        dtype: str, of the training.
    """

    def __init__(self, data, preset, dtype=DTYPE):
        self.data, self.preset, self.dtype = data, preset, dtype
        self.stored = functools.partial(stored, folder=FOLDER, options={"dtype": dtype})
        self.parts = functools.cache(lambda task: TASKS[task].load(data))

    def measure(self, cell, rows, others, rate):
        """The score of a new model on other rows, and its predictions for them."""
        model = train(cell, self.preset, rows, rate, self.dtype)
        x, y = map(list, zip(*others, strict=True))
        found = TASKS[cell.task].predict(model, x)
        return TASKS[cell.task].score(y, found), found

    def search(self, cell, rate):
        """The score of a rate, of a model that learns a part of the rows."""
        rows, held_out = hold_out(self.parts(cell.task)["train"])
        rows, held_out = rows[:SEARCHED], held_out[:SEARCHED]
        score, _ = self.measure(cell, rows, held_out, rate)
        return {"dtype": self.dtype, "score": score}

    def rate(self, cell):
        """The best rate of the way of a cell."""
        cell, scores = dataclasses.replace(cell, seed=0), {}
        for rate in RATES:
            name = f"{cell.name(self.preset)}-rate_{rate:g}"
            work = functools.partial(self.search, cell, rate)
            scores[rate] = self.stored(name, work)["score"]
        return max(scores, key=scores.get)

    def compute(self, cell, rate):
        """The result of a cell."""
        parts = self.parts(cell.task)
        score, found = self.measure(cell, parts["train"], parts["test"], rate)
        sizes = {"train": len(parts["train"]), "rate": rate, "dtype": self.dtype}
        if isinstance(found[0], float):
            found = [round(value, 4) for value in found]
        return {**sizes, "score": score, "predicted": found}

    def baseline(self, task, name):
        """The result of a baseline, and the true values."""
        parts = self.parts(task)
        x, y = map(list, zip(*parts["test"], strict=True))
        found = TASKS[task].baselines[name](parts["train"], x)
        return {"score": TASKS[task].score(y, found), "gold": y}

    def run(self, cell):
        """Computes a cell if it is missing, and what it needs before it."""
        for name in TASKS[cell.task].baselines:
            work = functools.partial(self.baseline, cell.task, name)
            stored(f"{cell.task}-{name}", work, FOLDER)
        if not self.stored(cell.name(self.preset)):
            work = functools.partial(self.compute, cell, self.rate(cell))
            self.stored(cell.name(self.preset), work)


def difference(task, gold, results):
    """The difference between the mean scores of two ways, in points, with interval.

    Args:
        task: `GPTTask`.
        gold: list of the true values.
        results: pair of lists of results, of each seed.
    """
    gold = np.array(gold)
    sides = [[np.array(found["predicted"]) for found in side] for side in results]

    def mean(side, rows):
        return np.mean([task.score(gold[rows], found[rows]) for found in side])

    def better(rows):
        return 100 * (mean(sides[0], rows) - mean(sides[1], rows))

    low, high = bootstrap_interval(better, len(gold), seed=0)
    return f"{better(np.arange(len(gold))):+.1f} ({low:+.1f} to {high:+.1f})"


def rows_of(name, preset):
    """The rows of the table about a task, and the results that they show."""
    task, grouped = TASKS[name], {}
    for cell in cells():
        found = cell.task == name and stored(cell.name(preset), folder=FOLDER)
        if found:
            grouped.setdefault(cell.way, []).append(found)
    known = {b: stored(f"{name}-{b}", folder=FOLDER) for b in task.baselines}
    if None in known.values():
        return [], []
    every = [*known.values(), *(found for side in grouped.values() for found in side)]
    row = [task.title, task.metric]
    row += [f"{100 * found['score']:.1f}" for found in known.values()]
    for way in WAYS:
        side = grouped.get(way, [])
        row.append(mean_interval([found["score"] for found in side]) if side else "")
        if side:
            row[-1] += f", rate {side[0]['rate']:g}"
    gold = next(iter(known.values()))["gold"]
    for pair in DIFFERENCES.values():
        sides = [grouped.get(way, []) for way in pair]
        whole = all(len(side) == SEEDS for side in sides)
        row.append(difference(task, gold, sides) if whole else "")
    return [[*row, task.paper]], every


def table(preset):
    """The table in Markdown, or None without results."""
    found = [rows_of(name, preset) for name in TASKS]
    rows = [row for part, _ in found for row in part]
    every = [result for _, results in found for result in results]
    if not rows:
        return None
    heads = ["task", "metric", "majority or mean", "TF-IDF", "preset, both losses"]
    heads += ["preset, one loss", "random, both losses", "random, one loss"]
    heads += [f"{title} adds" for title in DIFFERENCES]
    return f"{lines([*heads, 'paper, all labels'], rows)}\n{told(every)}"


@click.command()
@click.option("--data", type=click.Path(path_type=pathlib.Path), required=True)
@click.option("--preset", default=PRESET, help="Name or directory.")
@click.option("--dtype", default=DTYPE, help="Of the training.")
@click.option("--cells", "patterns", multiple=True, default=["*"], help="Patterns.")
@click.option("--list", "listed", is_flag=True, help="Print the cells and their state.")
def main(data, preset, dtype, patterns, listed):
    """Computes missing cells and writes the table."""
    names = {cell.name(preset): cell for cell in cells()}
    computation = Computation(data, preset, dtype)
    for cell in choose_cells(names, patterns, listed, FOLDER).values():
        computation.run(cell)
        write_table("results", table(preset), FOLDER / "README.md")


if __name__ == "__main__":
    main()
