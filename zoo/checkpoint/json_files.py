"""Reads JSON files beside the weights."""

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
