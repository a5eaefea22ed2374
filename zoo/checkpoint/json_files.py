"""Reads JSON files beside the weights."""

import contextlib
import json


def read_json(path, optional=False, kind=dict):
    """Reads a JSON file with an object, or with a list.

    Args:
        path: `pathlib.Path`.
        optional: bool, whether a missing file is empty.
        kind: dict or list.

    Returns:
        dict or list.

    Raises:
        FileNotFoundError: if the file does not exist.
        ValueError: if the file does not hold JSON of this kind.
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


@contextlib.contextmanager
def naming_absent(path, names):
    """Adds to a ValueError the values that a file leaves out.

    Args:
        path: `pathlib.Path` of a JSON file.
        names: iterable of str, values whose defaults may be the cause.
    """
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
