"""Pictures of attention weights as heat maps, without a display."""

import math

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

from zoo.checks.ranges import check_values
from zoo.visualize.attention_view import Attention, check_attention
from zoo.visualize.figures import STYLE, save_figure
from zoo.visualize.plain_text import printable, to_text

TOKEN_SIDE, MAP_SIDE = 0.3, 0.9  # inches: a token, and the map of a head
MAX_SIDE = 12  # inches of a side with all tokens
FONT_SIZE, MIN_FONT_SIZE = 9, 4  # points, of the names of tokens


def plot_attention(attention, path, layer=None, head=None, title=""):
    """Plots attention weights: those of all heads, of a layer, or of a head.

    A row of a map has the weights of one token; a column is a token that is attended
    to. White is 0, and the darkest blue is the largest weight of the picture. With
    very many tokens, only every second one has a name, or every third one.

    Args:
        attention: `Attention`, such as `zoo.attend(model, text)["self"]`.
        path: str or path, file to write. The suffix is the format: .svg, .png or .pdf.
        layer: int, from 0. None for a small map of each head of all layers.
        head: int, from 0. None for the mean of the heads of the layer.
        title: str.

    Returns:
        pathlib.Path of the file.

    Raises:
        TypeError: if it is no `Attention`.
        ValueError: if the weights do not fit the tokens, the layer or the head does not
            exist, or only a head is given.
    """
    attention = Attention(*check_attention("attention", attention))
    weights = attention.weights
    check_values(int | None, layer=layer, head=head)
    for name, number, count in zip(
        ("layer", "head"), (layer, head), weights.shape, strict=False
    ):
        if number is not None and not -count <= number < count:
            raise ValueError(
                f"`{name}` must be in [-{count}, {count}). Received: {number}."
            )
    if layer is None and head is not None:
        raise ValueError(
            f"`head` needs `layer`. Received: head={head}, layer=None. Give both."
        )
    with rc_context({**STYLE, "axes.spines.top": True, "axes.spines.right": True}):
        if layer is None:
            figure = _overview(weights, title)
        else:
            chosen = weights[layer].mean(0) if head is None else weights[layer, head]
            figure = _map(chosen, attention, title)
        return save_figure(figure, path)


def _overview(weights, title):
    """A figure with a small map of each head."""
    layers, heads = weights.shape[:2]
    size = (MAP_SIDE * heads + 0.8, MAP_SIDE * layers + 0.9)
    figure = Figure(figsize=size, layout="constrained")
    places = figure.subplots(layers, heads, squeeze=False)
    for (layer, head), axes in np.ndenumerate(places):
        axes.imshow(weights[layer, head], cmap="Blues", vmin=0, vmax=weights.max() or 1)
        axes.set(xticks=[], yticks=[])
        if layer == layers - 1:
            axes.set_xlabel(head)
        if head == 0:
            axes.set_ylabel(layer)
    figure.supxlabel("head")
    figure.supylabel("layer")
    figure.suptitle(to_text(title))
    return figure


def _map(weights, attention, title):
    """A figure with one map and the names of the tokens."""
    rows, columns = weights.shape
    width, height = (
        min(1.8 + TOKEN_SIDE * count, MAX_SIDE) for count in (columns, rows)
    )
    figure = Figure(figsize=(width, height))
    axes = figure.subplots()
    image = axes.imshow(weights, cmap="Blues", vmin=0, vmax=weights.max() or 1)
    axes.set(xlabel="attended token", ylabel="token", title=to_text(title))
    figure.colorbar(image, ax=axes, label="weight", shrink=0.8)
    box = axes.get_position()
    # In points, of a token: a cell is as wide as it is high.
    room = 72 * min(box.width * width / columns, box.height * height / rows)
    step = max(math.ceil(MIN_FONT_SIZE / room), 1)
    options = {"fontsize": min(FONT_SIZE, step * room)}
    across, down = attention.attended[::step], attention.tokens[::step]
    places = range(0, columns, step), range(0, rows, step)
    axes.set_xticks(places[0], [*map(printable, across)], rotation=90, **options)
    axes.set_yticks(places[1], [*map(printable, down)], **options)
    return figure
