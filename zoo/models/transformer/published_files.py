"""Reads files that several programs write beside the weights."""

import json

from zoo.checkpoint import open_checkpoint


def read_json(path, optional=False):
    """Reads a JSON file that holds an object.

    Args:
        path: `pathlib.Path`.
        optional: bool, whether a missing file is an empty object.

    Returns:
        dict.

    Raises:
        FileNotFoundError: if the file is missing.
        ValueError: if the file does not hold a JSON object.
    """
    if not path.is_file():
        if optional:
            return {}
        raise FileNotFoundError(
            f"There is no `{path}`, which says how the model computes. Copy or write "
            "it beside the checkpoint."
        )
    try:
        values = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"`{path}` must be JSON. Received: {error}.") from error
    if not isinstance(values, dict):
        raise ValueError(f"`{path}` must hold an object. Received: {values!r:.80}.")
    return values


def variable_names(directory):
    """The names of the variables in all TensorFlow checkpoints of a directory, set."""
    paths = sorted(directory.glob("*.index"))
    return {name for path in paths for name in open_checkpoint(path)}


def count_blocks(names, form):
    """How many blocks a side has.

    Args:
        names: iterable of str, the names of arrays.
        form: str, what the names of the blocks begin with, with `{i}` for the number.

    Returns:
        int.
    """
    names, count = list(names), 0
    while any(name.startswith(form.format(i=count)) for name in names):
        count += 1
    return count


def check_option(values, name, known, path):
    """Raises if an option has a value that `Transformer` does not support.

    Args:
        values: dict.
        name: str.
        known: collection of the values that are supported. The first one is assumed
            if the option is missing.
        path: of the file, for the message.

    Returns:
        The value.
    """
    known = list(known)
    value = values.get(name, known[0])
    if value not in known or isinstance(value, bool) != isinstance(known[0], bool):
        raise ValueError(
            f"`{name}` must be {' or '.join(map(repr, known))}; `Transformer` supports "
            f"nothing else. Received: {value!r} in `{path}`."
        )
    return value
