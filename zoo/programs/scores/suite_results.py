"""The stored results of `zoo.evaluate_suite`, and the table that is made of them."""

import numpy as np

from zoo.files.state_files import damaged, read_state
from zoo.programs.scores.suite_tasks import SUITE

RESULT_DESCRIPTION = "a result of the suite"
SCORES = {str: {str: float}}  # of each file, or of each baseline
SHAPE = {
    "scores": SCORES,
    "baselines": SCORES,
    "train": int,
    "seconds": float,
    "test_seconds": float,
    "files?": {str: str},  # older results have none
}


def read_result(path, name):
    """The result of a model, a dict; `name` is that of the task."""
    found = read_state(path, RESULT_DESCRIPTION, SHAPE)
    metric = SUITE[name].metric
    scores = [*found["scores"].values(), *found["baselines"].values()]
    if not found["scores"] or any(metric not in score for score in scores):
        raise damaged(
            path,
            RESULT_DESCRIPTION,
            f"scores of a file, or of a baseline, lack {metric}",
        )
    return found


def stored_results(output, name):
    """The results of a task, list of path and result; comparisons are ignored."""
    return [
        (path, read_result(path, name))
        for path in sorted(output.glob(f"{name}-*.json"))
        if path.stem.removeprefix(f"{name}-").isdigit()
    ]


def collect(output):
    """All results of a directory, see `evaluate_suite`, in the order of `SUITE`."""
    found = {name: stored_results(output, name) for name in SUITE}
    return {name: [row for _, row in rows] for name, rows in found.items() if rows}


def check_files(path, result, files):
    """Raises ValueError if a stored result is of files with other checksums."""
    stored = result.get("files") or files  # older results have none
    if stored != files:
        changed = [file for file in files if files[file] != stored.get(file)]
        raise ValueError(
            "All results of a task must be of the same files. Received: other "
            f"contents of {', '.join(changed)} than those of {path}. Give another "
            "directory, or delete the result."
        )


def summary(scores):
    """Means and deviations of a list of dicts of float.

    The standard deviation is that of a sample, and None for one dict.
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


def format_table(results):
    """A Markdown table with a row for each task; see `collect`."""
    heads = ("task", "rows", "score", "preset", "seeds", "best baseline", "BERT base")
    heads += ("minutes", "other scores")
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for name, seeds in results.items():
        task, first = SUITE[name], seeds[0]
        score = summary([first_scores(found) for found in seeds])[task.metric]
        minutes = np.mean([f["seconds"] + f["test_seconds"] for f in seeds]) / 60
        cells = [task.title, f"{first['train']:,}", task.metric, percent(score)]
        cells += [str(len(seeds)), _best_baseline(first["baselines"], task.metric)]
        cells += [task.paper, f"{minutes:.1f}", _other_scores(seeds, task)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def first_scores(result):
    """The scores on the first test file, which is that of the table."""
    return next(iter(result["scores"].values()))


def _other_scores(seeds, task):
    """All scores but the most important one, the means over seeds, as text."""
    shown = []
    for place, file in enumerate(seeds[0]["scores"]):
        scores = [found["scores"].get(file, {}) for found in seeds]
        names = [name for name in scores[0] if place or name != task.metric]
        cells = [
            f"{n} {100 * np.mean([s[n] for s in scores if n in s]):.1f}" for n in names
        ]
        if cells:
            shown.append((f"{file}: " if place else "") + ", ".join(cells))
    return "; ".join(shown)


def _best_baseline(baselines, metric):
    if not baselines:
        return ""
    name = max(baselines, key=lambda name: baselines[name][metric])
    return f"{100 * baselines[name][metric]:.1f} ({name})"
