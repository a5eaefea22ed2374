"""Pictures of training and results, each a self-contained file."""

from zoo.visualize.results import plot_confusion, plot_history

__all__ = ["plot_confusion", "plot_history"]
