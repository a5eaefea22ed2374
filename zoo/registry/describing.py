"""Describes a preset without its weights."""

import os

from zoo.backbone.saving import top
from zoo.presets import find_preset, list_presets, preset_info
from zoo.registry.building import task_arguments
from zoo.registry.checking import read_source
from zoo.registry.from_preset import build_model
from zoo.registry.keras_files import KERAS_SUFFIX, saved_class
from zoo.tasks import Task
from zoo.tasks.classifiers.ensemble import ensemble_error, find_members


def describe(preset, layout=None, file=None, languages=None):
    """Describes what `from_preset` would load. It downloads nothing.

    Args:
        preset, layout, file, languages: see `zoo.from_preset`, also for errors. The
            files of a URI must be on this machine.

    Returns:
        dict of plain values: family, layout, config, parameters, tokenizer, task and
        heads; of an ensemble, members, a list of them. For the name of a preset, also
        the fields of its record. If its files are not on this machine, the fields of
        the record only.
    """
    named = not os.path.isdir(preset) and os.fspath(preset) in list_presets()
    record = preset_info(os.fspath(preset)) if named else {}
    directory = find_preset(preset, fetch=False)
    if directory is None:
        return record
    if members := find_members(directory):
        return {**record, "members": [describe(path) for path in members]}
    source = read_source(directory, layout, file, languages)
    model = build_model(source)  # raises what `from_preset` raises
    backbone = model if source.task is None else model.backbone
    layers, tokenizer = {top(path) for path in source.weights}, backbone.tokenizer
    if tokenizer is not None:
        tokenizer = {
            "class_name": type(tokenizer).__name__,
            "arguments": tokenizer.to_files()[0],
            "tokens": tokenizer.vocabulary_size,
        }
    described = {
        "family": source.family.name,
        "layout": source.layout,
        "config": source.config,
        "parameters": int(sum(array.size for array in source.weights.values())),
        "tokenizer": tokenizer,
        "task": None,
        "heads": [h for h, layer in source.family.heads.items() if layer in layers],
    }
    if source.task is not None:
        accepted = task_arguments(source.task)
        options = {k: v for k, v in source.task_options.items() if k in accepted}
        described["task"] = {"name": source.task.task_name, "options": options}
    return {**record, **described}


def saved_task(preset):
    """The task class that was saved with a preset, or of a converted one; else None.

    `preset` may also be a `.keras` file. Errors are those of `zoo.from_preset` and of
    `zoo.load_model`; also ValueError for an ensemble.
    """
    if os.fspath(preset).endswith(KERAS_SUFFIX):
        kind = saved_class(preset)
        return kind if isinstance(kind, type) and issubclass(kind, Task) else None
    directory = find_preset(preset)
    if find_members(directory):
        raise ensemble_error(preset)
    return read_source(directory).task
