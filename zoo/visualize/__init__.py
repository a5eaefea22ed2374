"""Pictures of training, results and models, written to files.

The names are imported when they are first used, since only the plots need matplotlib.
"""

import importlib

from zoo.checks.extras import missing_package

_PLACES = {
    "Attention": "zoo.visualize.attention_view",
    "attention": "zoo.programs.vectors.attend",
    "attention_page": "zoo.visualize.attention_view",
    "plot_attention": "zoo.visualize.attention_plot",
    "plot_confusion": "zoo.visualize.results",
    "plot_curves": "zoo.visualize.results",
    "plot_history": "zoo.visualize.results",
    "plot_layer_weights": "zoo.visualize.structures",
    "plot_map": "zoo.visualize.structures",
    "plot_positions": "zoo.visualize.results",
    "plot_rate_curve": "zoo.visualize.results",
    "plot_scatter": "zoo.visualize.results",
    "plot_tree": "zoo.visualize.tree_plot",
    "save_attention_page": "zoo.visualize.attention_view",
    "save_spans_page": "zoo.visualize.spans_view",
    "spans_page": "zoo.visualize.spans_view",
}

__all__ = [*_PLACES]


def __dir__():
    return sorted(__all__)


def __getattr__(name):
    if name not in _PLACES:
        raise AttributeError(f"module 'zoo.visualize' has no attribute {name!r}")
    try:
        return getattr(importlib.import_module(_PLACES[name]), name)
    except ModuleNotFoundError as error:
        message = missing_package(f"{name} needs", error.name, "quickstart")
        raise ImportError(message) from error
