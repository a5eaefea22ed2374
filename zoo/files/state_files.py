"""Reads the JSON files that zoo itself writes, and checks what they hold."""

import json
import pathlib
import reprlib
import types

TYPE_NAMES = {
    dict: "an object",
    list: "a list",
    str: "a string",
    int: "an integer",
    float: "a number",
    types.NoneType: "null",
}
COMPUTED_AGAIN = "Remove it, and the same command computes it again."


def read_state(path, what, shape, advice=COMPUTED_AGAIN):
    """Reads a JSON file that zoo has written.

    `what` says what the file is, such as "a result of the suite", `shape` what it must
    hold, see `check_shape`, and `advice` what the user can do. FileNotFoundError if
    there is no such file; ValueError, which names it, if it is damaged.
    """
    path = pathlib.Path(path)
    try:
        value = json.loads(path.read_bytes())
        check_shape(value, shape, "the file")
    except FileNotFoundError:
        raise
    except (RecursionError, OSError, ValueError) as error:
        reason = getattr(error, "strerror", error)
        if isinstance(error, RecursionError):
            reason = "its JSON is nested too deeply"
        raise damaged(path, what, reason, advice) from error
    return value


def damaged(path, what, reason, advice=COMPUTED_AGAIN):
    """The ValueError about a damaged file; see `read_state` for the arguments."""
    return ValueError(f"{path} is not {what}: {reason}. {advice}")


def check_shape(value, shape, where):
    """ValueError, which names the field, unless a value of JSON has a shape.

    Args:
        value: the value.
        shape: a type of `TYPE_NAMES`; a tuple of them, for one of several types; a list
            of one shape, for a list of such values; or a dict of the names of fields to
            shapes. A field whose name ends in "?" may be missing or null. The name
            `str` stands for all other fields.
        where: str, what the value is, for the message.
    """
    kinds = shape if isinstance(shape, tuple) else (shape,)
    kinds = [type(kind) if isinstance(kind, (dict, list)) else kind for kind in kinds]
    if not any(_has_type(value, kind) for kind in kinds):
        words = " or ".join(TYPE_NAMES[kind] for kind in kinds)
        raise ValueError(f"{where} must be {words}. Received: {reprlib.repr(value)}")
    if isinstance(shape, list):
        for number, item in enumerate(value):
            check_shape(item, shape[0], _inside(where, f"[{number}]"))
    elif isinstance(shape, dict):
        missing = [name for name in shape if name is not str and name[-1] != "?"]
        missing = [name for name in missing if name not in value]
        if missing:
            raise ValueError(f"{where} lacks {', '.join(missing)}")
        for name, item in value.items():
            part = shape.get(name, shape.get(str))
            if f"{name}?" in shape:
                part = None if item is None else shape[f"{name}?"]
            if part is not None:
                check_shape(item, part, _inside(where, name))


def _inside(where, name):
    """The place of a part, such as "`weights.file`"."""
    if not where.startswith("`"):
        return f"`{name}`"
    return f"{where[:-1]}{name if name.startswith('[') else f'.{name}'}`"


def _has_type(value, kind):
    kinds = (int, float) if kind is float else kind
    return isinstance(value, kinds) and not isinstance(value, bool)
