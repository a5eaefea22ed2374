"""Rows of texts and labels: read from files, split and chosen."""

import dataclasses
import os

import numpy as np

from zoo.checks.ranges import CheckedFields
from zoo.data import hash_split
from zoo.data.files.labelled_tables import hash_place
from zoo.data.held_out import held_out_rows

# Options of `read` and the tasks that have them.
READ_OPTIONS = {
    "documents": "tags words",
    "skip_empty_words": "tags words",
    "separator": "classifies texts",
}


@dataclasses.dataclass(frozen=True)
class RowFiles(CheckedFields):
    """The files of a fine-tuning, which have labelled texts.

    Args:
        data, valid: paths, which `read` of the task's files reads; by default a tenth
            of `data`, chosen by a hash, is for validation.
        target, valid_target: paths of the targets, for tasks that write texts, if
            `data` and `valid` have the sources only.
        columns: dict of text_column, pair_column and label_column, for `read`.
    """

    data: str | os.PathLike
    valid: str | os.PathLike | None = None
    target: str | os.PathLike | None = None
    valid_target: str | os.PathLike | None = None
    columns: dict = dataclasses.field(default_factory=dict)

    def paths(self):
        """The paths that are given, dict of str by what a report calls them."""
        names = ("data", "targets", "validation data", "validation targets")
        paths = (self.data, self.target, self.valid, self.valid_target)
        found = zip(names, paths, strict=True)
        return {name: os.fspath(path) for name, path in found if path}


def read_rows(kind, path, target=None, **columns):
    """Reads rows for a task from a file, or from one of sources and one of targets.

    `kind` is the class of the task, and `columns` are options of `kind.files.read`.
    """
    for option, what in READ_OPTIONS.items():
        if columns.get(option) and option not in kind.files.read_options:
            raise ValueError(
                f"Only a task that {what} has `{option}`. Received: {option}="
                f"{columns[option]!r} for task {kind.task_name!r}. Leave it out."
            )
    if not target:
        return kind.files.read(path, **columns)
    if not kind.files.takes_target_file:
        raise ValueError(
            "Only a task that writes texts has its targets in a second file. Received: "
            f"target {target} for task {kind.task_name!r}. Leave it out, or name "
            "another task with `--task`."
        )
    return kind.files.read(path, target=target, **columns)


def read_parts(kind, files):
    """Reads rows for training and for validation.

    Args:
        kind: class of the task.
        files: `RowFiles`.

    Returns:
        list of all labels of `data`, and dict of "training" and "validation" to texts
        and labels.
    """
    if files.valid_target and not files.valid:
        raise ValueError(
            "`--valid-target` needs `--valid`, the file of the sources. Received: only "
            f"--valid-target {files.valid_target}. Give both."
        )
    rows = read_rows(kind, files.data, files.target, **files.columns)
    if files.valid:
        held_out = read_rows(kind, files.valid, files.valid_target, **files.columns)
        chosen = rows, held_out
    else:
        found = kind.files.for_rows(rows[1], files.columns)
        chosen = split_off(*rows, found.split_column, found.stratified)
    return rows[1], dict(zip(("training", "validation"), chosen, strict=True))


def split_off(texts, labels, column=0, stratified=False):
    """Splits rows by a hash: nine tenths for training, one tenth for validation.

    Args:
        texts: list, or a tuple of columns.
        labels: list.
        column: int, that of the hash. Rows with the same text in it are together.
        stratified: bool, whether every label has its share of the validation, see
            `zoo.data.held_out.held_out_rows`.
    """
    chosen = texts[column] if isinstance(texts, tuple) else texts
    whole = [text if isinstance(text, str) else " ".join(text) for text in chosen]
    if stratified:
        split = _split_by_label(whole, labels)
    else:
        split = hash_split(whole, [("valid", 0.1), ("train", 0.9)])
    if not split["valid"]:  # possible with few rows
        split = {"train": split["train"][:-1], "valid": split["train"][-1:]}
    elif not split["train"]:
        split = {"train": split["valid"][:-1], "valid": split["valid"][-1:]}
    if not split["train"]:
        raise ValueError(
            "There must be a row for training and one for validation. Received: "
            f"{len(whole)} rows. Give more rows, or a file for validation."
        )
    return [take(texts, labels, split[name]) for name in ("train", "valid")]


def _split_by_label(texts, labels):
    """Row numbers "train" and "valid"; of each label, the lowest hashes are "valid"."""
    first = {}
    for row, text in enumerate(texts):
        first.setdefault(text, row)
    count = min(max(round(len(first) / 10), 1), len(first) - 1)
    classes, places = [labels[row] for row in first.values()], map(hash_place, first)
    chosen = {*held_out_rows(classes, count, [*places])} if count else {}
    valid = {text for number, text in enumerate(first) if number in chosen}
    return {
        name: [row for row, text in enumerate(texts) if (text in valid) == held_out]
        for name, held_out in (("train", False), ("valid", True))
    }


def columns_of(texts):
    """The columns of texts, a tuple of lists; texts of one column are a list."""
    return texts if isinstance(texts, tuple) else (texts,)


def take(texts, labels, rows):
    """The chosen rows of the texts (for pairs, of both columns) and of the labels."""
    taken = tuple([column[row] for row in rows] for column in columns_of(texts))
    chosen = [labels[row] for row in rows]
    return taken if isinstance(texts, tuple) else taken[0], chosen


def draw_rows(texts, labels, rows):
    """At most so many rows, always the same ones; all if `rows` is None."""
    if rows is None or rows >= len(labels):
        return texts, labels
    order = np.random.default_rng(0).permutation(len(labels))[:rows]
    return take(texts, labels, order.tolist())


def split_columns(rows, count):
    """Splits lines at tabs into columns of text; one column is returned as it is."""
    if count == 1:
        return rows
    cells = [row.split("\t") for row in rows]
    wrong = [row for row, found in zip(rows, cells, strict=True) if len(found) != count]
    if wrong:
        raise ValueError(
            f"Each line must have {count} texts, separated by tabs. Received: "
            f"{wrong[0][:80]!r}."
        )
    return tuple(map(list, zip(*cells, strict=True))) or ([],) * count
