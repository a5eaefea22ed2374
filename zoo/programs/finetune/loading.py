"""Loads models and finds tasks, for the command line."""

import os

from zoo import registry
from zoo.presets import find_preset
from zoo.tasks import Task, TextClassifier, TextEnsemble, find_task
from zoo.tasks.classifiers.ensemble import ensemble_error, find_members


def default_task(preset):
    """The class of the preset's task if it reads files, else `TextClassifier`."""
    saved = registry.saved_task(preset)
    return saved if saved and saved.files.read else TextClassifier


def trainable_task(name):
    """The class of a task that is trained on labelled rows of a file."""
    kind = find_task(name)
    if kind.files.read is None:
        names = [name for name, task in registry.TASKS.items() if task.files.read]
        raise ValueError(
            "`task` must be one that is trained on labelled rows: "
            f"{', '.join(names)}. Received: {name!r}."
        )
    return kind


def load_one(preset, task="auto", **options):
    """Loads a preset with `zoo.from_preset`; ValueError if it is an ensemble."""
    if find_members(find_preset(preset)):
        raise ensemble_error(preset)
    return registry.from_preset(preset, task, **options)


def load(model, task="auto"):
    """Loads a task from a `.keras` file, a preset name or a directory."""
    if os.fspath(model).endswith(".keras"):
        loaded = registry.load_model(model)
    else:
        loaded = registry.from_preset(model, task=task)
    if not isinstance(loaded, (Task, TextEnsemble)):
        raise ValueError(
            f"The model must have a task. Received: {model}, which is a backbone "
            "only. Fine-tune it first, or name a task for `zoo export` with `--task`."
        )
    if task not in ("auto", loaded.task_name):  # of a `.keras` file
        raise ValueError(
            f"The task of a file must be its own, {loaded.task_name!r}. Received: "
            f"{task!r} for {model}. Leave the task out, or name a preset."
        )
    return loaded
