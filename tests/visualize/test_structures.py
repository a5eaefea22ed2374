"""Pictures of trees and of maps: what they show, and what they refuse."""

import re

import numpy as np
import pytest

from zoo.text import read_tree
from zoo.visualize import plot_layer_weights, plot_map, plot_tree, tree_plot

TREE = "(S (NP (DT a) (NN cat)) (VP (VBD sat) (PP (IN on) (NP (DT a) (NN mat)))) (. .))"


def texts_of(path):
    return re.findall(r"<text[^>]*>([^<]*)</text>", path.read_text("utf-8"))


def test_a_tree_has_all_labels_and_its_words_in_one_row(tmp_path):
    path = plot_tree(read_tree(TREE), tmp_path / "t.svg", "A title")
    found = texts_of(path)
    words = "a cat sat on a mat .".split()
    labels = re.findall(r"\((\S+)", TREE)
    assert sorted(found) == sorted([*words, *labels, "A title"])
    # Words are in italics.
    pattern = r'italic[^>]*x="([\d.]+)" y="([\d.]+)"'
    places = re.findall(pattern, path.read_text("utf-8"))
    assert len(places) == len(words) and len({y for _, y in places}) == 1
    across = [float(x) for x, _ in places]
    assert across == sorted(across)
    again = plot_tree(read_tree(TREE), tmp_path / "u.svg", "A title")
    assert again.read_bytes() == path.read_bytes()


def test_a_tree_of_one_word(tmp_path):
    path = plot_tree(("X", "word"), tmp_path / "t.svg")
    assert sorted(texts_of(path)) == ["X", "word"]
    in_brackets = plot_tree("(X word)", tmp_path / "u.svg")
    assert in_brackets.read_bytes() == path.read_bytes()


def test_the_texts_of_a_tree_do_not_overlap(figures):
    word, label = "e" * 20, "e" * 15
    tree = ("S", (label, ("N", "e")), (label, ("N", "e"), ("N", word)), ("N", word))
    plot_tree(tree, "t.svg")
    figure = figures[0]
    figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in figure.axes[0].texts]
    assert len(boxes) == 11
    for i, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:i]), i
        assert 0 <= box.x0 and box.x1 <= figure.bbox.x1
    for word in ("ab" * 9, "漢字" * 9):  # wide characters have room
        plot_tree(("X", word), "t.svg")
    narrow, wide = (figure.get_figwidth() for figure in figures[1:])
    assert wide - narrow == pytest.approx(18 * tree_plot.CHARACTER_WIDTH)


def test_many_labels_and_sums_look_different(figures):
    names = [f"label {i}" for i in range(12)]
    plot_map(np.eye(12), names, "m.svg")
    points = figures[0].axes[0].collections
    shapes = [part.get_paths()[0].vertices.tolist() for part in points]
    assert shapes[0] == shapes[9] != shapes[10]
    plot_layer_weights({name: [0.5, 0.5] for name in names}, "w.svg")
    hatches = [bars[0].get_hatch() for bars in figures[1].axes[0].containers]
    assert not hatches[9] and hatches[10]


def test_a_map_separates_what_is_apart(tmp_path):
    draw = np.random.default_rng(0)
    vectors = draw.normal(size=(12, 5)) + 9 * np.repeat([[0], [1]], 6, axis=0)
    labels, texts = ["river"] * 6 + ["money"] * 6, [f"t{i}" for i in range(12)]
    path = plot_map(vectors, labels, tmp_path / "m.svg", "bank", texts)
    found = texts_of(path)
    assert {"river", "money", "bank", *texts} <= {*found}
    (share,) = re.findall(r"direction 1 \((\d+) %\)", " ".join(found))
    assert int(share) > 80
    long = plot_map(vectors[:2], ["a", "b"], tmp_path / "n.svg", texts=["x" * 99, ""])
    assert "x" * 40 + "…" in texts_of(long)
    assert plot_map(vectors[:, :1], labels, tmp_path / "o.svg").exists()
    assert "alone" in texts_of(plot_map(vectors[:1], ["alone"], tmp_path / "p.svg"))


def test_phrases_without_words_and_other_scripts(tmp_path):
    assert "TOP" in texts_of(plot_tree(read_tree("(TOP)"), tmp_path / "a.svg"))
    found = texts_of(plot_tree(("S", ("X",), ("NN", "cat")), tmp_path / "b.svg"))
    assert {"S", "X", "NN", "cat"} <= {*found}
    path = plot_tree(("S", ("NN", "مرحبا"), ("NN", "cat")), tmp_path / "c.svg")
    slanted = re.findall(r"<text[^>]*italic[^>]*>([^<]*)", path.read_text("utf-8"))
    assert slanted == ["cat"]


@pytest.mark.parametrize(
    ("vectors", "labels", "texts", "name"),
    [(np.ones((0, 3)), [], (), "vectors"), (np.ones(3), ["a"] * 3, (), "vectors"),
     (np.ones((2, 3)), ["a"], (), "labels"), (np.eye(2), ["a", "b"], ["x"], "texts")],
)  # fmt: skip
def test_wrong_maps(tmp_path, vectors, labels, texts, name):
    with pytest.raises(ValueError, match=f"`{name}` must .*Received"):
        plot_map(vectors, labels, tmp_path / "m.svg", texts=texts)
