"""Texts as they are shown: on one line, and without control characters."""

import os
import reprlib
import unicodedata
from types import NoneType

from zoo.checks.ranges import plain_value
from zoo.files.buckets import local_path


def to_text(value):
    """A str, a number as str, or "" for None; TypeError for anything else."""
    value = plain_value(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if not isinstance(value, (str, int, float, NoneType)):
        raise TypeError(
            f"A name, label or title must be a str. Received: {reprlib.repr(value)}."
        )
    return "" if value is None else str(value)


def to_path(path, name="path"):
    """A path; raises TypeError for what is none."""
    if not isinstance(path, (str, os.PathLike)) or not os.fspath(path):
        raise TypeError(f"`{name}` must be a str or a path. Received: {path!r:.80}.")
    return local_path(path)


def printable(text, limit=None):
    """A text on one line; what is longer than `limit` ends with its length."""
    size = len(text)
    if limit is not None and size > limit:
        text = text[:limit]
    text = "".join(map(_visible, text))
    shortened = limit is not None and size > limit
    return f"{text}… ({size:,} characters)" if shortened else text


def _visible(character):
    category = unicodedata.category(character)
    if category in ("Zl", "Zp") or category == "Cc" and character.isspace():
        return " "
    # Control characters, halves of a surrogate pair, which UTF-8 cannot encode, and the
    # two others that XML forbids.
    bad = category in ("Cc", "Cs") or character in "\ufffe\uffff"
    return "\ufffd" if bad else character
