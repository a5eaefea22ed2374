"""Plots of training and results, written to files."""

from zoo.visualize.results import plot_confusion, plot_history

__all__ = ["plot_confusion", "plot_history"]
