"""Pictures of maps of vectors and of weights of layers, without a display."""

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import Bbox

from zoo.visualize.figures import (
    DPI,
    LEGEND_BELOW,
    NUM_COLORS,
    STYLE,
    clean_texts,
    save_figure,
    shown,
    silent_glyphs,
)
from zoo.visualize.given_values import to_dict, to_list, to_numbers, to_texts
from zoo.visualize.plain_text import printable, to_text

LONGEST_TEXT = 40  # characters
POINT_RADIUS = 3  # around a point, without texts; in the unit of the same name
MARKERS = ("o", "s", "^", "D")  # of points; another one after ten colors
HATCHES = (None, "//", "..", "xx")  # of bars, likewise
# Where a text is written beside its point: offset in points, and alignment.
TEXT_PLACES = [
    ((4, 3), "left"),
    ((4, -8), "left"),
    ((-4, 3), "right"),
    ((-4, -8), "right"),
]


def plot_map(vectors, labels, path, title="", texts=()):
    """Plots vectors in the plane of their two main directions.

    The directions are those of principal component analysis.

    Args:
        vectors: float (N, D), such as those of a word in different sentences.
        labels: sequence of str (N,); each label has a color. After ten labels, the
            next ones have the same colors and other markers.
        path, title: see `plot_attention`, also for the result.
        texts: sequence of str (N,), written beside the points; or empty. A text that
            would cover another one is left out.

    Raises:
        ValueError: if the vectors are no finite numbers, there is none, or a number of
            labels or texts differs.
    """
    vectors = to_numbers("vectors", vectors, ("vectors", "width"))
    labels = to_texts("labels", labels, len(vectors))
    given = [] if texts is None else to_list(texts)
    if given == []:
        given = [""] * len(vectors)
    elif given is None:  # `to_texts` raises an error
        given = texts
    texts = [*map(printable, to_texts("texts", given, len(vectors)))]
    centred = vectors - vectors.mean(axis=0)
    _, sizes, axes_of = np.linalg.svd(centred, full_matrices=False)
    points = np.zeros((len(vectors), 2))
    points[:, : len(axes_of[:2])] = centred @ axes_of[:2].T
    shares = 100 * sizes**2 / max(np.sum(sizes**2), 1e-12)
    shares = [*shares[:2], 0.0][:2]
    with rc_context(STYLE):
        # The resolution of the file: at another one, texts have other widths.
        figure = Figure(figsize=(6, 5), dpi=DPI)
        axes = figure.subplots()
        for number, name in enumerate(dict.fromkeys(labels)):
            rows = [i for i, label in enumerate(labels) if label == name]
            options = {"marker": MARKERS[number // NUM_COLORS % len(MARKERS)]}
            axes.scatter(*points[rows].T, s=18, alpha=0.7, label=shown(name), **options)
        names = (f"direction {i + 1} ({share:.0f} %)" for i, share in enumerate(shares))
        axes.set(
            **dict(zip(("xlabel", "ylabel"), names, strict=True)), title=to_text(title)
        )
        axes.legend(**LEGEND_BELOW)
        clean_texts(figure)
        with silent_glyphs():
            _write_texts(axes, points, texts)
        return save_figure(figure, path)


def _write_texts(axes, points, texts):
    """Writes texts beside points: right of them, below or left, where there is room.

    A text does not cover another text, a point or the vertical axis.
    """
    axes.figure.draw_without_rendering()
    places, size = axes.transData.transform(points), POINT_RADIUS * axes.figure.dpi / 72
    taken = [Bbox([place - size, place + size]) for place in places]
    for point, text in zip(points, texts, strict=False):
        short = text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}…"
        for offset, side in TEXT_PLACES if short else ():
            options = {"textcoords": "offset points", "fontsize": 6, "ha": side}
            written = axes.annotate(short, point, offset, **options)
            box = written.get_window_extent()
            covers = any(box.overlaps(other) for other in taken)
            if box.x0 >= axes.bbox.x0 and not covers:
                taken.append(box)
                break
            written.remove()


def plot_layer_weights(weights, path, title=""):
    """Plots how much each layer counts in learned weighted sums of layers.

    After ten colors, the next sums have the same colors and other hatches.

    Args:
        weights: dict of the name of each sum, such as a task, to its weights, float
            (N,), such as `weights` of a `zoo.probe`.
        path, title: see `plot_attention`, also for the result.

    Raises:
        ValueError: if there are no weights, they are no finite numbers, or their
            numbers differ.
    """
    rows = to_dict("weights", weights)
    table = to_numbers("weights", [*rows.values()], ("sums", "layers"))
    count, width = table.shape[1], 0.8 / len(table)
    with rc_context(STYLE):
        figure = Figure(figsize=(5, 3.2))
        axes = figure.subplots()
        for number, (name, row) in enumerate(zip(rows, table, strict=True)):
            places = np.arange(count) + (number - (len(table) - 1) / 2) * width
            hatch = HATCHES[number // NUM_COLORS % len(HATCHES)]
            axes.bar(places, row, width * 0.9, label=shown(name), hatch=hatch)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        axes.set(xlabel="layer", ylabel="weight", title=to_text(title))
        axes.legend(**LEGEND_BELOW)
        return save_figure(figure, path)
