import re
import xml.etree.ElementTree

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from zoo.visualize import (  # noqa: E402
    plot_confusion,
    plot_curves,
    plot_history,
    plot_positions,
    plot_rate_curve,
    plot_scatter,
)


def test_confusion_is_a_self_contained_file(tmp_path):
    path = plot_confusion([[5, 1], [2, 7]], ["bad", "good"], tmp_path / "a" / "c.svg")
    text = path.read_text()
    assert text.lstrip().startswith("<?xml") and 'href="http' not in text
    assert [p.name for p in path.parent.iterdir()] == ["c.svg"]
    again = plot_confusion([[5, 1], [2, 7]], ["bad", "good"], tmp_path / "again.svg")
    assert again.read_bytes() == path.read_bytes()


def test_confusion_of_many_labels_has_no_numbers(tmp_path):
    counts = [[1234] * 77 for _ in range(77)]
    labels = [f"label {i}" for i in range(77)]
    text = plot_confusion(counts, labels, tmp_path / "many.svg").read_text()
    assert "label 76" in text and ">1234<" not in text
    assert ">share of the true label<" in text
    few = plot_confusion([[1234]], ["one"], tmp_path / "one.svg").read_text()
    assert ">1234<" in few and "share of" not in few


def test_the_colors_of_a_large_confusion_matrix_end_at_one(figures):
    names = [f"label {i}" for i in range(20)]
    plot_confusion(np.ones((20, 20)), names, "a.svg")
    plot_confusion([[1, 1], [1, 1]], ["a", "b"], "a.svg")
    limits = [figure.axes[0].images[0].get_clim() for figure in figures]
    assert limits == [(0, 1), (0, 0.5)]


@pytest.mark.filterwarnings("error")
def test_strange_labels_are_text(tmp_path):
    labels = ["$\\frac$", "<script>", "漢字 🎬", "_hidden", "", "long " * 99]
    text = plot_confusion([[1] * 6] * 6, labels, tmp_path / "a.svg").read_text()
    assert "$\\frac$" in text and "&lt;script&gt;" in text and "<script" not in text
    assert "long " * 9 not in text and "…" in text
    plot_confusion([[1] * 6] * 6, labels, tmp_path / "a.png")


def test_history_draws_every_run(figures):
    first = {"accuracy": [0.5, 0.6], "val_accuracy": [0.4, 0.3]}
    second = {"accuracy": [0.1, 0.2], "val_accuracy": [0.7, 0.8]}
    plot_history({"a": first, "b": second}, "a.svg")
    lines = figures[0].axes[0].lines
    drawn = {line.get_label(): [*line.get_ydata()] for line in lines}
    names = ("a, training", "a, validation", "b, training", "b, validation")
    assert drawn == dict(zip(names, [*first.values(), *second.values()], strict=True))


def test_formats_of_a_history(tmp_path):
    history = {"accuracy": [0.5, 0.6], "val_accuracy": [0.4, 0.5]}
    png = plot_history({"a": history}, tmp_path / "h.png")
    assert png.read_bytes()[:4] == b"\x89PNG"
    text = plot_history({"a": history}, tmp_path / "h.svg", title="Run").read_text()
    pdf = [plot_history({"a": history}, tmp_path / f"{n}.PDF") for n in "xy"]
    assert pdf[0].read_bytes() == pdf[1].read_bytes()
    assert "a, training" in text and "a, validation" in text and ">Run<" in text


def test_validation_is_drawn_at_its_epochs(figures):
    history = {"accuracy": [0.1] * 15, "val_accuracy": [0.2] * 3}
    plot_history({"a": history, "b": {"val_accuracy": [0.2] * 2}}, "a.svg")
    places = [[*line.get_xdata()] for line in figures[0].axes[0].lines]
    assert places == [[*range(1, 16)], [5, 10, 15], [1, 2]]
    history["val_accuracy"].append(0.2)
    for every in (None, 5):
        message = f"Received: 15 and 4, and validation_freq={every}"
        with pytest.raises(ValueError, match=message):
            plot_history({"a": history}, "a.svg", validation_freq=every)
    history = {"accuracy": [0.1] * 3, "val_accuracy": [0.2]}
    plot_history({"a": history}, "a.svg", validation_freq=2)
    assert [*figures[-1].axes[0].lines[1].get_xdata()] == [2]


