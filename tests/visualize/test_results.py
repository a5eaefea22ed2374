import pytest

pytest.importorskip("matplotlib")

from zoo.visualize import plot_confusion, plot_history  # noqa: E402


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
