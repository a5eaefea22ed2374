"""Reads a preset directory and checks it before a model is built."""

import collections
import dataclasses

from zoo.backbone.config import LARGEST_OPTION, check_labels, check_options, make_config
from zoo.backbone.saving import top
from zoo.backbone.weight_shapes import find_shapes
from zoo.checks.ranges import annotations, fits
from zoo.family import check_size
from zoo.presets import preset_info
from zoo.registry.building import reading
from zoo.registry.sources import (
    choose_layout,
    find_family,
    read_foreign,
    read_own,
    tokenizer_classes,
)
from zoo.registry.unsupported import nothing_to_read

# The largest integer of a config that declares no range, where no weights are stored.
MAX_PLAIN_SIZE = 10**6
LONGEST_ROW = 10**5  # most tokens of a row and characters of a word


def read_source(directory, layout=None, file=None, languages=None):
    """Reads a directory of any layout as a `Source`, checked before any model is built.

    `layout`, `file` and `languages` are as in `zoo.from_preset`. FileNotFoundError if
    no family can read the directory; ValueError if files are damaged or do not fit each
    other, or there is no such layout or checkpoint.
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
    """Checks sizes and labels of a preset; ValueError names the file and the field."""
    sizes, parts = collections.Counter(), {}
    for path, array in source.weights.items():
        sizes[top(path)] += array.size
    for name, record in source.parts.items():
        with reading(source.path, f"parts.{name}"):
            if "preset" in record:
                record = preset_info(record["preset"])
            family = find_family(record["family"])
        field, stored = f"parts.{name}.backbone", sizes.pop(name, None)
        parts[name] = _check_model(source, field, family, record["backbone"], stored)
    stored = sum(sizes.values()) or None
    _check_model(source, "backbone", source.family, source.config, stored, parts)
    _check_options(source, stored)


def _check_model(source, field, family, values, stored, parts=None):
    """Checks a config; returns a function that makes the model.

    `field` is that of the record which holds the config, `values`. `stored` is how many
    values are stored, or None. `parts` has the function that makes each part.
    """
    where, parts = f"`{field}` of {source.path}", parts or {}
    config = make_config(family.backbone.config_class, values, where)
    most, kinds = max(stored or 0, MAX_PLAIN_SIZE), annotations(type(config))
    for name, value in dataclasses.asdict(config).items():
        # Only a field that declares no range admits negative integers.
        if type(value) is int and value > most and fits(-value, kinds[name]):
            raise ValueError(
                f"`{name}` of {where} must be at most {most}. Received: {value}."
            )

    def make():
        made = {name: make_part() for name, make_part in parts.items()}
        return family.backbone(config, parts=made)

    with reading(source.path, field):
        shapes = find_shapes(make)
        backbone_shapes = {
            path: shape for path, shape in shapes.items() if top(path) not in parts
        }
        check_size(backbone_shapes, where, stored)
    return make


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
