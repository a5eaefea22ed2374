"""Plots of training curves, predictions and positions, without a display."""

import contextlib
import pathlib
import warnings

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.font_manager import get_font_names
from matplotlib.text import Text
from matplotlib.ticker import MaxNLocator

from zoo.files import replacing
from zoo.visualize.plain_text import printable

DPI = 150  # of files in pixels
MOST_NUMBERS = 16  # labels; the cells of a larger confusion matrix show no counts
MOST_NAMES = 300  # labels; a larger confusion matrix does not name them
MOST_MARKERS = 12  # values; a longer curve has markers only at values between gaps
LONGEST_LABEL = 24  # characters
COLORS = 10  # of Matplotlib's cycle; then come other styles of lines
LINES = ("-", "--", ":", "-.")
# A legend below the axes hides no part of a curve.
BELOW = dict(loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=2, frameon=False)
# Beside Matplotlib's own, those that are installed; they have the characters of Asia.
FONTS = (
    *("Noto Sans CJK SC", "Noto Sans CJK JP", "WenQuanYi Zen Hei", "PingFang SC"),
    *("Hiragino Sans", "Apple SD Gothic Neo", "Microsoft YaHei", "Malgun Gothic"),
    *("Noto Sans Devanagari", "Noto Sans Bengali", "Noto Sans Tamil", "Noto Sans Thai"),
)
INSTALLED = {*get_font_names()}
# Text stays text in SVG, a label with a dollar sign is no formula, and equal data give
# an equal file on one machine.
STYLE = {
    "font.family": ["DejaVu Sans", *(n for n in FONTS if n in INSTALLED), "sans-serif"],
    "svg.fonttype": "none",
    "svg.hashsalt": "zoo",
    "text.parse_math": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "savefig.facecolor": "white",
}


def plot_confusion(matrix, labels, path, title=""):
    """Plots a confusion matrix.

    The color is the share of the true label. The cells show counts if there are at
    most 16 labels. A larger matrix has a color bar. More than 300 labels are not named.

    Args:
        matrix: int (C, C), a row for each true label and a column for each predicted
            label.
        labels: sequence of str (C,).
        path: str or path, file to write. The suffix is the format: .svg, .png or .pdf.
        title: str.

    Returns:
        pathlib.Path of the file.
    """
    matrix = np.asarray(matrix)
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
        axes.set(xlabel="predicted", ylabel="true", title=title)
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
    """Plots training and validation curves of one or more runs.

    Args:
        histories: dict of the name of each run to the `history` dict of Keras' History.
        path: str or path, file to write. The suffix is the format.
        metric: str, a key of the histories. Values of "val_" and this key are plotted
            as dashed lines.
        title: str.
        unit: str, label of the horizontal axis, such as "epoch".
        validation_freq: int, the epochs from one value of validation to the next, as in
            `fit`. By default, it is the number of training values divided by that of
            validation values.

    Returns:
        pathlib.Path of the file.

    Raises:
        ValueError: if the numbers of training values and validation values do not fit.
    """
    curves = {}
    for name, history in histories.items():
        train, valid = (history.get(prefix + metric) or [] for prefix in ("", "val_"))
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
        path: str or path, file to write. The suffix is the format.
        title, xlabel, ylabel: str.
        pairs: bool, whether each curve with an odd number, from 0, has the color of the
            curve before it and another style, such as a dashed line.

    Returns:
        pathlib.Path of the file.
    """
    with rc_context(STYLE):
        figure = Figure(figsize=(5, 3.2))
        axes = figure.subplots()
        for number, (name, (places, values)) in enumerate(curves.items()):
            color, odd = divmod(number, 2) if pairs else (number, 0)
            style = color // COLORS * (2 if pairs else 1) + odd
            if len(values):
                values = np.asarray(values, "float64")
                options = {"color": f"C{color % COLORS}", "label": shown(name)}
                options["linestyle"] = LINES[style % len(LINES)]
                axes.plot(places, values, **options, **_markers(values))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        axes.set(xlabel=xlabel, ylabel=ylabel, title=title)
        if axes.lines:
            axes.legend(**BELOW)
        return save_figure(figure, path)


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
        references: float (N,).
        predictions: float (N,).
        path: str or path, file to write. The suffix is the format.
        title: str.

    Returns:
        pathlib.Path of the file.
    """
    with rc_context(STYLE):
        figure = Figure(figsize=(4.5, 4.2))
        axes = figure.subplots()
        ends = np.array([np.min(references), np.max(references)])
        axes.plot(ends, ends, color="gray", linewidth=1)
        # One picture of the points: a large test set has too many for single shapes.
        axes.scatter(references, predictions, s=9, alpha=0.4, rasterized=True)
        axes.set(xlabel="true", ylabel="predicted", title=title)
        return save_figure(figure, path)


