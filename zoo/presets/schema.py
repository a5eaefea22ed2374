"""Checks the fields of a preset record, before any of them is used."""

import math
import reprlib
import types

from zoo.files.state_files import TYPE_NAMES, check_shape

FORMAT = 2
TOKENIZER = {
    "class_name?": str,
    "arguments?": dict,
    "files?": {str: (str, types.NoneType)},
}
# What a record holds, see `zoo.files.state_files.check_shape`.
SHAPE = {
    "family": str,
    "backbone": dict,
    "parameters?": int,
    "weights?": {"file": str, "sha256": str},
    "tokenizer?": TOKENIZER,
    "task?": {"name": str, "options?": dict},
    "head_options?": dict,
    "parts?": dict,
    "defaults?": dict,
    "quantized?": dict,
}
NAMED_PART = {"preset": str, "sha256": str}
UNNAMED_PART = {"family": str, "backbone": dict, "tokenizer?": dict}
POOLINGS = ("pooled", "cls", "mean", "compare", "separate")


def check_record(record):
    """Checks fields and types, also in `defaults`; ValueError names a wrong one."""
    check_shape(record, SHAPE, "the record")
    for name, part in (record.get("parts") or {}).items():
        named = isinstance(part, dict) and "preset" in part
        check_shape(part, NAMED_PART if named else UNNAMED_PART, f"`parts.{name}`")
    check_defaults(record.get("defaults") or {})


def check_defaults(defaults, where="defaults"):
    """Checks defaults for fine-tuning, and those of each task in `tasks`."""
    for name, value in defaults.items():
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        positive = number and 0 < value < math.inf
        pooling = value in POOLINGS, f"one of {', '.join(POOLINGS)}"
        rules = {
            "learning_rate": (positive, "a positive number"),
            "head_multiplier": (positive, "a positive number"),
            "epochs": (positive and isinstance(value, int), "a positive integer"),
            "pooling": pooling,
            "pair_pooling": pooling,
            "tasks": (isinstance(value, dict), TYPE_NAMES[dict]),
        }
        fits, words = rules.get(name, (True, ""))  # a name of later versions passes
        if value is not None and not fits:
            received = reprlib.repr(value)
            raise ValueError(f"`{where}.{name}` must be {words}. Received: {received}")
    for name, values in (defaults.get("tasks") or {}).items():
        check_shape(values, dict, f"`{where}.tasks.{name}`")
        check_defaults(values, f"{where}.tasks.{name}")
