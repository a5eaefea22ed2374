"""Plots of training and results, written to files."""

from zoo.visualize.results import plot_confusion, plot_history, plot_rate_curve

__all__ = ["plot_confusion", "plot_history", "plot_rate_curve"]
