"""Figures that are made, but neither drawn nor written."""

import pytest


@pytest.fixture
def figures(monkeypatch):
    """The figures that are saved."""
    found = []
    for module in ("attention_plot", "results", "structures", "tree_plot"):
        name = f"zoo.visualize.{module}.save_figure"
        monkeypatch.setattr(name, lambda figure, path: found.append(figure))
    return found
