"""The report of a fine-tuned model: scores, curves and errors in a directory."""

import json
import platform

import keras
import tensorflow as tf

from zoo import __version__
from zoo.checks.extras import missing_package
from zoo.files.buckets import local_path
from zoo.files.whole_files import replacing
from zoo.programs.finetune.labelled_rows import columns_of
from zoo.programs.finetune.report_page import render
from zoo.visualize.plain_text import printable

SHOWN_ERRORS = 20  # errors that are shown
SHOWN_CHARACTERS = 300  # characters of a text that are shown
SHOWN_PAIRS = 20  # confused pairs of labels that are listed
NO_PICTURES = missing_package("Pictures need", "matplotlib", "quickstart")


def predict_baselines(model, sample, texts, echo):
    """What baselines predict for texts, after they have learned from `sample`.

    A dict of their names to pairs, as `predict_labels` of the files returns them.
    """
    found = {}
    for name, predict in model.files.baselines.items():
        try:
            found[name] = model.files.predict_baseline(predict, model, sample, texts)
        except ImportError as error:
            echo(str(error))
    return found


def format_scores(scores):
    """Scores on one line: names, and values with at most three decimals."""
    return ", ".join(
        f"{name.replace('_', ' ')} {value:.3f}" for name, value in scores.items()
    )


def assess_model(model, rows, others, seed):
    """Scores a model next to other predictors, such as baselines.

    Args:
        model: the task.
        rows: texts and labels to score it on.
        others: dict of a name to the `zoo.evaluation.Assessment` on the same rows.
        seed: int, of the bootstrap.

    Returns:
        dict with plain values: scores, and where the task assesses its labels
        differences, tables, confusion, most_confused, points and errors.
    """
    (x, labels), files = rows, model.files
    predictions = files.predict_labels(model, x)
    if predictions is None:
        scores = files.measure(model, x, labels)
        values = {name: {"value": value} for name, value in scores.items()}
        return {"scores": {"model": values}}
    predicted, confidence = predictions
    assessed = files.assess(model, labels, predicted, confidence)
    scored = {"model": assessed, **others}
    found = {
        "scores": {name: item.scores(seed) for name, item in scored.items()},
        "differences": {
            name: assessed.differences(other, seed) for name, other in others.items()
        },
        "tables": shown_tables(assessed),
    }
    if assessed.confusion is not None:
        names, matrix = assessed.confusion
        found["confusion"] = {"labels": names, "matrix": matrix.tolist()}
        pairs = [
            {"true": names[i], "predicted": names[j], "rows": int(count)}
            for i, row in enumerate(matrix)
            for j, count in enumerate(row)
            if i != j and count
        ]
        found["most_confused"] = sorted(pairs, key=lambda pair: -pair["rows"])[
            :SHOWN_PAIRS
        ]
    if assessed.points is not None:
        found["points"] = [values.tolist() for values in assessed.points]
    columns = columns_of(x)
    found["errors"] = [
        {
            "texts": [_shorten(column[row]) for column in columns],
            "labels": files.describe_error(
                model, columns[0][row], labels[row], predicted[row]
            ),
            "error": float(assessed.errors[row]),
        }
        for row in assessed.worst(SHOWN_ERRORS)
    ]
    return found


def shown_tables(assessed):
    """The tables of an `Assessment`, dict of a title to a list of dicts."""
    return {
        title: [_without_scores(row) for row in table]
        for title, table in assessed.tables.items()
    }


def _without_scores(row):
    """A row of a table, without scores if there is nothing that it is scored on."""
    if row.get("support") != 0:
        return row
    return {k: None if isinstance(value, float) else value for k, value in row.items()}


def _shorten(text):
    return printable(
        text if isinstance(text, str) else " ".join(text), SHOWN_CHARACTERS
    )


def describe_model(model):
    """The settings that a model knows, and the versions of what it runs on, dict."""
    return {
        "task": model.task_name,
        "parameters": model.count_params(),
        "policy": model.dtype_policy.name,
        "sequence length": model.sequence_length,
        "zoo": __version__,
        "tensorflow": tf.__version__,
        "keras": keras.__version__,
        "python": platform.python_version(),
    }


def plain_copy(content):
    """A copy, in which numbers that JSON does not know are None."""
    return json.loads(json.dumps(content), parse_constant=lambda name: None)


def write_report(directory, content, echo):
    """Writes pictures, `report.html`, whose path is returned, and `report.json`."""
    directory = local_path(directory)
    content = plain_copy(content)
    pictures = _draw(directory, content, echo)
    content["pictures"] = [path.name for path in pictures]
    pages = {
        "report.json": json.dumps(content, indent=1, ensure_ascii=False) + "\n",
        "report.html": render(content, [p for p in pictures if p.suffix == ".svg"]),
    }
    for name, text in pages.items():
        with replacing(directory / name) as temporary:
            temporary.write_text(text, "utf-8", errors="replace")
    return directory / "report.html"


def _draw(directory, content, echo):
    """Draws all pictures, as SVG and as PNG; returns their paths."""
    try:
        from zoo.visualize import plot_confusion, plot_curves, plot_scatter
    except ImportError:
        echo(NO_PICTURES)
        return []
    part = content["scored"]["part"]
    plots = [
        (plot_curves, name, [curves, {"xlabel": xlabel, "title": title}])
        for name, title, xlabel, curves in _curves(content)
    ]
    if "confusion" in content:
        confusion = content["confusion"]
        values = [confusion["matrix"], confusion["labels"]]
        title = {"title": f"Confusion matrix, {part}"}
        plots.append((plot_confusion, "confusion", [*values, title]))
    if "points" in content:
        title = {"title": f"Predicted and true numbers, {part}"}
        plots.append((plot_scatter, "scatter", [*content["points"], title]))
    return [
        plot(*values, path=directory / f"{name}{suffix}", **options)
        for plot, name, (*values, options) in plots
        for suffix in (".svg", ".png")
    ]


def _curves(content):
    """Yields name, title, horizontal axis and curves of each plot of the training."""
    if "history" not in content:
        return
    history, updates = content["history"], content["updates"]
    epochs = len(history["loss"])
    per_epoch = updates["update"][-1] // epochs
    ends = [per_epoch * (epoch + 1) for epoch in range(epochs)]
    loss = {"training": (updates["update"], updates["loss"])}
    loss["validation"] = (ends, history.get("val_loss", []))
    yield "loss", "Loss", "update", loss
    for name, values in history.items():
        if name != "loss" and f"val_{name}" in history:
            parts = {"training": values, "validation": history[f"val_{name}"]}
            curves = {part: (range(1, epochs + 1), y) for part, y in parts.items()}
            yield name, name.replace("_", " ").capitalize(), "epoch", curves
    rate = {"learning rate": (updates["update"], updates["learning_rate"])}
    yield "learning_rate", "Learning rate", "update", rate
