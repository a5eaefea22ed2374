"""Pictures of trees, maps of vectors and weights of layers, without a display."""

import unicodedata

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import Bbox

from zoo.visualize.results import (
    BELOW,
    COLORS,
    DPI,
    STYLE,
    save_figure,
    shown,
    silent_glyphs,
)

CHARACTER, LEVEL, GAP = 0.09, 0.55, 0.2  # inches
LONGEST_TEXT = 40  # characters
RADIUS = 3  # around a point, without texts; in the unit of the same name
MARKERS = ("o", "s", "^", "D")  # of points; another one after ten colors
HATCHES = (None, "//", "..", "xx")  # of bars, likewise
# Where a text is written beside its point: offset in points, and alignment.
PLACES = [((4, 3), "left"), ((4, -8), "left"), ((-4, 3), "right"), ((-4, -8), "right")]


def plot_tree(tree, path, title=""):
    """Plots a tree of phrases, with its words in one row at the bottom.

    Args:
        tree: nested tuples, such as ("S", ("NP", ("NN", "cats")), ...), see
            `zoo.text.read_tree`. A leaf is a pair of a tag and a word.
        path: str or path, file to write. The suffix is the format: .svg, .png or .pdf.
        title: str.

    Returns:
        pathlib.Path of the file.

    Raises:
        TypeError: if the tree is one str.
    """
    if isinstance(tree, str):
        raise TypeError(
            f"A tree must be nested tuples. Received: {tree!r:.60}. Use "
            "`zoo.text.read_tree`, which reads brackets."
        )
    nodes, height = [], _depth(tree)
    width, _ = _place(tree, 0.0, height, nodes)
    with rc_context(STYLE):
        figure = Figure(figsize=(width + 0.4, LEVEL * (height + 1) + 0.4))
        axes = figure.add_axes((0, 0, 1, 1))  # in inches
        for (x, y), text, children in nodes:
            # Lines end above and below the text of a node.
            for child_x, child_y in children:
                axes.plot([x, child_x], [y - 0.2, child_y + 0.25], color="0.6", lw=1)
            # The slanted font has fewer scripts.
            slanted = not children and y == 0 and text.isascii()
            word = {"style": "italic"} if slanted else {}
            axes.text(x, y, text, ha="center", va="center", **word)
        axes.set(xlim=(-0.2, width + 0.2), ylim=(-0.5, height + 0.5), title=title)
        axes.axis("off")
        return save_figure(figure, path)


def _depth(tree):
    """The number of levels above the words."""
    if len(tree) > 1 and isinstance(tree[1], str):
        return 1
    return 1 + max(map(_depth, tree[1:]), default=0)


def _size(text):
    """The width of a text with the gap after it, in inches."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return (len(text) + wide) * CHARACTER + GAP


def _width(tree):
    """The width of a tree, which has room for the labels of all its phrases."""
    if len(tree) > 1 and isinstance(tree[1], str):
        return max(map(_size, tree))
    return max(_size(tree[0]), sum(map(_width, tree[1:])))


def _place(tree, left, level, nodes):
    """Adds the places of a tree to `nodes`; returns its right end and its middle."""
    size = _width(tree)
    if len(tree) == 1:  # a phrase without words
        nodes.append(((left + size / 2, level), tree[0], []))
        return left + size, left + size / 2
    if isinstance(tree[1], str):
        middle = left + size / 2
        nodes.append(((middle, 0), tree[1], []))
        nodes.append(((middle, level), tree[0], [(middle, 0)]))
        return left + size, middle
    inner, places = left + (size - sum(map(_width, tree[1:]))) / 2, []
    for child in tree[1:]:
        inner, middle = _place(child, inner, level - 1, nodes)
        places.append((middle, level - 1))
    half = _size(tree[0]) / 2
    middle = (places[0][0] + places[-1][0]) / 2
    middle = min(max(middle, left + half), left + size - half)
    nodes.append(((middle, level), tree[0], places))
    return left + size, middle


def plot_map(vectors, labels, path, title="", texts=()):
    """Plots vectors in the plane of their two main directions.

    The directions are those of principal component analysis.

    Args:
        vectors: float (N, D), such as those of a word in different sentences.
        labels: sequence of str (N,); each label has a color. After ten labels, the
            next ones have the same colors and other markers.
        path: str or path, file to write. The suffix is the format.
        title: str.
        texts: sequence of str (N,), written beside the points; or empty. A text that
            would cover another one is left out.

    Returns:
        pathlib.Path of the file.

    Raises:
        ValueError: if there is no vector, or a number differs.
    """
    vectors = np.asarray(vectors, "float64")
    counts = {len(vectors), len(labels), len(texts) or len(vectors)}
    if vectors.ndim != 2 or not len(vectors) or len(counts) > 1:
        raise ValueError(
            "A map needs vectors, with a label for each. Received: shape "
            f"{vectors.shape}, {len(labels)} labels and {len(texts)} texts."
        )
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
            options = {"marker": MARKERS[number // COLORS % len(MARKERS)]}
            axes.scatter(*points[rows].T, s=18, alpha=0.7, label=shown(name), **options)
        names = (f"direction {i + 1} ({share:.0f} %)" for i, share in enumerate(shares))
        axes.set(**dict(zip(("xlabel", "ylabel"), names, strict=True)), title=title)
        axes.legend(**BELOW)
        with silent_glyphs():
            _write_texts(axes, points, texts)
        return save_figure(figure, path)


def _write_texts(axes, points, texts):
    """Writes texts beside points: right of them, below or left, where there is room.

    A text does not cover another text, a point or the vertical axis.
    """
    axes.figure.draw_without_rendering()
    places, size = axes.transData.transform(points), RADIUS * axes.figure.dpi / 72
    taken = [Bbox([place - size, place + size]) for place in places]
    for point, text in zip(points, texts, strict=False):
        short = text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}…"
        for offset, side in PLACES if short else ():
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
        path: str or path, file to write. The suffix is the format.
        title: str.

    Returns:
        pathlib.Path of the file.

    Raises:
        ValueError: if there are no weights, or their numbers differ.
    """
    counts = {len(row) for row in weights.values()}
    if len(counts) != 1:
        raise ValueError(
            "All sums must have the same number of layers. Received: "
            f"{sorted(counts) or 'none'}."
        )
    (count,), width = counts, 0.8 / len(weights)
    with rc_context(STYLE):
        figure = Figure(figsize=(5, 3.2))
        axes = figure.subplots()
        for number, (name, row) in enumerate(weights.items()):
            places = np.arange(count) + (number - (len(weights) - 1) / 2) * width
            hatch = HATCHES[number // COLORS % len(HATCHES)]
            axes.bar(places, row, width * 0.9, label=shown(name), hatch=hatch)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        axes.set(xlabel="layer", ylabel="weight", title=title)
        axes.legend(**BELOW)
        return save_figure(figure, path)
