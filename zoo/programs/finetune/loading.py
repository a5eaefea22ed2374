"""Loads models and finds tasks, for the command line."""

import os

from zoo import registry
from zoo.presets import find_preset
from zoo.tasks import Task, TextClassifier, TextEnsemble, find_task
from zoo.tasks.classifiers.ensemble import ensemble_error, find_members


def default_task(preset):
    """The class of the preset's task if `read` is defined, else `TextClassifier`."""
    saved = registry.saved_task(preset)
    return saved if saved and saved.read else TextClassifier


def trainable_task(name):
    """The class of a task that is trained on labelled rows of a file.

    Raises:
        ValueError: if no such task has this name.
    """
    kind = find_task(name)
    if kind.read is None:
        raise ValueError(
            "`task` must be one that is trained on labelled rows: "
            f"{', '.join(trainable_tasks())}. Received: {name!r}."
        )
    return kind


def trainable_tasks():
    """Names of the tasks that are trained on labelled rows, list of str."""
    return [name for name, kind in registry.TASKS.items() if kind.read is not None]


def load_one(preset, task="auto", **options):
    """Loads a preset that is one model.

    Args:
        preset, task, **options: of `zoo.from_preset`.

    Raises:
        ValueError: if the preset is an ensemble; also see `zoo.from_preset`.
    """
    if find_members(find_preset(preset)):
        raise ensemble_error(preset)
    return registry.from_preset(preset, task, **options)


def load(model, task="auto"):
    """Loads a task from a `.keras` file, a preset name or a directory.

    Raises:
        ValueError: if only a backbone was saved, and no task was named, or a file has
            another task than the named one.
    """
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
