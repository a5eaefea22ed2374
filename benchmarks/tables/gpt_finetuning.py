"""The table of GPT's fine-tuning: what pretraining and the second loss add.

    python -m benchmarks.tables gpt_finetuning --data DIR

DIR has the data of `gpt_tasks.TASKS`. Every task is learned with the head of the paper
in four ways: from the weights of the preset and from random weights, each with the loss
of the language model (`lm_weight=0.5`) and without it. For every task:

1. The baselines are computed.
2. For each way, rates are tried with seed 0 on a part of the rows for training, and
   compared on other rows of them.
3. With the best rate, each way is trained with every seed, for 3 epochs with 32 rows in
   a batch, as in the paper. Its predictions for the test are stored.

A cell is named TASK-PRESET-WAY-SEED.
"""

import functools
import itertools

import numpy as np

import zoo
from benchmarks.tables.baselines import run_baselines
from benchmarks.tables.gpt_tasks import TASKS
from benchmarks.tables.labelled_sets import columns, hold_out
from benchmarks.tables.runner import Table
from benchmarks.tables.stored_results import (
    free_memory,
    markdown,
    mean_interval,
    percent,
    short_name,
)
from zoo.evaluation import bootstrap_interval

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


def name_of(run, task, way, *seed):
    """The name of the result of a cell; without a seed, what is before it."""
    return "-".join(map(str, [task, short_name(run.presets["gpt"]), way, *seed]))


def cells(run):
    """All cells, in the order in which they are computed: task, way and seed."""
    found = itertools.product(TASKS, WAYS, run.seeds(SEEDS))
    return {name_of(run, *cell): cell for cell in found}


def train(run, cell, rows, rate):
    """A trained model of a cell, which is task, way and seed."""
    free_memory()
    name, way, seed = cell
    load, weight = WAYS[way]
    options = {"load_weights": load, "lm_weight": weight, "seed": seed}
    options |= {"dtype": run.dtype, "head": "delimiter", **TASKS[name].options}
    model = zoo.from_preset(run.presets["gpt"], TASKS[name].task, **options)
    model.compile(learning_rate=rate)
    sizes = {"epochs": EPOCHS, "batch_size": BATCH_SIZE, "seed": seed}
    model.fit(*columns(rows), **sizes, verbose=0)
    return model


def measure(run, cell, rows, others, rate):
    """The score of a new model on other rows, and its predictions for them."""
    model, task = train(run, cell, rows, rate), TASKS[cell[0]]
    x, y = map(list, zip(*others, strict=True))
    found = task.predict(model, x)
    return task.score(y, found), found


def search(run, cell, rate):
    """The score of a rate, of a model that learns a part of the rows."""
    rows, held_out = hold_out(run.parts(cell[0], TASKS[cell[0]])["train"])
    score, _ = measure(run, cell, rows[:SEARCHED], held_out[:SEARCHED], rate)
    return {"dtype": run.dtype, "score": score}


def best_rate(run, *cell):
    """The best rate of a task and a way, with seed 0."""
    cell = (*cell, 0)
    work = functools.partial(search, run, cell)
    return run.best_rate(name_of(run, *cell), RATES, work)


def prepare(run, task, way, seed):
    """Computes the baselines and the best rate."""
    run_baselines(run, task, TASKS[task])
    best_rate(run, task, way)


def compute(run, *cell):
    """The result of a cell."""
    parts, rate = run.parts(cell[0], TASKS[cell[0]]), best_rate(run, *cell[:2])
    score, found = measure(run, cell, parts["train"], parts["test"], rate)
    sizes = {"train": len(parts["train"]), "rate": rate, "dtype": run.dtype}
    if isinstance(found[0], float):
        found = [round(value, 4) for value in found]
    return {**sizes, "score": score, "predicted": found}


def difference(task, gold, results):
    """The difference between the mean scores of two ways, in points, with interval."""
    gold = np.array(gold)
    sides = [[np.array(found["predicted"]) for found in side] for side in results]

    def mean(side, rows):
        return np.mean([task.score(gold[rows], found[rows]) for found in side])

    def better(rows):
        return 100 * (mean(sides[0], rows) - mean(sides[1], rows))

    low, high = bootstrap_interval(better, len(gold), seed=0)
    return f"{better(np.arange(len(gold))):+.1f} ({low:+.1f} to {high:+.1f})"


def make_row(name, known, grouped):
    """A row of the table, from the baselines and the results of each way."""
    task = TASKS[name]
    row = [task.title, task.metric, *map(percent, known)]
    for side in grouped.values():
        row.append(mean_interval([found["score"] for found in side]) if side else "")
        if side:
            row[-1] += f", rate {side[0]['rate']:g}"
    for pair in DIFFERENCES.values():
        sides = [grouped[way] for way in pair]
        whole = all(len(side) == SEEDS for side in sides)
        row.append(difference(task, known[0]["gold"], sides) if whole else "")
    return [*row, task.paper]


def table(run):
    """The table in Markdown, or None without results."""
    rows, every = [], []
    for name, task in TASKS.items():
        known = [*run_baselines(run, name, task).values()]
        grouped = {
            way: run.seed_results(name_of(run, name, way), SEEDS) for way in WAYS
        }
        if all(known):
            rows.append(make_row(name, known, grouped))
            every += itertools.chain(known, *grouped.values())
    heads = ["task", "metric", "majority or mean", "TF-IDF", "preset, both losses"]
    heads += ["preset, one loss", "random, both losses", "random, one loss"]
    heads += [f"{title} adds" for title in DIFFERENCES]
    return markdown([*heads, "paper, all labels"], rows, every)


TABLE = Table(
    "gpt_finetuning",
    cells,
    compute,
    tables={"results": table},
    presets={"gpt": "gpt_mini_en_books"},
    dtype="mixed_bfloat16",
    prepare=prepare,
)
