"""Reads a preset directory and checks it before a model is built."""

import dataclasses

from zoo.backbone.config import LARGEST_OPTION, check_labels, check_options, make_config
from zoo.family import check_size
from zoo.registry.building import reading
from zoo.registry.sources import (
    choose_layout,
    find_family,
    read_foreign,
    read_own,
    tokenizer_classes,
)
from zoo.registry.unsupported import nothing_to_read

# For a family without `shapes`, sizes up to this need no stored weights of that size.
COMMON_SIZE = 10**6
LONGEST_ROW = 10**5  # most tokens of a row and characters of a word


def read_source(directory, layout=None, file=None, languages=None):
    """Reads a directory of any layout.

    Args:
        directory: pathlib.Path.
        layout: str, the layout to read if the directory has several.
        file: str, the name of the checkpoint to read if the directory has several.
        languages: pair of str, see `zoo.from_preset`.

    Returns:
        `Source`, whose values were checked as far as possible without building the
        model.

    Raises:
        FileNotFoundError: if no family can read the directory.
        ValueError: if files are damaged or do not fit each other, or if there is no
            such layout or checkpoint.
    """
    found = choose_layout(directory, layout)
    if found is None:
        raise nothing_to_read(directory)
    family, chosen = found
    if chosen is not None:
        with reading(directory, None):
            source = read_foreign(directory, family, chosen, file, languages)
    else:
        for name, value in (("file", file), ("languages", languages)):
            if value is not None:
                raise ValueError(
                    f"`{name}` must be None for a preset of the layout zoo. Received: "
                    f"{value!r} for {directory}. Omit it."
                )
        source = read_own(directory)
    check_source(source)
    return source


def check_source(source):
    """Checks sizes and labels of a preset.

    Raises:
        ValueError: if one is wrong. The message names the file and the field.
    """
    prefixes = tuple(f"{name}/" for name in source.parts)
    own = [a.size for k, a in source.weights.items() if not k.startswith(prefixes)]
    stored = sum(own) if own else None
    _check_config(source, "backbone", source.family, source.config, stored)
    for name, record in source.parts.items():
        if "preset" in record:
            continue
        field = f"parts.{name}"
        with reading(source.path, field):
            family = find_family(record["family"])
        sizes = [a.size for k, a in source.weights.items() if k.startswith(f"{name}/")]
        held = sum(sizes) if sizes else None
        _check_config(source, f"{field}.backbone", family, record["backbone"], held)
    _check_options(source, stored)


def _check_config(source, field, family, values, stored):
    """Checks a config, and compares its size with the number of stored values."""
    where = f"`{field}` of {source.path}"
    config = make_config(family.backbone.config_class, values, where)
    if family.shapes:
        with reading(source.path, field):
            check_size(family.shapes(config), where, stored)
        return
    most = COMMON_SIZE if stored is None else max(stored, COMMON_SIZE)
    for name, value in dataclasses.asdict(config).items():
        if isinstance(value, int) and value > most:
            raise ValueError(
                f"`{name}` of {where} must be at most {most}. Received: {value}."
            )


def _check_options(source, stored):
    """Checks the arguments of the saved task and of the tokenizer."""
    if source.task is not None:
        where = f"`task.options` of {source.path}"
        # No size of a head exceeds the number of stored values.
        most = LARGEST_OPTION if stored is None else max(stored, LONGEST_ROW)
        check_options(source.task.__init__, source.task_options, where, most)
        check_labels(source.task_options.get("labels"), where, stored or most)
    description = source.tokenizer or {}
    for kind in tokenizer_classes(source.family):
        if kind.__name__ == description.get("class_name"):
            where = f"`tokenizer.arguments` of {source.path}"
            arguments = description.get("arguments") or {}
            check_options(kind.__init__, arguments, where, LONGEST_ROW)
