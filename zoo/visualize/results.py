"""Plots of training curves, predictions and positions, without a display."""

import reprlib

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from zoo.checks.ranges import Size, check_value, check_values
from zoo.visualize.figures import LEGEND_BELOW, NUM_COLORS, STYLE, save_figure, shown
from zoo.visualize.given_values import to_dict, to_numbers, to_texts
from zoo.visualize.plain_text import printable, to_text

MOST_NUMBERS = 16  # labels; the cells of a larger confusion matrix show no counts
MOST_NAMES = 300  # labels; a larger confusion matrix does not name them
MOST_MARKERS = 12  # values; a longer curve has markers only at values between gaps
LONGEST_LABEL = 24  # characters
LINE_STYLES = ("-", "--", ":", "-.")


def plot_confusion(matrix, labels, path, title=""):
    """Plots a confusion matrix; returns the path of the file.

    The color is the share of the true label. The cells show counts if there are at most
    16 labels. A larger matrix has a color bar. More than 300 labels are not named.

    Args:
        matrix: int (C, C), a row for each true label and a column for each predicted
            label.
        labels: sequence of str (C,).
        path, title: see `plot_attention`.

    Raises:
        ValueError: if the matrix has another shape, or a count is negative or not
            finite.
    """
    matrix = to_numbers("matrix", matrix, ("true labels", "predicted labels"))
    labels = to_texts("labels", labels, len(matrix))
    if matrix.shape[0] != matrix.shape[1] or matrix.min() < 0:
        raise ValueError(
            "`matrix` must have a row and a column for each label, without negative "
            f"counts. Received: shape {matrix.shape}, least count {matrix.min():g}."
        )
    shares = matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1)
    many = len(labels) > MOST_NUMBERS
    side = 1.8 + 0.55 * len(labels)
    if many:
        side = 3 + 0.12 * min(len(labels), MOST_NAMES)
    with rc_context({**STYLE, "font.size": 6 if many else 10}):
        figure = Figure(figsize=(side + 0.3, side))
        axes = figure.subplots()
        largest = 1 if many else shares.max() or 1
        image = axes.imshow(shares, cmap="Blues", vmin=0, vmax=largest)
        if many:
            bar = axes.inset_axes((1.02, 0.1, 0.02, 0.8))
            figure.colorbar(image, cax=bar, label="share of the true label")
        names = [_shorten(label) for label in labels]
        slanted = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
        turned = {"rotation": 90} if many else slanted
        if len(names) <= MOST_NAMES:
            axes.set_xticks(range(len(names)), names, **turned)
            axes.set_yticks(range(len(names)), names)
        axes.set(xlabel="predicted", ylabel="true", title=to_text(title))
        for (i, j), count in np.ndenumerate(matrix):
            if not many:
                color = "white" if shares[i, j] > shares.max() / 2 else "black"
                axes.text(j, i, f"{count:.0f}", ha="center", va="center", color=color)
        return save_figure(figure, path)


def _shorten(label):
    label = printable(label)
    return label if len(label) <= LONGEST_LABEL else f"{label[: LONGEST_LABEL - 1]}…"


def plot_history(
    histories, path, metric="accuracy", title="", unit="epoch", validation_freq=None
):
    """Plots training and validation curves of runs; returns the path of the file.

    Args:
        histories: dict of the name of each run to what `fit` returned, or the `history`
            dict of it.
        path, title: see `plot_attention`.
        metric: str, a key of the histories. Values of "val_" and this key are plotted
            as dashed lines.
        unit: str, label of the horizontal axis, such as "epoch".
        validation_freq: int, the epochs from one value of validation to the next, as in
            `fit`. By default, it is the number of training values divided by that of
            validation values.

    Raises:
        ValueError: if a history is no dict, or the numbers of training values and
            validation values do not fit.
    """
    curves, metric = {}, to_text(metric)
    if validation_freq is not None:
        validation_freq = check_value("validation_freq", validation_freq, Size)
    for name, history in to_dict("histories", histories).items():
        history = to_dict(f"history of {name}", getattr(history, "history", history))
        found = (history.get(f"{prefix}{metric}") for prefix in ("", "val_"))
        train, valid = (
            to_numbers(metric, [] if values is None else values, ("epochs",), gaps=True)
            for values in found
        )
        curves[f"{name}, training"] = (range(1, len(train) + 1), train)
        places = _validated(len(train) or len(valid), len(valid), validation_freq)
        curves[f"{name}, validation"] = (places, valid)
    return plot_curves(curves, path, title, unit, metric, pairs=True)


