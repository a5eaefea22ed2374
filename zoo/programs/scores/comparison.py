"""Compares a preset with the same network with random weights on tasks of GLUE.

The arm "preset" starts from the weights of the preset. The arm "random" has the same
config and random weights.

1. A tenth of the training set, but at most 1,000 examples, is the validation split.
2. The first seed of each arm is trained with every learning rate. The rate that is best
   on the validation split is used for every seed of the arm.
3. The predictions of every run are stored. If the command is stopped and run again, it
   does not repeat these runs.
"""

import math

import numpy as np

from zoo.checks.number_rules import check_number
from zoo.evaluation import bootstrap_interval, glue_metrics
from zoo.files.state_files import damaged, read_state
from zoo.files.whole_files import write_json
from zoo.programs.finetune.labelled_rows import take
from zoo.programs.scores.suite_results import check_files, percent, summary
from zoo.programs.scores.suite_tasks import BATCH_SIZE, SUITE, fit_model
from zoo.training import finetuning_optimizer

RUN_DESCRIPTION = "a run of such a comparison"
ARMS = {"preset": True, "random": False}  # whether the weights are loaded
BOTH_ARMS = "both"
RATES, EPOCHS = (1e-4, 3e-4, 1e-3), 3
LARGEST_SEARCH = 1000  # most examples of the split that chooses the learning rate


class Comparison:
    """What all comparisons in a directory have in common; see `zoo.evaluate_suite`.

    Raises:
        ValueError: if an arm is unknown, or a learning rate is out of range.
    """

    def __init__(self, preset, output, seeds, fit, echo, compare, settings):
        self.preset, self.output, self.seeds = preset, output, seeds
        self.fit, self.echo = fit, echo
        self.arms = tuple(ARMS) if compare == BOTH_ARMS else (compare,)
        if not {*self.arms} <= ARMS.keys():
            raise ValueError(
                f"`compare` must be one of {', '.join((BOTH_ARMS, *ARMS))}. Received: "
                f"{compare!r}."
            )
        self.settings = {"epochs": EPOCHS, "batch_size": BATCH_SIZE, **settings}
        self.rows = self.settings.pop("rows", None)
        rates = self.settings.pop("learning_rate", RATES)
        rates = rates if isinstance(rates, (list, tuple)) else [rates]
        self.rates = sorted(check_number("learning_rate", rate) for rate in rates)
        if not self.rates:
            raise ValueError("A comparison needs a learning rate. Received: none.")

    def compare(self, name, paths, files):
        """Compares the arms on a task, writes the result and returns it, a dict.

        `paths` are its files, see `SuiteTask.find`, and `files` their checksums.
        """
        parts = split(name, paths, self.rows)
        settings = {**self.settings, "seeds": len(self.seeds)}
        results = {"task": name, "examples": len(parts["train"][1])}
        results["settings"], runs = settings, {}
        for arm in self.arms:
            results[arm], runs[arm] = self._search(name, parts, arm, files)
        if len(runs) == len(ARMS):
            results |= difference(name, parts["dev"][1], runs)
        path = self.output / f"{name}-{results['examples']}-comparison.json"
        write_json(path, results, indent=2)
        self.echo("\n".join(format_comparison(results)))
        return results

    def _search(self, name, parts, arm, files):
        """The best rate and the scores of an arm, a dict, and its runs at that rate."""
        score = SUITE[name].score
        searched = {}
        for rate in self.rates:
            found = self._run(name, parts, arm, rate, self.seeds[0], files)
            searched[rate] = score(parts["valid"][1], found["valid"])
        best = max(searched, key=lambda rate: next(iter(searched[rate].values())))
        runs = [self._run(name, parts, arm, best, seed, files) for seed in self.seeds]
        dev = summary([score(parts["dev"][1], found["dev"]) for found in runs])
        return {"rate": best, "searched": searched, "dev": dev}, runs

    def _run(self, name, parts, arm, rate, seed, files):
        """A run that is stored, or that is made and stored now."""
        rows = len(parts["train"][1])
        path = self.output / f"{name}-{rows}-{arm}-{rate:g}-{seed}.json"
        if not path.exists():
            self.echo(f"{name}: {arm}, rate {rate:g}, seed {seed}")
            found = self.finetune(SUITE[name], parts, arm, rate, seed)
            write_json(path, {**found, "files": files})
        found = _read_run(path, name, parts)
        check_files(path, found, files)
        return found

    def finetune(self, task, parts, arm, rate, seed):
        """Trains one model; returns its predictions for valid and dev, plain values."""
        sizes = {key: self.settings[key] for key in ("epochs", "batch_size")}
        options = {k: v for k, v in self.settings.items() if k not in sizes}
        options |= {"load_weights": ARMS[arm], "seed": seed}
        model = task.build(self.preset, *parts["whole"], options)
        rows = len(parts["train"][1])
        optimizer = finetuning_optimizer(
            model.backbone, rows, learning_rate=rate, **sizes
        )
        model.compile(optimizer)
        fit_model(model, parts["train"], self.fit, options, **sizes, seed=seed)
        return {
            part: model.files.predict_labels(model, parts[part][0])[0]
            for part in ("valid", "dev")
        }


def _read_run(path, name, parts):
    """A stored run, with a prediction for each row of valid and dev."""
    known = {*parts["whole"][1]}
    numbers = not isinstance(next(iter(known)), str)
    predictions = [float] if numbers else [str]
    shape = {"valid": predictions, "dev": predictions, "files?": {str: str}}
    found = read_state(path, RUN_DESCRIPTION, shape)
    for part in ("valid", "dev"):
        if len(found[part]) != len(parts[part][1]):
            raise damaged(
                path, RUN_DESCRIPTION, f"`{part}` must have a prediction for each row"
            )
        fits = math.isfinite if numbers else known.__contains__
        if not all(map(fits, found[part])):
            raise damaged(
                path, RUN_DESCRIPTION, f"`{part}` has what the task does not predict"
            )
    return found


def split(name, paths, rows):
    """Splits a task into train, valid (part of the training set) and dev.

    Returns a dict of these names, and "whole" for the training set, to texts and
    labels.
    """
    texts, labels = SUITE[name].load(paths[0])
    order = np.random.default_rng(0).permutation(len(labels))
    kept = min(LARGEST_SEARCH, len(labels) // 10)
    if rows and rows > len(labels) - kept:
        raise ValueError(
            f"`rows` must be at most {len(labels) - kept}, the training set of {name} "
            f"without the validation split. Received: {rows}."
        )
    end = kept + rows if rows else len(labels)
    return {
        "whole": (texts, labels),
        "valid": take(texts, labels, order[:kept]),
        "train": take(texts, labels, order[kept:end]),
        "dev": SUITE[name].load(paths[1]),
    }


def difference(name, labels, runs):
    """The difference between the preset and random weights in the first metric, dict.

    It is that of the means over seeds. Its 95% interval is found by the bootstrap over
    the examples of the dev set.
    """
    metric, function = next(iter(glue_metrics(name).items()))
    references = np.array(labels)
    predictions = {arm: [np.array(found["dev"]) for found in runs[arm]] for arm in ARMS}

    def mean(arm, rows):
        """The mean of the metric over seeds, on some rows."""
        found = [function(references[rows], p[rows]) for p in predictions[arm]]
        return np.mean(found)

    def better(rows=slice(None)):
        return float(mean("preset", rows) - mean("random", rows))

    interval = bootstrap_interval(better, len(labels), seed=0)
    return {"metric": metric, "difference": better(), "interval": list(interval)}


def format_comparison(results):
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
