"""A picture of a tree of phrases, without a display."""

import unicodedata

from matplotlib import rc_context
from matplotlib.figure import Figure

from zoo.text import read_tree
from zoo.visualize.figures import STYLE, save_figure
from zoo.visualize.plain_text import to_text

CHARACTER_WIDTH, LEVEL_HEIGHT, GAP_WIDTH = 0.09, 0.55, 0.2  # inches
MOST_LEVELS = 200


def plot_tree(tree, path, title=""):
    """Plots a tree of phrases, with its words in one row at the bottom.

    Args:
        tree: nested tuples, such as ("S", ("NP", ("NN", "cats")), ...), or a str in
            brackets, such as `parse` of a parser returns. A leaf is a pair of a tag and
            a word.
        path, title: see `plot_attention`, also for the result.

    Raises:
        ValueError: if it is no tree, or has more than 200 levels.
    """
    tree = read_tree(tree) if isinstance(tree, str) else _to_tree(tree)
    nodes, height = [], _depth(tree)
    width, _ = _place(tree, 0.0, height, nodes)
    with rc_context(STYLE):
        figure = Figure(figsize=(width + 0.4, LEVEL_HEIGHT * (height + 1) + 0.4))
        axes = figure.add_axes((0, 0, 1, 1))  # in inches
        for (x, y), text, children in nodes:
            # Lines end above and below the text of a node.
            for child_x, child_y in children:
                axes.plot([x, child_x], [y - 0.2, child_y + 0.25], color="0.6", lw=1)
            # The slanted font has fewer scripts.
            slanted = not children and y == 0 and text.isascii()
            word = {"style": "italic"} if slanted else {}
            axes.text(x, y, text, ha="center", va="center", **word)
        axes.set(
            xlim=(-0.2, width + 0.2), ylim=(-0.5, height + 0.5), title=to_text(title)
        )
        axes.axis("off")
        return save_figure(figure, path)


def _to_tree(node, levels=MOST_LEVELS):
    """A tree of tuples and str; raises ValueError for what is none."""
    if not isinstance(node, (list, tuple)) or not node or not levels:
        raise ValueError(
            f"A tree must be nested tuples of at most {MOST_LEVELS} levels, such as "
            f'("NP", ("NN", "cats")), or a str in brackets. Received: {node!r:.60}.'
        )
    label, *children = node
    if len(children) == 1 and not isinstance(children[0], (list, tuple)):
        return to_text(label), to_text(children[0])
    return to_text(label), *(_to_tree(child, levels - 1) for child in children)


def _depth(tree):
    """The number of levels above the words."""
    if len(tree) > 1 and isinstance(tree[1], str):
        return 1
    return 1 + max(map(_depth, tree[1:]), default=0)


def _size(text):
    """The width of a text with the gap after it, in inches."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return (len(text) + wide) * CHARACTER_WIDTH + GAP_WIDTH


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
