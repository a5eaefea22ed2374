"""Compares a preset with the same network with random weights on a task of GLUE.

The arm "preset" starts from the weights of the preset. The arm "random" has the same
config and random weights.

1. A tenth of the training set, but at most 1,000 examples, is the validation split.
2. Seed 0 of each arm is trained with every learning rate. The rate that is best on the
   validation split is used for every seed of the arm.
3. The predictions of every run are stored. If the command is stopped and run again, it
   does not repeat these runs.
"""

import hashlib
import json
import math
import pathlib

import numpy as np

from zoo.checks.number_rules import check_number, numbers_checked
from zoo.data import read_glue
from zoo.evaluation import bootstrap_interval, evaluate_glue, glue_metrics
from zoo.files.path_checks import check_writable_directory
from zoo.files.state_files import damaged, read_state
from zoo.files.whole_files import write_json
from zoo.programs.finetune.labelled_rows import take
from zoo.programs.finetune.loading import load_one
from zoo.programs.finetune.progress import check_loss
from zoo.programs.scores.stored_settings import keep_settings
from zoo.tasks import TextClassifier, TextRegressor
from zoo.training import finetuning_optimizer

RUN = "a run of such a comparison"
ARMS = {"preset": True, "random": False}
LARGEST_SEARCH = 1000  # most examples of the split that chooses the learning rate


@numbers_checked()
def compare(
    preset,
    data,
    output,
    task="sst2",
    examples=None,
    rates=(1e-4, 3e-4, 1e-3),
    seeds=5,
    epochs=3,
    batch_size=32,
    arms=("preset", "random"),
    echo=print,
    **options,
):
    """Fine-tunes both arms and scores them on the dev set of the task.

    Args:
        preset: see `zoo.from_preset`.
        data: directory of GLUE's files, see `zoo.data.read_glue`.
        output: directory for the runs and the results, `TASK-EXAMPLES.json`.
        task: "sst2", "mrpc", "rte", "cola", "stsb", "qnli", "qqp" or "wnli".
        examples: int, labelled examples for training; by default all but those of the
            validation split.
        rates: iterable of float, learning rates to try.
        seeds: int, runs per arm. Each has its own head, order of rows and dropout.
        epochs, batch_size: int.
        arms: iterable of "preset" and "random". One arm alone is not compared.
        echo: function that prints a line.
        **options: arguments of `zoo.from_preset`, such as pooling or dtype.

    Returns:
        dict: task, examples and settings. Each arm has a dict with its rate, the
        validation scores of every rate (`searched`), and means and standard deviations
        of the metrics on the dev set (`dev`, see `summary`). With both arms, also the
        difference of the first metric and its 95% interval.

    Raises:
        FloatingPointError: if the loss of a run is not finite.
        ValueError: if there are too few training examples, a number is out of range, an
            arm is unknown, the preset is an ensemble, or `output` has damaged runs, or
            runs of another preset, weights, data or settings.
    """
    arms, rates = _check_choices(arms, rates)
    check_writable_directory(output)
    parts = split(data, task, examples)
    settings = {"epochs": epochs, "batch_size": batch_size, **options}
    run = _cached_runs(preset, data, pathlib.Path(output), task, parts, settings, echo)

    results = {"task": task, "examples": len(parts["train"][1])}
    results["settings"] = {**settings, "seeds": seeds}
    runs = {}
    for arm in arms:
        results[arm], runs[arm] = _search(task, parts, run, arm, rates, seeds)
    if len(runs) == len(ARMS):
        results.update(difference(task, parts["dev"][1], runs))
    path = pathlib.Path(output) / f"{task}-{results['examples']}.json"
    write_json(path, results, indent=2)
    return results


def _check_choices(arms, rates):
    """Checks and returns the arms and the rates of `compare`; the rates are sorted."""
    rates = sorted(check_number("learning_rate", rate) for rate in rates)
    if not rates:
        raise ValueError("`rates` must have a learning rate. Received: none.")
    arms = tuple(arms)
    if not arms or not {*arms} <= ARMS.keys():
        raise ValueError(f"`arms` must be of {list(ARMS)}. Received: {arms}.")
    return arms, rates


def _search(task, parts, run, arm, rates, seeds):
    """The best rate and the scores of an arm, a dict, and its runs with that rate."""

    def score(found, part):
        return evaluate_glue(task, parts[part][1], found[part])

    searched = {rate: score(run(arm, rate, 0), "valid") for rate in rates}
    best = max(searched, key=lambda rate: next(iter(searched[rate].values())))
    runs = [run(arm, best, seed) for seed in range(seeds)]
    dev = summary([score(found, "dev") for found in runs])
    return {"rate": best, "searched": searched, "dev": dev}, runs


def _cached_runs(preset, data, output, task, parts, settings, echo):
    """A function of arm, rate and seed that calls `finetune` and stores the result.

    If the result is stored already, the function reads it.

    Raises:
        ValueError: if `output` has runs of another preset, weights, data or settings.
    """
    keep_settings(output, preset, data, settings)
    rows = hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def run(arm, rate, seed):
        name = f"{task}-{len(parts['train'][1])}-{arm}-{rate:g}-{seed}.json"
        path = output / name
        if not path.exists():
            echo(f"{task}: {arm}, rate {rate:g}, seed {seed}")
            found = finetune(preset, task, parts, arm, rate, seed, **settings)
            write_json(path, {**found, "rows": rows})
        found = _read_run(path, task, parts)
        if found.pop("rows", rows) != rows:  # older runs have none
            raise ValueError(
                "All runs must have the same rows. Received: other data than those of "
                f"{path}. Give another directory."
            )
        return found

    return run


