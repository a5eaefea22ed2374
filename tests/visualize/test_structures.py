"""Pictures of trees and of maps: what they show, and what they refuse."""

import re

import numpy as np
import pytest

from zoo.text import read_tree
from zoo.visualize import plot_map, plot_tree

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
    found = texts_of(plot_tree(("X", "word"), tmp_path / "t.svg"))
    assert sorted(found) == ["X", "word"]


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


@pytest.mark.parametrize(
    ("vectors", "labels", "texts"),
    [(np.ones((1, 3)), ["a"], ()), (np.ones(3), ["a"] * 3, ()),
     (np.ones((2, 3)), ["a"], ()), (np.ones((2, 3)), ["a", "b"], ["x"])],
)  # fmt: skip
def test_wrong_maps(tmp_path, vectors, labels, texts):
    with pytest.raises(ValueError, match="at least two vectors, with a label for each"):
        plot_map(vectors, labels, tmp_path / "m.svg", texts=texts)
