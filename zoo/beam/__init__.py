"""Text preparation and answers past one machine, with Apache Beam.

The names are imported when they are first used, since Apache Beam may be absent.
"""

from zoo.checks.extras import missing_package
from zoo.lazy_names import lazy_names

_MODULES = {
    "Embed": "export_answers",
    "Predict": "export_answers",
    "PretrainingRows": "pretraining_rows",
    "Translate": "export_answers",
    "prepare": "prepared_runs",
}

__all__ = list(_MODULES)
_find, __dir__ = lazy_names(
    __name__, {name: f"{__name__}.{module}" for name, module in _MODULES.items()}
)


def __getattr__(name):
    try:
        return _find(name)
    except ModuleNotFoundError as error:
        if error.name != "apache_beam":
            raise
        message = missing_package("`zoo.beam` needs", "apache-beam", "beam")
        raise ImportError(message) from error
