"""Models as preset directories."""

import dataclasses

import keras
import numpy as np

from zoo.checkpoint import Converted
from zoo.family import FAMILIES
from zoo.presets import find_preset, read_preset, write_preset


def preset_variables(model):
    """A model's variables without the states of a run, which no preset holds."""
    return [v for v in model.weights if "carried_state" not in v.path]


def save_preset(backbone, task, directory, layout="zoo", dtype="float32"):
    """Writes a preset directory, whole or not at all.

    Pretraining heads that came with the preset, and that no task uses, are saved with
    a backbone and with a task that pretrains.

    Args:
        backbone: `zoo.backbone.Backbone`, with its tokenizer if it has one.
        task: `zoo.tasks.Task` on it, or None.
        directory: path; must not exist, or be empty.
        layout: "zoo", or another that the family writes, e.g. "hugging_face".
        dtype: "float32" or "float16", of the stored weights; "zoo" only.

    Raises:
        FileExistsError: if the directory holds something.
        ValueError: if the layout is unknown or cannot hold the model.
    """
    arrays = model_arrays(backbone, task)
    if task is None or task.pretrains:
        arrays = {**backbone.spare_heads, **arrays}
    task = task and task.preset_record()
    if layout != "zoo":
        _write_foreign(backbone, arrays, task, directory, layout)
        return
    record = {
        "family": backbone.family,
        "backbone": dataclasses.asdict(backbone.config),
        "parameters": int(sum(array.size for array in arrays.values())),
        "task": task,
        "head_options": backbone.head_options,
        "defaults": backbone.defaults,
    }
    if backbone.parts:
        record["parts"] = {}
        for name, part in backbone.parts.items():
            record["parts"][name], arrays = _part_record(name, part, arrays)
    files = None
    if backbone.tokenizer:
        arguments, files = backbone.tokenizer.to_files()
        kind = type(backbone.tokenizer).__name__
        record["tokenizer"] = {"class_name": kind, "arguments": arguments}
    write_preset(directory, record, arrays, files, dtype)


def model_arrays(backbone, task=None):
    """Dict of path to float32 array of what a preset of a model holds."""
    paths = backbone.variable_paths()
    return {
        paths.get(id(v), v.path): np.asarray(
            keras.ops.convert_to_numpy(v.value), "float32"
        )
        for v in preset_variables(task or backbone)
    }


def _write_foreign(backbone, arrays, task, directory, layout):
    """Writes a directory of another program."""
    layouts = {known.name: known for known in FAMILIES[backbone.family].layouts}
    writers = [name for name, known in layouts.items() if known.write]
    if layout not in writers:
        raise ValueError(
            f"`layout` must be one of {['zoo', *writers]} for family "
            f"{backbone.family!r}. Received: {layout!r}."
        )
    options = {**backbone.head_options, **(task["options"] if task else {})}
    tokenizer = backbone.tokenizer and backbone.tokenizer.get_config()
    contents = Converted(
        layout, backbone.config, arrays, tokenizer=tokenizer, options=options
    )
    layouts[layout].write(directory, contents)


def _part_record(name, part, arrays):
    """How a preset names a part, and the arrays that it stores besides.

    A part that is unchanged since it was loaded from a shipped preset is referred to
    and not stored again.
    """
    own = {k: v for k, v in arrays.items() if k.startswith(f"{name}/")}
    if part.origin:
        known = read_preset(find_preset(part.origin))
        same = all(
            np.array_equal(array, known[1].get(path.removeprefix(f"{name}/")))
            for path, array in own.items()
        )
        if same:
            record = {"preset": part.origin, "sha256": known[0]["weights"]["sha256"]}
            return record, {k: v for k, v in arrays.items() if k not in own}
    record = {"family": part.family, "backbone": dataclasses.asdict(part.config)}
    if part.tokenizer:
        kind = type(part.tokenizer).__name__
        record["tokenizer"] = {"class_name": kind, **part.tokenizer.get_config()}
    return record, arrays