def test_a_value_between_gaps_has_a_marker(figures):
    gap = float("nan")
    values = [1.0, gap, 2.0, 3.0, gap, 4.0, gap, *[5.0] * 8, gap, 6.0]
    plot_curves({"a": (range(17), values), "b": (range(17), [1.0] * 17)}, "a.svg")
    marked, plain = figures[0].axes[0].lines
    assert marked.get_marker() == "o" and marked.get_markevery() == [0, 5, 16]
    assert plain.get_marker() == "None"


@pytest.mark.parametrize("pairs", [False, True])
def test_many_curves_look_different(figures, pairs):
    curves = {str(i): ([1, 2], [0.0, i]) for i in range(40)}
    plot_curves(curves, "a.svg", pairs=pairs)
    lines = figures[0].axes[0].lines
    assert len({(line.get_color(), line.get_linestyle()) for line in lines}) == 40
    assert (lines[0].get_color() == lines[1].get_color()) == pairs
    assert lines[0].get_linestyle() == "-"


def test_curves_have_gaps_and_scatter_is_drawn(tmp_path):
    curves = {"a": ([1, 2, 3], [1.0, None, float("nan")]), "none": ([], [])}
    curves["_a"] = ([1], [2.0])
    text = plot_curves(curves, tmp_path / "c.svg", "Loss", "update").read_text()
    assert "> _a<" in text
    assert ">a<" in text and ">none<" not in text and ">update<" in text
    assert plot_curves({}, tmp_path / "empty.svg").exists()
    same = plot_scatter([1.0, 1.0], [2.0, 3.0], tmp_path / "s.svg", "Numbers")
    assert ">Numbers<" in same.read_text()


def test_a_rate_curve_marks_the_suggestion(tmp_path):
    from zoo.training import RateCurve

    rates, losses = (1e-4, 1e-3, 1e-2, 1e-1), (3.0, 2.0, 1.0, 4.0)
    path = plot_rate_curve(RateCurve(rates, losses, losses), tmp_path / "a" / "r.svg")
    text = path.read_text()
    assert "suggestion 0.001" in text and "Learning-rate range test" in text
    flat = RateCurve(rates, losses, (1.0, 1.0, 1.0, 1.0))
    assert "suggestion" not in plot_rate_curve(flat, tmp_path / "f.svg").read_text()


def test_positions_are_a_heat_map(tmp_path):
    table = np.sin(np.arange(12.0)[:, None] / np.arange(1, 9))
    path = plot_positions(table, tmp_path / "p.svg", "Sinusoids")
    text = path.read_text()
    assert ">Sinusoids<" in text and ">position<" in text and ">dimension<" in text
    again = plot_positions(table, tmp_path / "again.svg", "Sinusoids")
    other = plot_positions(-table, tmp_path / "other.svg", "Sinusoids")
    assert again.read_bytes() == path.read_bytes() != other.read_bytes()
    assert plot_positions(np.zeros((1, 1)), tmp_path / "p.png").exists()


@pytest.mark.slow
def test_confusion_of_very_many_labels_is_not_larger(tmp_path):
    sizes = []
    for count in (301, 330):
        names = [f"label {i}" for i in range(count)]
        path = plot_confusion(np.eye(count, dtype=int), names, tmp_path / "a.svg")
        text = path.read_text()
        assert "label 0" not in text
        sizes.append(float(re.search(r'width="([\d.]+)pt"', text)[1]))
    assert abs(sizes[0] - sizes[1]) < 20 < sizes[0]


def test_pictures_have_a_format_and_valid_text(tmp_path):
    with pytest.raises(ValueError, match="must end in .svg, .png or .pdf"):
        plot_confusion([[1]], ["a"], tmp_path / "a")
    for table in (np.zeros(3), np.zeros((0, 4)), [[1.0, float("nan")]]):
        with pytest.raises(ValueError, match="`table` must hold finite numbers"):
            plot_positions(table, tmp_path / "p.svg")
    assert not [*tmp_path.iterdir()]
    path = plot_confusion([[1]], ["a\x07b"], tmp_path / "a.svg", title="x\x1b[0m")
    text = "".join(xml.etree.ElementTree.parse(path).getroot().itertext())
    assert "a\ufffdb" in text and "x\ufffd[0m" in text
