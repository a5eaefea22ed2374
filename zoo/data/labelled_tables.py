"""Labelled texts from tables, and splits that never change."""

import csv
import hashlib
import math
import pathlib

from zoo.files import open_any

TEXT_NAMES = ("text", "sentence", "review", "sentence1", "question1", "premise")
PAIR_NAMES = ("text_pair", "sentence2", "question2", "hypothesis")
LARGEST = 3.4e38  # of a float32, nearly
LABEL_NAMES = ("label", "class", "sentiment", "score")


def read_labelled(path):
    """Reads texts and labels from a TSV or CSV file, plain, `.gz` or `.xz`.

    With a header, the columns are called text (or sentence, review, ...), label (or
    class, ...) and for pairs text_pair (or sentence2, ...). Without one, there are
    two columns, and the one with fewer different values is the label. In TSV, quotes
    are ordinary characters.

    Args:
        path: str or path, ending in .tsv, .csv, .tsv.gz, ...

    Returns:
        texts, list of str, or for pairs a tuple of two lists; labels, list of str.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if the columns cannot be told, or a line has too few of them or
            no label.
    """
    path = pathlib.Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"No such file: {path}.")
    comma = ".csv" in path.suffixes
    options = {} if comma else {"delimiter": "\t", "quoting": csv.QUOTE_NONE}
    with open_any(path, "rt", encoding="utf-8-sig", newline="") as file:
        rows = [row for row in csv.reader(file, **options) if row]
    columns = _columns(path, rows)
    body = rows[1:] if columns.pop("header") else rows
    wanted = max(columns.values())
    for number, row in enumerate(body, start=1):
        if len(row) <= wanted:
            raise ValueError(
                f"Every line of {path} must have {wanted + 1} columns. Received: "
                f"{len(row)} in row {number}: {str(row)[:80]}."
            )
        if not row[columns["label"]].strip():
            raise ValueError(
                f"Every row of {path} must have a label. Received: none in row "
                f"{number}: {str(row)[:80]}. Fill it in, or remove the row."
            )
    texts = [row[columns["text"]] for row in body]
    if "pair" in columns:
        texts = (texts, [row[columns["pair"]] for row in body])
    return texts, [row[columns["label"]] for row in body]


def _columns(path, rows):
    """Numbers of the columns text, label and perhaps pair, and whether a header."""
    names = [name.strip().lower() for name in rows[0]] if rows else []
    found = {"header": True}
    for role, known in (
        ("text", TEXT_NAMES),
        ("pair", PAIR_NAMES),
        ("label", LABEL_NAMES),
    ):
        for name in known:
            if name in names and role not in found:
                found[role] = names.index(name)
    if "text" in found and "label" in found:
        return found
    if len(names) != 2:
        raise ValueError(
            f"{path} must have a header with `text` and `label`, or two columns. "
            f"Received: {len(names)} columns, beginning {names[:5]}."
        )
    distinct = [len({row[i] for row in rows if len(row) > i}) for i in (0, 1)]
    label = int(distinct[1] <= distinct[0])
    return {"header": False, "text": 1 - label, "label": label}


def hash_split(texts, parts):
    """Splits rows by a hash of their text, so that a split never changes.

    Args:
        texts: list of str (N,).
        parts: list of (name, share), the shares adding up to 1.

    Returns:
        dict of name to list of row numbers; equal texts are always together.
    """
    split = {name: [] for name, _ in parts}
    for row, text in enumerate(texts):
        digest = hashlib.sha256(text.encode("utf-8", "ignore")).digest()
        place, bound = int.from_bytes(digest[:8], "big") / 2**64, 0.0
        for name, share in parts:
            bound += share
            if place < bound or name == parts[-1][0]:
                split[name].append(row)
                break
    return split


def as_numbers(labels, source="the data"):
    """Converts labels to numbers that a regressor can be trained on.

    Args:
        labels: list of str or float.
        source: what the message calls the place where they come from.

    Returns:
        list of float.

    Raises:
        ValueError: if a label is not a number, is not finite, or is too large for
            float32.
    """
    found = []
    for row, label in enumerate(labels, start=1):
        try:
            number = float(label)
        except ValueError:
            number = math.nan
        if not abs(number) <= LARGEST:  # nor is NaN
            raise ValueError(
                f"Every label of {source} must be a finite number. Received: "
                f"{label!r:.40} in row {row}. Correct the row, or remove it."
            )
        found.append(number)
    return found