def plot_rate_curve(curve, path, title="Learning-rate range test"):
    """Plots the loss over the learning rate.

    Args:
        curve: `zoo.training.RateCurve`, from `find_learning_rate` of a task.
        path: str or path, file to write. The suffix is the format.
        title: str.

    Returns:
        pathlib.Path of the file.
    """
    with rc_context(STYLE):
        figure = Figure(figsize=(5, 3.2))
        axes = figure.subplots()
        axes.plot(curve.rates, curve.losses, ".", color="0.7", label="loss of a batch")
        axes.plot(curve.rates, curve.smoothed, color="C0", label="smoothed")
        if curve.suggestion is not None:
            label = f"suggestion {curve.suggestion:.2g}"
            axes.axvline(curve.suggestion, ls="--", color="C1", label=label)
        axes.set(xscale="log", xlabel="learning rate", ylabel="loss", title=title)
        axes.legend(**BELOW)
        return save_figure(figure, path)


def plot_positions(table, path, title="Positions"):
    """Plots a table of position vectors as a heat map, a row for each position.

    Such a table comes from `zoo.layers.sinusoids`, or is the learned one of a model,
    `backbone.named_layers["position_embedding"].embeddings`. Zero is white, positive
    values are red and negative ones blue. The few largest values, one in 200, all have
    the colors of the ends, so that outliers of a learned table do not hide the rest.

    Args:
        table: float (L, D), L positions of width D.
        path: str or path, file to write. The suffix is the format.
        title: str.

    Returns:
        pathlib.Path of the file.

    Raises:
        ValueError: if the table does not have two dimensions, is empty, or has a value
            that is not finite.
    """
    table = np.asarray(table, "float64")
    if table.ndim != 2 or not table.size or not np.isfinite(table).all():
        raise ValueError(
            "`table` must hold finite numbers in the shape (positions, width). "
            f"Received: shape {table.shape}, "
            f"{np.count_nonzero(~np.isfinite(table))} values that are not finite."
        )
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
        axes.set(xlabel="dimension", ylabel="position", title=title)
        return save_figure(figure, path)


def shown(label):
    """A label that a legend shows; Matplotlib leaves out those that begin with "_"."""
    return f" {label}" if label.startswith("_") else label


@contextlib.contextmanager
def silent_glyphs():
    """Without the warnings about characters that the font does not have."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        yield


def save_figure(figure, path):
    """Writes a figure to a file, whose suffix is the format; returns its path.

    Control characters in its texts are replaced. They are not valid in SVG.

    Raises:
        ValueError: if Matplotlib does not write the format.
    """
    path = pathlib.Path(path)
    if path.suffix.lower()[1:] not in figure.canvas.get_supported_filetypes():
        raise ValueError(
            "The name of a picture must end in .svg, .png or .pdf. Received: "
            f"{str(path)!r}."
        )
    for text in figure.findobj(Text):
        text.set_text("\n".join(map(printable, text.get_text().split("\n"))))
    # A time would make every file different.
    times = {".svg": "Date", ".pdf": "CreationDate"}
    suffix = path.suffix.lower()
    plain = {"metadata": {times[suffix]: None}} if suffix in times else {}
    with replacing(path) as temporary, silent_glyphs():
        figure.savefig(temporary, bbox_inches="tight", dpi=DPI, **plain)
    return path
