import pytest

pytest.importorskip("matplotlib")

from zoo.visualize import (  # noqa: E402
    plot_confusion,
    plot_history,
    plot_rate_curve,
)


def test_confusion_is_a_self_contained_file(tmp_path):
    path = plot_confusion([[5, 1], [2, 7]], ["bad", "good"], tmp_path / "a" / "c.svg")
    text = path.read_text()
    assert text.lstrip().startswith("<?xml") and 'href="http' not in text
    assert [p.name for p in path.parent.iterdir()] == ["c.svg"]


def test_history_draws_every_run(tmp_path):
    history = {"accuracy": [0.5, 0.6], "val_accuracy": [0.4, 0.5]}
    both = plot_history({"a": history, "b": history}, tmp_path / "h.png")
    one = plot_history({"a": history}, tmp_path / "one.png")
    assert both.read_bytes()[:4] == b"\x89PNG"
    assert both.read_bytes() != one.read_bytes()


def test_a_rate_curve_marks_the_suggestion(tmp_path):
    from zoo.training import RateCurve

    rates, losses = (1e-4, 1e-3, 1e-2, 1e-1), (3.0, 2.0, 1.0, 4.0)
    path = plot_rate_curve(RateCurve(rates, losses, losses), tmp_path / "a" / "r.svg")
    text = path.read_text()
    assert "suggestion 0.001" in text and "Learning-rate range test" in text
    flat = RateCurve(rates, losses, (1.0, 1.0, 1.0, 1.0))
    assert "suggestion" not in plot_rate_curve(flat, tmp_path / "f.svg").read_text()
