"""Reads YAML files that hold one object of plain values and of lists of them."""

import json
import re

SPECIAL = {"true": True, "false": False, "null": None, "~": None, "": None, "[]": []}
NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?")
QUOTED = r"""\"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'"""
PLAIN = r"""[^\s'"\[\]{}#&*!|>%@-].*?|-\S.*?"""
# Of lines without white space at their ends: a search for it takes long in long lines.
ENTRY = re.compile(rf"({QUOTED}|{PLAIN}):(?:\s+(.*))?")
ITEM = re.compile(r"-\s+(.*)")


def read_flat_yaml(text, where):
    """Reads one object of plain values, and of lists of them, as a dict.

    Tags, anchors and objects in objects are refused, and a key that occurs twice: the
    ValueError names the line, and `where`, what the text is.
    """
    found, last = {}, None
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), start=1):
        if not line.strip() or line.lstrip().startswith("#") or line == "---":
            continue
        try:
            entry = ENTRY.fullmatch(line.rstrip())
            if entry:
                last = _scalar(entry[1], key=True)
                if last in found:
                    raise ValueError(f"the key {last!r} occurs twice")
                found[last] = _scalar(entry[2] or "")
                continue
            item = ITEM.fullmatch(line.strip())
            empty = line.strip() == "[]"
            if last is None or not (item or empty):
                raise ValueError("it is neither `key: value` nor an item of a list")
            if found[last] is None:
                found[last] = []
            if not isinstance(found[last], list):
                raise ValueError(f"{last!r} has a value already")
            if item:
                found[last].append(_scalar(item[1]))
        except ValueError as error:
            raise ValueError(
                f"{where} must be YAML with one object of plain values. Received: "
                f"line {number}, {line[:60]!r}: {error}."
            ) from error
    return found


def _scalar(text, key=False):
    """A plain value; a key is always a str."""
    if text[:1] == '"':
        return json.loads(re.sub(r"\\x([0-9a-fA-F]{2})", r"\\u00\1", text))
    if text[:1] == "'":
        if not re.fullmatch(r"'(?:[^']|'')*'", text):
            raise ValueError("a quotation mark is missing")
        return text[1:-1].replace("''", "'")
    if key:
        return text
    if text.lower() in SPECIAL:
        value = SPECIAL[text.lower()]
        return [] if value == [] else value
    if NUMBER.fullmatch(text):
        return int(text) if re.fullmatch(r"[-+]?\d+", text) else float(text)
    if re.fullmatch(r"\[[^\[\]]*\]", text):
        return [_scalar(part.strip()) for part in text[1:-1].split(",")]
    if text[0] in "[]{}&*!|>%@`" or text.startswith("- "):
        raise ValueError("values of this form are not supported")
    return text
