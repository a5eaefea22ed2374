"""Reads text and JSON files beside the weights, and checks their values."""

import contextlib
import json


def read_json(path, optional=False, kind=dict):
    """Reads a JSON file with an object, or with a list as `kind`.

    FileNotFoundError if it does not exist and is not `optional`; ValueError if it does
    not hold JSON of this kind.
    """
    if not path.is_file():
        if optional:
            return kind()
        raise FileNotFoundError(
            f"There is no `{path}`, which says how the model computes. Copy it beside "
            "the weights."
        )
    try:
        values = json.loads(path.read_bytes().decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"`{path}` must be JSON. Received: {error}.") from error
    if not isinstance(values, kind):
        name = "an object" if kind is dict else "a list"
        raise ValueError(f"`{path}` must hold {name}. Received: {values!r:.80}.")
    return values


def read_text(path):
    """The text of a file, str; ValueError unless it is UTF-8."""
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"`{path}` must be UTF-8. Received: {error}.") from error


def read_lines(path):
    """The lines of a text file, list of str, see `read_text`."""
    text = read_text(path)
    # `splitlines` would also split at characters that are parts of tokens.
    return text.removesuffix("\n").split("\n") if text else []


def check_values(values, names, path):
    """Raises ValueError unless a dict that was read from a file has all names."""
    missing = [name for name in names if name not in values]
    if missing:
        raise ValueError(f"`{path}` must have the values {', '.join(missing)}.")


def check_supported(values, known, path, model):
    """ValueError unless the class `model` supports the options `values` of a file.

    `known` has a tuple of the supported values of each option. The first one is named
    in messages; None stands for a missing option.
    """
    for name, supported in known.items():
        if values.get(name) not in supported:
            raise ValueError(
                f"`{name}` must be {supported[0]!r}; `{model}` supports nothing else. "
                f"Received: {values.get(name)!r} in `{path}`."
            )


@contextlib.contextmanager
def naming_absent(path, names):
    """Adds to a ValueError those of the values `names` that a JSON file leaves out."""
    try:
        yield
    except ValueError as error:
        names = {*names}
        absent = sorted(names - {*read_json(path, optional=True)} if names else ())
        if not absent:
            raise
        raise ValueError(
            f"{error} `{path}` lacks {', '.join(absent)}; defaults were assumed. Add "
            "the right values."
        ) from error
