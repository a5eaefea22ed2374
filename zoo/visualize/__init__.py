"""Plots of training and results, written to files."""

from zoo.visualize.results import (
    plot_confusion,
    plot_curves,
    plot_history,
    plot_rate_curve,
    plot_scatter,
)

__all__ = [
    "plot_confusion",
    "plot_curves",
    "plot_history",
    "plot_rate_curve",
    "plot_scatter",
]
