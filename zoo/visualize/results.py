"""Plots of confusion matrices, training and rate curves, without a display."""

import pathlib

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from zoo.files import replacing


def plot_confusion(matrix, labels, path, title=""):
    """Plots a confusion matrix.

    Args:
        matrix: int (C, C), a row for each true label and a column for each predicted
            label.
        labels: sequence of str (C,).
        path: str or path, file to write. The suffix is the format: .svg, .png or .pdf.
        title: str.

    Returns:
        pathlib.Path of the file.
    """
    figure = Figure(figsize=(1.8 + 0.9 * len(labels), 1.5 + 0.8 * len(labels)))
    axes = figure.subplots()
    axes.imshow(matrix, cmap="Blues")
    axes.set_xticks(range(len(labels)), labels, rotation=30, ha="right")
    axes.set_yticks(range(len(labels)), labels)
    axes.set(xlabel="predicted", ylabel="true", title=title)
    largest = max(max(row) for row in matrix)
    for i, row in enumerate(matrix):
        for j, count in enumerate(row):
            color = "white" if count > largest / 2 else "black"
            axes.text(j, i, str(int(count)), ha="center", va="center", color=color)
    return _save(figure, path)


def plot_history(histories, path, metric="accuracy", title="", unit="epoch"):
    """Plots training and validation curves of one or more runs.

    Args:
        histories: dict of the name of each run to the `history` dict of Keras' History.
        path: str or path, file to write. The suffix is the format.
        metric: str, a key of the histories. Values of "val_" and this key are plotted
            as dashed lines.
        title: str.
        unit: str, label of the horizontal axis, such as "epoch".

    Returns:
        pathlib.Path of the file.
    """
    figure = Figure(figsize=(6, 4))
    axes = figure.subplots()
    for number, (name, history) in enumerate(histories.items()):
        for prefix, style in (("", "-"), ("val_", "--")):
            values = history.get(prefix + metric)
            if values:
                epochs = range(1, len(values) + 1)
                label = f"{name}, {'validation' if prefix else 'training'}"
                axes.plot(epochs, values, style, color=f"C{number}", label=label)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set(xlabel=unit, ylabel=metric, title=title)
    axes.legend()
    return _save(figure, path)


def plot_rate_curve(curve, path, title="Learning-rate range test"):
    """Plots the loss over the learning rate.

    Args:
        curve: `zoo.training.RateCurve`, from `find_learning_rate` of a task.
        path: str or path, file to write. The suffix is the format.
        title: str.

    Returns:
        pathlib.Path of the file.
    """
    figure = Figure(figsize=(6, 4))
    axes = figure.subplots()
    axes.plot(curve.rates, curve.losses, ".", color="0.7", label="loss of a batch")
    axes.plot(curve.rates, curve.smoothed, color="C0", label="smoothed")
    if curve.suggestion is not None:
        label = f"suggestion {curve.suggestion:.2g}"
        axes.axvline(curve.suggestion, ls="--", color="C1", label=label)
    axes.set(xscale="log", xlabel="learning rate", ylabel="loss", title=title)
    # Below the axes, where it hides no part of a curve.
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=3, frameon=False)
    return _save(figure, path)


def _save(figure, path):
    path = pathlib.Path(path)
    with replacing(path) as temporary:
        figure.savefig(temporary, bbox_inches="tight")
    return path
