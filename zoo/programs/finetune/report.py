"""The report of a fine-tuned model: scores, curves and errors in a directory."""

import json
import math
import pathlib
import platform

import keras
import tensorflow as tf

from zoo import __version__
from zoo.checks.extras import missing_package
from zoo.files.whole_files import replacing
from zoo.programs.finetune.report_page import render
from zoo.visualize.plain_text import printable

WORST = 20  # errors that are shown
LONGEST = 300  # characters of a text that are shown
PAIRS = 20  # confused pairs of labels that are listed
NO_PICTURES = missing_package("Pictures need", "matplotlib", "quickstart")


def predict_baselines(model, sample, texts, echo):
    """Trains the baselines of a task, and predicts the labels of texts.

    Args:
        model: the task.
        sample: texts and labels that the baselines are trained on.
        texts: the texts to predict.
        echo: function that prints a line, if a package is missing.

    Returns:
        dict of the name of each baseline to its predicted labels.
    """
    found = {}
    for name, predict in model.baselines.items():
        try:
            found[name] = predict(*sample, texts)
        except ImportError as error:
            echo(str(error))
    return found


def format_scores(scores):
    """Scores on one line: names, and values with at most three decimals."""
    return ", ".join(
        f"{name.replace('_', ' ')} {value:.3f}" for name, value in scores.items()
    )


def assess_model(model, rows, baselines, seed):
    """Scores a model next to the baselines.

    Args:
        model: the task.
        rows: texts and labels to score it on.
        baselines: dict of a name to predicted labels, from `predict_baselines`.
        seed: int, of the bootstrap.

    Returns:
        dict with plain values: scores, and where the task assesses its labels
        differences, tables, confusion, most_confused, points and errors.
    """
    x, labels = rows
    predictions = model.predict_labels(x)
    if predictions is None:
        scores = model.measure(x, labels)
        values = {name: {"value": value} for name, value in scores.items()}
        return {"scores": {"model": values}}
    predicted, confidence = predictions
    own = model.assess(labels, predicted, confidence)
    others = {name: model.assess(labels, found) for name, found in baselines.items()}
    assessed = {"model": own, **others}
    found = {
        "scores": {name: one.scores(seed) for name, one in assessed.items()},
        "differences": {
            name: own.differences(one, seed) for name, one in others.items()
        },
        "tables": {
            title: [_without_scores(row) for row in rows]
            for title, rows in own.tables.items()
        },
    }
    if own.confusion is not None:
        names, matrix = own.confusion
        found["confusion"] = {"labels": names, "matrix": matrix.tolist()}
        found["most_confused"] = _most_confused(names, matrix)
    if own.points is not None:
        found["points"] = [values.tolist() for values in own.points]
    columns = x if isinstance(x, tuple) else (x,)
    found["errors"] = [
        {
            "texts": [_shorten(column[row]) for column in columns],
            "labels": model.describe_error(
                columns[0][row], labels[row], predicted[row]
            ),
            "error": float(own.errors[row]),
        }
        for row in own.worst(WORST)
    ]
    return found


def _without_scores(row):
    """A row of a table, without scores if there is nothing that it is scored on."""
    if row.get("support") != 0:
        return row
    return {k: None if isinstance(value, float) else value for k, value in row.items()}


def _shorten(text):
    return printable(text if isinstance(text, str) else " ".join(text), LONGEST)


def _most_confused(labels, matrix):
    """The pairs of labels that are confused most, list of dict."""
    pairs = [
        {"true": labels[i], "predicted": labels[j], "rows": int(count)}
        for i, row in enumerate(matrix)
        for j, count in enumerate(row)
        if i != j and count
    ]
    return sorted(pairs, key=lambda pair: -pair["rows"])[:PAIRS]


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


def write_report(directory, content, echo):
    """Writes pictures, `report.html` and `report.json`.

    Args:
        directory: path. Files of the same names are replaced.
        content: dict of plain values, with title, settings, data, tokens, scored,
            history, updates and the result of `assess_model`.
        echo: function that prints a line, if matplotlib is missing.

    Returns:
        pathlib.Path of `report.html`.
    """
    directory = pathlib.Path(directory)
    content = _finite(content)
    pictures = _draw(directory, content, echo)
    content["pictures"] = [path.name for path in pictures]
    pages = {
        "report.json": json.dumps(content, indent=1, ensure_ascii=False) + "\n",
        "report.html": render(
            content, [path for path in pictures if path.suffix == ".svg"]
        ),
    }
    for name, text in pages.items():
        with replacing(directory / name) as temporary:
            temporary.write_text(text, "utf-8", errors="replace")
    return directory / "report.html"


def _finite(value):
    """A copy of plain values in which numbers that JSON does not know are None."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _draw(directory, content, echo):
    """Draws all pictures, as SVG and as PNG; returns their paths."""
    try:
        from zoo.visualize import plot_confusion, plot_curves, plot_scatter
    except ImportError:
        echo(NO_PICTURES)
        return []
    paths = []

    def draw(plot, name, *arguments, **options):
        for suffix in (".svg", ".png"):
            paths.append(
                plot(*arguments, path=directory / f"{name}{suffix}", **options)
            )

    for name, title, xlabel, curves in _curves(content):
        draw(plot_curves, name, curves, title=title, xlabel=xlabel)
    if "confusion" in content:
        names = content["confusion"]["labels"]
        title = f"Confusion matrix, {content['scored']['part']}"
        draw(
            plot_confusion,
            "confusion",
            content["confusion"]["matrix"],
            names,
            title=title,
        )
    if "points" in content:
        title = f"Predicted and true numbers, {content['scored']['part']}"
        draw(plot_scatter, "scatter", *content["points"], title=title)
    return paths


def _curves(content):
    """Yields name, title, horizontal axis and curves of each plot of the training."""
    history, updates = content["history"], content["updates"]
    epochs = len(history["loss"])
    per_epoch = updates["update"][-1] // epochs
    ends = [per_epoch * (epoch + 1) for epoch in range(epochs)]
    loss = {"training": (updates["update"], updates["loss"])}
    loss["validation"] = (ends, history.get("val_loss", []))
    yield "loss", "Loss", "update", loss
    for name, values in history.items():
        if name != "loss" and f"val_{name}" in history:
            places = range(1, epochs + 1)
            curves = {
                "training": (places, values),
                "validation": (places, history[f"val_{name}"]),
            }
            yield name, name.replace("_", " ").capitalize(), "epoch", curves
    rate = {"learning rate": (updates["update"], updates["learning_rate"])}
    yield "learning_rate", "Learning rate", "update", rate
