"""Reads JSON files, and writes files that appear only when they are complete."""

import json
import os


def read_json(path, kind=dict, fields=()):
    """Reads the value in a JSON file, such as a stored result.

    Args:
        path: pathlib.Path.
        kind: dict or list, the type of the value.
        fields: iterable of str, names that an object must have.

    Raises:
        ValueError: if the file is damaged. The message names it.
    """
    try:
        value = json.loads(path.read_text("utf-8"))
    except (IsADirectoryError, ValueError, RecursionError) as error:
        value, reason = None, getattr(error, "strerror", None) or str(error)
    else:
        reason = f"{value!r:.80}"
    if not isinstance(value, kind) or not all(name in value for name in fields):
        words = ", ".join(fields) or "such results"
        raise ValueError(
            f"{path} must hold JSON, a {kind.__name__} with {words}. Received: "
            f"{reason}. Remove it, and the same command computes it again."
        )
    return value


def write_whole(path, content):
    """Writes str or bytes under another name, then renames the file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{os.getpid()}-{path.name}")
    content = content.encode("utf-8") if isinstance(content, str) else content
    temporary.write_bytes(content)
    os.replace(temporary, path)
