"""Warnings about files of a model that are missing or have another name."""

import itertools
import sys
import warnings

MOST_PATHS = 1000  # of a directory, which are looked at for a message


def warn_user(message):
    """Warns, and names the line outside of this package from which it was called."""
    frame, level = sys._getframe(1), 2
    package = __name__.split(".")[0]
    while frame.f_back and frame.f_globals["__name__"].split(".")[0] == package:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, stacklevel=level)


def warn_without_tokenizer(directory, names):
    """Warns that a directory lacks the files of a tokenizer.

    Args:
        directory: `pathlib.Path`.
        names: str, the names that are looked for.
    """
    warn_user(
        f"{directory} must hold {names} for a tokenizer. Received: "
        f"{', '.join(list_names(directory))}. The model has no tokenizer; it takes the "
        "ids of tokens. Add the file, or rename it if it is there."
    )


def list_names(directory, most=12):
    """The names of some files of a directory for a message, sorted, list of str."""
    paths = itertools.islice(directory.rglob("*"), MOST_PATHS)
    paths = [path for path in paths if path.is_file()]
    names = sorted(str(path.relative_to(directory)) for path in paths)
    return names[:most] + ["..."] * (len(names) > most)