def _read_run(path, task, parts):
    """A stored run, with a prediction for each row of valid and dev."""
    predictions = [float] if task == "stsb" else [str]
    shape = {"valid": predictions, "dev": predictions, "rows?": str}
    found, labels = read_state(path, RUN, shape), {*parts["whole"][1]}
    for part in ("valid", "dev"):
        if len(found[part]) != len(parts[part][1]):
            raise damaged(path, RUN, f"`{part}` must have a prediction for each row")
        fits = math.isfinite if task == "stsb" else labels.__contains__
        if not all(map(fits, found[part])):
            raise damaged(path, RUN, f"`{part}` has what the task does not predict")
    return found


def split(data, task, examples):
    """Splits a task into train, valid (part of the training set) and dev.

    Returns:
        dict of the name of a part, or "whole" for the training set, to texts and
        labels. Labels are float for "stsb", else str.
    """
    texts, labels = read_glue(data, task, "train")
    if task != "stsb":
        labels = [str(label) for label in labels]
    order = np.random.default_rng(0).permutation(len(labels))
    kept = min(LARGEST_SEARCH, len(labels) // 10)
    if examples and examples > len(labels) - kept:
        raise ValueError(
            f"`examples` must be at most {len(labels) - kept}, the training set of "
            f"{task} without the validation split. Received: {examples}."
        )
    end = kept + examples if examples else len(labels)
    dev_texts, dev_labels = read_glue(data, task, "dev")
    return {
        "whole": (texts, labels),
        "valid": take(texts, labels, order[:kept]),
        "train": take(texts, labels, order[kept:end]),
        "dev": (
            dev_texts,
            dev_labels if task == "stsb" else [str(label) for label in dev_labels],
        ),
    }


def finetune(preset, task, parts, arm, rate, seed, epochs, batch_size, **options):
    """Trains one model; returns its predictions for valid and dev, as plain values."""
    texts, labels = parts["train"]
    kind = TextRegressor if task == "stsb" else TextClassifier
    known = kind.data_options(parts["whole"][1])  # a few rows may lack a label
    options = {**kind.column_options(texts), **options, **known}
    model = load_one(
        preset, kind.task_name, load_weights=ARMS[arm], seed=seed, **options
    )
    model.compile(
        finetuning_optimizer(model.backbone, len(labels), epochs, batch_size, rate)
    )
    plan = {"batch_size": batch_size, "epochs": epochs, "seed": seed, "verbose": 0}
    check_loss(model.fit(texts, labels, **plan).history)
    found = {}
    for part in ("valid", "dev"):
        outputs = model.predict(parts[part][0], verbose=0)
        if task == "stsb":
            found[part] = outputs.ravel().tolist()
        else:
            found[part] = [model.labels[i] for i in outputs.argmax(axis=-1)]
    return found


def summary(scores):
    """Means and standard deviations of a list of dicts of float.

    The deviation is that of a sample, and None for one dict.
    """
    rows = {name: [score[name] for score in scores] for name in scores[0]}
    return {
        name: {
            "mean": float(np.mean(row)),
            "deviation": float(np.std(row, ddof=1)) if len(row) > 1 else None,
        }
        for name, row in rows.items()
    }


def percent(values):
    """A mean and a standard deviation as a str, in percent; see `summary`."""
    mean = f"{100 * values['mean']:.1f}"
    if values["deviation"] is None:
        return mean
    return f"{mean} ± {100 * values['deviation']:.1f}"


def difference(task, labels, runs):
    """The difference between the preset and random weights in the first metric.

    Args:
        task: str.
        labels: list, of the dev set.
        runs: dict of arm to a list of runs, one per seed.

    Returns:
        dict: the name of the metric, the difference of the means over seeds, and its
        95% interval by the bootstrap over the examples of the dev set.
    """
    name, metric = next(iter(glue_metrics(task).items()))
    references = np.array(labels)
    predictions = {arm: [np.array(found["dev"]) for found in runs[arm]] for arm in ARMS}

    def mean(arm, rows=slice(None)):
        """The mean of the metric over seeds, on some rows."""
        found = [metric(references[rows], p[rows]) for p in predictions[arm]]
        return np.mean(found)

    def better(rows=slice(None)):
        return float(mean("preset", rows) - mean("random", rows))

    interval = bootstrap_interval(better, len(labels), seed=0)
    return {"metric": name, "difference": better(), "interval": list(interval)}


def table(results):
    """Lines of a Markdown table with one row per arm, and a line of the difference."""
    arms = [arm for arm in ARMS if arm in results]
    metrics = list(results[arms[0]]["dev"])
    lines = [f"| {results['task']}, {results['examples']} examples | rate |"]
    lines[0] += "".join(f" {name} |" for name in metrics)
    lines.append("|---|---|" + "---|" * len(metrics))
    for arm in arms:
        cells = [f"| {arm} | {results[arm]['rate']:g} |"]
        cells += [f" {percent(results[arm]['dev'][name])} |" for name in metrics]
        lines.append("".join(cells))
    if "difference" not in results:
        return lines
    low, high = (100 * bound for bound in results["interval"])
    line = f"difference in {results['metric']}: {100 * results['difference']:.1f}"
    return [*lines, "", f"{line}, 95% interval {low:.1f} to {high:.1f}"]
