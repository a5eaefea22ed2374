"""The tables of the tasks of the papers: MiniLM beside transformers, and our presets.

    python -m benchmarks.tables suite --data DIR

DIR has the files of the tasks, see `zoo evaluate-suite`. MiniLM is fine-tuned by the
recipes in `suite/recipes.json`, by zoo and by transformers, with three seeds; with one
seed if the training takes more than half an hour. A cell is named
TASK-minilm_LIBRARY-SEED. The presets `SHIPPED` are fine-tuned with their own
defaults on at most 4,000 rows, with one seed. A cell is named TASK-PRESET-0.

On a GPU, KERAS_BACKEND=jax trains the models of zoo without TensorFlow's libraries for
GPUs. For tags and for answers to questions, TensorFlow must be the backend.
"""

import functools
import importlib.metadata
import pathlib
import tempfile

import keras
import tensorflow as tf

import zoo
from benchmarks.files import read_json
from benchmarks.tables.runner import BENCHMARKS, Table
from benchmarks.tables.stored_results import (
    ENCODERS,
    MINILM,
    find_source,
    free_memory,
    markdown,
    mean_interval,
)

RECIPES = read_json(BENCHMARKS / "suite" / "recipes.json")
SEEDS = 3
ZOO, TRANSFORMERS = LIBRARIES = ("minilm_zoo", "minilm_transformers")
ROWS = 4000  # for the training of a preset
SAME_LOAD = 1.15  # the largest ratio of two equal tests, in seconds
# A preset of each family, and a second BERT.
SHIPPED = (*ENCODERS, "taglm_mini_en_ner", "transformer_mini_en_fr_tatoeba")
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


def cells(run):
    """The names of all cells and what they are: task, library or preset, and seed.

    Of a task, both libraries follow each other, so that other load on the machine
    affects both.
    """
    compared = [
        (task, library, seed)
        for seed in run.seeds(SEEDS)
        for task, recipe in RECIPES.items()
        for library in LIBRARIES
        if seed < recipe.get("seeds", SEEDS)
    ]
    shipped = [(task, preset, 0) for preset in SHIPPED for task in RECIPES]
    return {"-".join(map(str, cell)): cell for cell in (*compared, *shipped)}


def settings(run, task, model, seed=0):
    """The settings of the training of a cell, dict; see `zoo.evaluate_suite`."""
    if model not in LIBRARIES:
        return {"rows": ROWS}
    return {name: value for name, value in RECIPES[task].items() if name != "seeds"}


def compute(run, task, model, seed):
    """The result of a cell, see `zoo.evaluate_suite`."""
    free_memory()
    backend = keras.backend.backend()
    minilm = pathlib.Path(find_source(run.presets["minilm"]))
    preset = minilm if model in LIBRARIES else model
    fit, packages = None, () if backend == "tensorflow" else (backend,)
    if model == TRANSFORMERS:
        from benchmarks.tables.transformers_training import fit_with_transformers

        fit = functools.partial(fit_with_transformers, directory=minilm)
        packages = ("torch", "transformers")
    with tempfile.TemporaryDirectory() as output:
        options = {"seeds": [seed], "fit": fit, "echo": lambda line: None}
        results = zoo.evaluate_suite(
            preset, run.data, output, [task], **options, **settings(run, task, model)
        )
    (found,) = results[task]
    found["versions"] = {p: importlib.metadata.version(p) for p in packages}
    found["accelerator"] = accelerator(model)
    return found


def accelerator(model):
    """The name of the GPU on which a model is trained, or None."""
    if model == TRANSFORMERS:
        import torch

        return torch.cuda.get_device_name() if torch.cuda.is_available() else None
    if keras.backend.backend() == "jax":
        import jax

        (kind,) = {device.device_kind for device in jax.devices()}
        return kind if jax.default_backend() == "gpu" else None
    for gpu in tf.config.list_physical_devices("GPU"):
        return tf.config.experimental.get_device_details(gpu)["device_name"]
    return None


def score(result):
    """The most important score of a result, in percent."""
    return 100 * next(iter(result["scores"].values()))[result["metric"]]


def results_of(run, task, models):
    """The stored results of some models on a task: dict of model to dict of seed.

    Raises:
        ValueError: if they are of different files; older ones do not name their files.
    """
    found, files = {}, {}
    for model in models:
        options = settings(run, task, model)
        for seed in range(SEEDS):
            name = f"{task}-{model}-{seed}"
            result = run.stored(name, options=options)
            if result:
                found.setdefault(model, {})[seed] = result
                files |= {name: result["files"]} if result.get("files") else {}
    first, *others = [*files] or [None]
    for name in others:
        if files[name] != files[first]:
            raise ValueError(
                f"All results of {task} must be of the same files. Received: other "
                f"checksums in {name} than in {first}. Delete one of the results."
            )
    return found


def first_cells(task, found):
    """Title, rows, metric and best baseline of a task."""
    every = [result for results in found.values() for result in results.values()]
    title, metric = every[0]["title"], every[0]["metric"]
    baselines = next((r["baselines"] for r in every if r["baselines"]), {})
    scores = [scores[metric] for scores in baselines.values()]
    best = f"{100 * max(scores):.1f}" if scores else ""
    return [title, f"{every[0]['train']:,}", metric, best]


def compared_row(task, found):
    """A row about MiniLM; see `first_cells`."""
    ours, theirs = sides = [found.get(library, {}) for library in LIBRARIES]
    scores = [[score(result) / 100 for result in side.values()] for side in sides]
    seeds = " and ".join(dict.fromkeys(str(len(side)) for side in sides if side))
    pairs = [(ours[seed], theirs[seed]) for seed in ours if seed in theirs]
    more = [(score(left) - score(right)) / 100 for left, right in pairs]
    return [
        *first_cells(task, found),
        *(mean_interval(side) if side else "" for side in scores),
        mean_interval(more, "+") if more else "",
        seeds,
        PAPER.get(task, ""),
        *minutes_of(sides),
    ]


def minutes_of(sides):
    """The minutes of the training with seed 0 in both libraries, list of str.

    zoo makes the predictions for the test in both. If the times of the test differ, the
    load on the machine did, too, and the minutes are left blank.
    """
    results = [side.get(0) for side in sides]
    tests = [result["test_seconds"] for result in results if result]
    if not tests or max(tests) > SAME_LOAD * min(tests):
        return ["", ""]
    return [f"{result['seconds'] / 60:.1f}" if result else "" for result in results]


def preset_row(task, found):
    """A row about the shipped presets; see `first_cells`."""
    scores = {preset: f"{score(results[0]):.1f}" for preset, results in found.items()}
    return [*first_cells(task, found), *(scores.get(preset, "") for preset in SHIPPED)]


def table(run, models, make_row, heads):
    """A table about libraries or presets; `heads` are those after the first four."""
    found = {task: results_of(run, task, models) for task in RECIPES}
    rows = [make_row(task, results) for task, results in found.items() if results]
    sides = [side for results in found.values() for side in results.values()]
    every = [result for side in sides for result in side.values()]
    return markdown(["task", "rows", "metric", "best baseline", *heads], rows, every)


HEADS = ("zoo", "transformers", "difference", "seeds", "BERT base")
HEADS += ("minutes of zoo", "minutes of transformers")
TABLE = Table(
    "suite",
    cells,
    compute,
    tables={
        "minilm": lambda run: table(run, LIBRARIES, compared_row, HEADS),
        "presets": lambda run: table(run, SHIPPED, preset_row, SHIPPED),
    },
    presets={"minilm": MINILM},
    settings=settings,
)
