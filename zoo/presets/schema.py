"""Checks the fields of a preset record, before any of them is used."""

import math
import reprlib

FORMAT = 2
WORDS = {dict: "an object", str: "a string", int: "an integer"}
# Field to its type and to whether it is required. Other fields may be None.
FIELDS = {
    "family": (str, True),
    "backbone": (dict, True),
    "parameters": (int, False),
    "weights": (dict, False),
    "tokenizer": (dict, False),
    "task": (dict, False),
    "head_options": (dict, False),
    "parts": (dict, False),
    "defaults": (dict, False),
    "quantized": (dict, False),
}
# The same for the objects in a record.
OBJECTS = {
    "weights": {"file": (str, True), "sha256": (str, True)},
    "tokenizer": {
        "class_name": (str, False),
        "arguments": (dict, False),
        "files": (dict, False),
    },
    "task": {"name": (str, True), "options": (dict, False)},
}
PARTS = (
    {"preset": (str, True), "sha256": (str, True)},
    {"family": (str, True), "backbone": (dict, True), "tokenizer": (dict, False)},
)
POOLINGS = ("pooled", "cls", "mean", "compare")


def check_record(record):
    """Checks that a record has all required fields, and the type of every field.

    The values of `defaults`, those for fine-tuning, are checked as well.

    Args:
        record: what a `preset.json` holds, any plain value.

    Raises:
        ValueError: if a field is wrong. The message names it.
    """
    _check(record, FIELDS, "the record")
    for name, fields in OBJECTS.items():
        if record.get(name):
            _check(record[name], fields, f"`{name}`")
    files = (record.get("tokenizer") or {}).get("files") or {}
    for name, checksum in files.items():
        _check_type(checksum, str, f"`tokenizer.files.{name}`", required=False)
    for name, part in (record.get("parts") or {}).items():
        named = isinstance(part, dict) and "preset" in part
        _check(part, PARTS[0 if named else 1], f"`parts.{name}`")
    check_defaults(record.get("defaults") or {})


def check_defaults(defaults, where="defaults"):
    """Checks the defaults for fine-tuning, dict, see `check_record`.

    `tasks` in it is a dict of the names of tasks to such dicts.
    """
    for name, value in defaults.items():
        _check_default(f"{where}.{name}", value)
    for name, values in (defaults.get("tasks") or {}).items():
        _check_type(values, dict, f"`{where}.tasks.{name}`")
        check_defaults(values, f"{where}.tasks.{name}")


def _check(values, fields, where):
    """Checks an object and the types of its fields."""
    _check_type(values, dict, where)
    missing = [name for name, (_, required) in fields.items() if required]
    missing = [name for name in missing if name not in values]
    if missing:
        raise ValueError(f"{where} lacks {', '.join(missing)}")
    for name, (kind, required) in fields.items():
        inside = "" if where == "the record" else where.strip("`") + "."
        _check_type(values.get(name), kind, f"`{inside}{name}`", required)


def _check_type(value, kind, where, required=True):
    """Checks one value. None is valid if the field is not required."""
    if value is None and not required:
        return
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ValueError(
            f"{where} must be {WORDS[kind]}. Received: {reprlib.repr(value)}"
        )


def _check_default(where, value):
    """Checks one default for fine-tuning. None, and a name of later versions, pass."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    positive = number and 0 < value < math.inf
    rules = {
        "learning_rate": (positive, "a positive number"),
        "head_multiplier": (positive, "a positive number"),
        "epochs": (positive and isinstance(value, int), "a positive integer"),
        "pooling": (value in POOLINGS, f"one of {', '.join(POOLINGS)}"),
        "tasks": (isinstance(value, dict), WORDS[dict]),
    }
    fits, words = rules.get(where.rpartition(".")[2], (True, ""))
    if value is not None and not fits:
        raise ValueError(f"`{where}` must be {words}. Received: {reprlib.repr(value)}")