def _validated(epochs, count, step=None):
    """The epochs that have a value of validation, such as every fifth."""
    if count and (epochs % count if step is None else epochs // step != count):
        raise ValueError(
            "The number of training values must be a multiple of that of validation "
            f"values, or `validation_freq` must be given. Received: {epochs} and "
            f"{count}, and validation_freq={step}."
        )
    step = step or (epochs // count if count else 1)
    return range(step, step * count + 1, step)


def plot_curves(curves, path, title="", xlabel="", ylabel="", pairs=False):
    """Plots curves over a number of epochs or updates, with a legend below them.

    After ten colors, the next curves have the same colors and other styles of lines.

    Args:
        curves: dict of the name of each curve to its positions, int (N,), and values,
            float (N,). None and NaN are gaps. A curve without values is ignored.
        path, title: see `plot_attention`, also for the result.
        xlabel, ylabel: str.
        pairs: bool, whether each curve with an odd number, from 0, has the color of the
            curve before it and another style, such as a dashed line.

    Raises:
        ValueError: if a curve does not have as many positions as values, or they are no
            numbers.
    """
    words = {"title": title, "xlabel": xlabel, "ylabel": ylabel}
    check_values(bool, pairs=pairs)
    curves = {k: _to_curve(k, v) for k, v in to_dict("curves", curves).items()}
    with rc_context(STYLE):
        figure = Figure(figsize=(5, 3.2))
        axes = figure.subplots()
        for number, (name, (places, values)) in enumerate(curves.items()):
            color, odd = divmod(number, 2) if pairs else (number, 0)
            style = color // NUM_COLORS * (2 if pairs else 1) + odd
            if len(values):
                options = {"color": f"C{color % NUM_COLORS}", "label": shown(name)}
                options["linestyle"] = LINE_STYLES[style % len(LINE_STYLES)]
                axes.plot(places, values, **options, **_markers(values))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        axes.set(**{key: to_text(value) for key, value in words.items()})
        if axes.lines:
            axes.legend(**LEGEND_BELOW)
        return save_figure(figure, path)


def _to_curve(name, curve):
    """Positions and values, arrays; raises ValueError for what is no curve."""
    paired = isinstance(curve, (list, tuple)) and len(curve) == 2
    parts = curve if paired else ()
    parts = [to_numbers(name, part, ("values",), gaps=True) for part in parts]
    if not paired or len(parts[0]) != len(parts[1]):
        raise ValueError(
            f"The curve `{name}` must be a pair of positions and values, of one "
            f"length. Received: {reprlib.repr(curve)}."
        )
    return parts


def _markers(values):
    """Options of a line, with markers at values that no line joins to another one."""
    known = np.isfinite(np.pad(values, 1, constant_values=np.nan))
    if len(values) <= MOST_MARKERS:
        return {"marker": "o"}
    alone = np.flatnonzero(known[1:-1] & ~known[:-2] & ~known[2:])
    return {"marker": "o", "markevery": alone.tolist()} if len(alone) else {}


def plot_scatter(references, predictions, path, title=""):
    """Plots predicted numbers over true numbers, and the line where both are equal.

    Args:
        references, predictions: float (N,).
        path, title: see `plot_attention`, also for the result.

    Raises:
        ValueError: if they are no finite numbers, or their numbers differ.
    """
    references = to_numbers("references", references, ("texts",))
    predictions = to_numbers("predictions", predictions, ("texts",))
    if len(references) != len(predictions):
        raise ValueError(
            "Each reference must have a prediction. Received: "
            f"{len(references)} references and {len(predictions)} predictions."
        )
    with rc_context(STYLE):
        figure = Figure(figsize=(4.5, 4.2))
        axes = figure.subplots()
        ends = np.array([np.min(references), np.max(references)])
        axes.plot(ends, ends, color="gray", linewidth=1)
        # One picture of the points: a large test set has too many for single shapes.
        axes.scatter(references, predictions, s=9, alpha=0.4, rasterized=True)
        axes.set(xlabel="true", ylabel="predicted", title=to_text(title))
        return save_figure(figure, path)


def plot_rate_curve(curve, path, title="Learning-rate range test"):
    """Plots the loss over the learning rate.

    Args:
        curve: `zoo.training.RateCurve`, from `find_learning_rate` of a task.
        path, title: see `plot_attention`, also for the result.

    Raises:
        TypeError: if it is no such curve.
    """
    if not all(hasattr(curve, name) for name in ("rates", "losses", "smoothed")):
        raise TypeError(
            "`curve` must be a `zoo.training.RateCurve`, such as `find_learning_rate` "
            f"returns. Received: {reprlib.repr(curve)}."
        )
    with rc_context(STYLE):
        figure = Figure(figsize=(5, 3.2))
        axes = figure.subplots()
        axes.plot(curve.rates, curve.losses, ".", color="0.7", label="loss of a batch")
        axes.plot(curve.rates, curve.smoothed, color="C0", label="smoothed")
        if curve.suggestion is not None:
            label = f"suggestion {curve.suggestion:.2g}"
            axes.axvline(curve.suggestion, ls="--", color="C1", label=label)
        axes.set(
            xscale="log", xlabel="learning rate", ylabel="loss", title=to_text(title)
        )
        axes.legend(**LEGEND_BELOW)
        return save_figure(figure, path)


def plot_positions(table, path, title="Positions"):
    """Plots a table of position vectors as a heat map, a row for each position.

    Such a table comes from `zoo.layers.sinusoids`, or is the learned one of a model,
    `backbone.named_layers["position_embedding"].embeddings`. Zero is white, positive
    values are red and negative ones blue. The few largest values, one in 200, all have
    the colors of the ends, so that outliers of a learned table do not hide the rest.

    Args:
        table: float (L, D), L positions of width D.
        path, title: see `plot_attention`, also for the result.

    Raises:
        ValueError: if the table does not have two dimensions, is empty, or has a value
            that is not finite.
    """
    table = to_numbers("table", table, ("positions", "width"))
    largest = np.quantile(np.abs(table), 0.995) or 1
    ends = {"extend": "both" if np.abs(table).max() > largest else "neither"}
    with rc_context({**STYLE, "axes.spines.top": True, "axes.spines.right": True}):
        figure = Figure(figsize=(6.4, 4))
        axes = figure.subplots()
        options = {"vmin": -largest, "vmax": largest, "interpolation": "nearest"}
        image = axes.imshow(table, cmap="RdBu_r", aspect="auto", **options)
        figure.colorbar(image, ax=axes, label="value", **ends)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        axes.set(xlabel="dimension", ylabel="position", title=to_text(title))
        return save_figure(figure, path)
