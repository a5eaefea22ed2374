"""The stored results of `zoo.evaluate_suite`, and the table that is made of them."""

import pathlib

import numpy as np

from zoo.files.state_files import damaged, read_state
from zoo.programs.scores.suite_tasks import SUITE

RESULT = "a result of the suite"
SCORES = {str: {str: float}}  # of each file, or of each baseline
SHAPE = {
    "scores": SCORES,
    "baselines": SCORES,
    "train": int,
    "seconds": float,
    "test_seconds": float,
    "files?": {str: str},  # older results have none
}
GLUE_COMPARISON = "examples"  # what `TASK-EXAMPLES.json` of `zoo glue` has


def read_result(path, name):
    """Reads the result of a model.

    Args:
        path: pathlib.Path.
        name: str, of the task.

    Returns:
        dict, see `zoo.evaluate_suite`.

    Raises:
        ValueError: if the file is damaged.
    """
    found = read_state(path, RESULT, SHAPE)
    metric = SUITE[name].metric
    scores = [*found["scores"].values(), *found["baselines"].values()]
    if not found["scores"] or any(metric not in score for score in scores):
        raise damaged(
            path, RESULT, f"scores of a file, or of a baseline, lack {metric}"
        )
    return found


def stored_results(output, name):
    """The results of a task in a directory, in which `zoo glue` may have files, too.

    Args:
        output: path of the directory.
        name: str, of the task.

    Returns:
        list of pairs of path and result.

    Raises:
        ValueError: if a result is damaged.
    """
    paths = sorted(pathlib.Path(output).glob(f"{name}-*.json"))
    return [
        (path, read_result(path, name))
        for path in paths
        if path.stem.removeprefix(f"{name}-").isdigit()
        and GLUE_COMPARISON not in read_state(path, RESULT, dict)
    ]


def collect(output):
    """Reads all results of a directory.

    Args:
        output: path.

    Returns:
        dict, see `evaluate_suite`, in the order of `SUITE`.
    """
    found = {name: stored_results(output, name) for name in SUITE}
    return {name: [row for _, row in rows] for name, rows in found.items() if rows}


def format_table(results):
    """A Markdown table with a row for each task.

    Args:
        results: see `collect`.

    Returns:
        str.
    """
    heads = ("task", "rows", "score", "preset", "seeds", "best baseline", "BERT base")
    heads += ("minutes", "other scores")
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    for name, seeds in results.items():
        task = SUITE[name]
        scores = [main_score(found, task) for found in seeds]
        cell = f"{np.mean(scores):.1f}"
        if len(scores) > 1:
            cell += f" ± {np.std(scores, ddof=1):.1f}"
        cells = [task.title, f"{seeds[0]['train']:,}", task.metric, cell]
        cells += [str(len(seeds)), _best_baseline(seeds[0]["baselines"], task.metric)]
        minutes = np.mean([f["seconds"] + f["test_seconds"] for f in seeds]) / 60
        cells += [task.paper, f"{minutes:.1f}", _other_scores(seeds, task)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _other_scores(seeds, task):
    """All scores but the most important one, the means over seeds, as text."""
    told = []
    for place, file in enumerate(seeds[0]["scores"]):
        scores = [found["scores"].get(file, {}) for found in seeds]
        names = [name for name in scores[0] if place or name != task.metric]
        cells = [
            f"{n} {100 * np.mean([s[n] for s in scores if n in s]):.1f}" for n in names
        ]
        if cells:
            told.append((f"{file}: " if place else "") + ", ".join(cells))
    return "; ".join(told)


def _best_baseline(baselines, metric):
    if not baselines:
        return ""
    name = max(baselines, key=lambda name: baselines[name][metric])
    return f"{100 * baselines[name][metric]:.1f} ({name})"


def main_score(found, task):
    """The most important score of a result, in percent; `task` is a `SuiteTask`."""
    return 100 * next(iter(found["scores"].values()))[task.metric]
