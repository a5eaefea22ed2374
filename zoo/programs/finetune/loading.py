"""Loads models and finds tasks, for the command line."""

import os

import keras
import numpy as np

from zoo import registry
from zoo.presets import find_preset
from zoo.tasks import Task, TextClassifier, TextEnsemble, find_task
from zoo.tasks.classifiers.ensemble import ensemble_error, find_members

# Options that follow from the rows, and may be others than those of a trained model.
OPTIONS_OF_ROWS = ("separator", "null_threshold")


def default_task(preset):
    """The class of the preset's task if it reads files, else `TextClassifier`."""
    saved = registry.saved_task(preset)
    return saved if saved and saved.files.read else TextClassifier


def trainable_task(name):
    """The class of a task that is trained on labelled rows of a file."""
    kind = find_task(name)
    check_trainable(kind)
    return kind


def check_trainable(task):
    """Raises ValueError unless a task is trained on labelled rows of a file."""
    if task.files.read is None:
        names = [name for name, kind in registry.TASKS.items() if kind.files.read]
        raise ValueError(
            "The task must be one that is trained on labelled rows: "
            f"{', '.join(names)}. Received: {task.task_name!r}."
        )


def load_one(preset, task="auto", **options):
    """Loads a preset with `zoo.from_preset`, or goes on with a `.keras` file.

    ValueError if it is an ensemble, or if the file has other options or labels.
    """
    if os.fspath(preset).endswith(".keras"):
        return load_trained(preset, task, **options)
    if find_members(find_preset(preset)):
        raise ensemble_error(preset)
    return registry.from_preset(preset, task, **options)


def load_trained(path, task, seed=None, labels=None, new_labels=False, **options):
    """Loads a trained task from a `.keras` file, to train it on more rows.

    Args:
        path: of the file.
        task: str, the name of the task that is wanted.
        seed: int, of dropout, or None.
        labels: list of str, those of the rows, or None.
        new_labels: bool, whether the model gets the labels that it lacks. They are
            after its own, with random weights.
        **options: of the task; they must be those of the file. None is any.

    Raises:
        ValueError: if the file has another task, other options, or not all labels.
    """
    model = load(path)
    if isinstance(model, TextEnsemble):
        raise ensemble_error(path)
    if task not in ("auto", model.task_name):
        raise ValueError(
            f"The task of a file must be its own, {model.task_name!r}. Received: "
            f"{task!r} for {path}. Leave the task out, or name a preset."
        )
    if seed is not None:
        keras.utils.set_random_seed(seed)
    known = model.preset_record()["options"]
    for name, value in options.items():
        saved = known.get(name, False)
        if value not in (None, saved) and name not in OPTIONS_OF_ROWS:
            raise ValueError(
                f"A trained model keeps its options. Received: {name}={value!r} for "
                f"{path}, which has {saved!r}. Leave it out, or name a preset."
            )
    added = [name for name in labels or () if name not in (model.labels or labels)]
    if added and not new_labels:
        raise ValueError(
            f"The rows must have labels of {path}. Received: {added[:5]}. Its labels "
            f"are {list(model.labels)}. To add labels, use `--new-labels`."
        )
    return with_labels(model, added) if added else model


def with_labels(model, added):
    """A task with more labels, and the weights of another one for its own labels."""
    options = {**model.options, "labels": [*model.labels, *added], "pair": model.pair}
    if not model.optional_columns:
        del options["pair"]
    options = {k: v for k, v in options.items() if k not in ("threshold", "pos_weight")}
    arguments = {"sequence_length": model.sequence_length, **options}
    larger = type(model)(model.backbone, model.tokenizer, **arguments)
    for name in larger.new_heads:
        old, new = model.get_layer(name), larger.get_layer(name)
        pairs = zip(old.get_weights(), new.get_weights(), strict=True)
        weights = [(known, np.array(random)) for known, random in pairs]
        for known, random in weights:  # some axes of which are longer
            random[tuple(slice(0, size) for size in known.shape)] = known
        new.set_weights([random for _, random in weights])
    return larger


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
