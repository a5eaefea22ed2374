"""Pictures of attention weights."""

import re

import numpy as np
import pytest
from matplotlib.image import imread

from zoo.visualize import Attention, plot_attention, plot_layer_weights

ROWS, COLUMNS = ("<s>", "un", "$chat$"), ("a", "cat", ".", "</s>")


@pytest.fixture
def attention():
    weights = np.random.default_rng(0).dirichlet(np.ones(4), (2, 3, 3))
    return Attention(weights.astype("float32"), ROWS, COLUMNS)


@pytest.mark.parametrize("head", [None, 1])
def test_a_map_names_its_tokens(attention, head, tmp_path):
    path = plot_attention(attention, tmp_path / "a.svg", 1, head, "Layer 1")
    text = path.read_text("utf-8")
    for shown in (*ROWS, *COLUMNS, "attended token", "weight", "Layer 1"):
        shown = shown.replace("<", "&lt;").replace(">", "&gt;")
        assert f">{shown}</text>" in text, shown


def test_a_map_shows_the_weights(tmp_path):
    """The cell with the only weight is dark, in its row and column."""
    weights = np.zeros((2, 3, 3, 4), "float32")
    weights[1, 2, 0, 3] = 1
    attention = Attention(weights, ROWS, COLUMNS)
    dark = {}
    for head in (1, 2):
        path = plot_attention(attention, tmp_path / f"{head}.png", 1, head)
        picture = imread(path)[..., :3]
        height, width = picture.shape[:2]
        cells = picture[:, : int(0.7 * width)]  # without the bar of colors
        blue = (cells[..., 2] > cells[..., 0] + 0.25).nonzero()
        dark[head] = [*map(np.median, blue)] if len(blue[0]) else None
    assert dark[1] is None
    row, column = dark[2]
    assert row < height / 2 and column > width / 2
    overview = imread(plot_attention(attention, tmp_path / "all.png"))
    assert overview.shape[1] > overview.shape[0]


@pytest.mark.parametrize(
    ("count", "columns", "named"),
    [(30, 30, 30), (100, 100, 100), (100, 12, 100), (400, 400, 134), (400, 12, 134)],
)
def test_the_names_of_many_tokens_do_not_overlap(count, columns, named, figures):
    names = tuple(f"t{i}" for i in range(count))
    weights = np.zeros((1, 1, count, columns), "float32")
    plot_attention(Attention(weights, names, names[:columns]), "a.svg", 0)
    axes, step = figures[0].axes[0], -(-count // named)
    texts, size = axes.get_yticklabels(), axes.get_yticklabels()[0].get_fontsize()
    assert [text.get_text() for text in texts] == [*names[::step]]
    height = 72 * axes.get_position().height * figures[0].get_figheight()
    assert 4 <= size <= min(9, 1.001 * step * height / count)
    assert len(axes.get_xticklabels()) == len(range(0, columns, step))


def test_the_overview_counts_layers_and_heads(attention, tmp_path):
    text = plot_attention(attention, tmp_path / "a.svg", title="All").read_text("utf-8")
    for shown, count in (("0", 2), ("1", 2), ("2", 1), ("head", 1), ("layer", 1)):
        assert text.count(f">{shown}</text>") == count, shown
    assert text.count("<image") == 6


def test_a_layer_must_exist(attention, tmp_path):
    for options, message in (
        ({"layer": 2}, r"`layer` must be in \[-2, 2\). Received: 2"),
        ({"layer": 0, "head": -4}, r"`head` must be in \[-3, 3\). Received: -4"),
        ({"head": 0}, "`head` needs `layer`"),
    ):
        with pytest.raises(ValueError, match=message):
            plot_attention(attention, tmp_path / "a.svg", **options)
    assert not [*tmp_path.iterdir()]


def test_weights_of_layers_are_bars(tmp_path):
    weights = {"names": [0.2, 0.8], "tags": [0.5, 0.5]}
    text = plot_layer_weights(weights, tmp_path / "a.svg", "Sums").read_text("utf-8")
    for shown in ("names", "tags", "layer", "weight", "Sums"):
        assert f">{shown}</text>" in text
    with pytest.raises(ValueError, match=r"Received: \[\[1.0\], \[0.5"):
        plot_layer_weights({"a": [1.0], "b": [0.5, 0.5]}, tmp_path / "a.svg")
    with pytest.raises(ValueError, match=r"Received: shape \(0,\)"):
        plot_layer_weights({}, tmp_path / "a.svg")
    path = plot_layer_weights({"a": [0.04] * 25}, tmp_path / "w.svg")
    numbers = re.findall(r"<text[^>]*>(\d+)</text>", path.read_text("utf-8"))
    assert "0" in numbers and len(numbers) < 12  # of many layers
