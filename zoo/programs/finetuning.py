"""Fine-tunes a preset on a file, and loads models, for the command line."""

import os

from zoo import registry
from zoo.data import hash_split
from zoo.tasks import Task, TextClassifier, find_task
from zoo.training import finetuning_optimizer

EPOCHS = 3  # for presets that have no number of epochs


def run(
    preset,
    data,
    valid=None,
    task=None,
    epochs=None,
    batch_size=32,
    learning_rate=None,
    layer_decay=1.0,
    seed=0,
    columns=None,
    **options,
):
    """Fine-tunes a preset on a file of labelled texts.

    Args:
        preset: see `zoo.from_preset`.
        data: path of the labelled texts, which `read` of the task reads.
        valid: the same for validation; by default a tenth of `data`, chosen by a hash.
        task: name of a task for labelled rows; by default "text_classifier".
        epochs: int; by default that of the preset, or 3.
        batch_size: int, rows.
        learning_rate: float, the peak; by default that of the preset or its family.
        layer_decay: float, see `zoo.training.finetuning_optimizer`.
        seed: int, of the weights of the head, the order of the rows, and dropout.
        columns: dict of text_column, pair_column and label_column, for `read`.
        **options: arguments of `zoo.from_preset`; None means the default.

    Returns:
        The trained task.
    """
    options = {key: value for key, value in options.items() if value is not None}
    kind = trainable_task(task or TextClassifier.task_name)
    rows, train, held_out = _read_files(kind, data, valid, columns or {})
    options |= kind.data_options(rows[1])
    model = registry.from_preset(preset, kind.task_name, seed=seed, **options)
    defaults = model.backbone.defaults
    if learning_rate is None:
        family = registry.FAMILIES[model.backbone.family]
        learning_rate = defaults.get("learning_rate") or family.learning_rate
    epochs = epochs or defaults.get("epochs") or EPOCHS
    model.compile(
        finetuning_optimizer(
            model.backbone,
            len(train[1]),
            epochs,
            batch_size,
            learning_rate,
            layer_decay=layer_decay,
        )
    )
    model.fit(
        train[0],
        model.parse_labels(train[1]),
        batch_size=batch_size,
        epochs=epochs,
        validation_data=(held_out[0], model.parse_labels(held_out[1])),
        seed=seed,
    )
    return model


def _read_files(kind, data, valid, columns):
    """All rows of `data`, and the rows for training and for validation."""
    rows = kind.read(data, **columns)
    train, held_out = (rows, kind.read(valid, **columns)) if valid else split_off(*rows)
    return rows, train, held_out


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


def split_off(texts, labels):
    """Splits rows by a hash: nine tenths for training, one tenth for validation."""
    first = texts[0] if isinstance(texts, tuple) else texts
    whole = [text if isinstance(text, str) else " ".join(text) for text in first]
    split = hash_split(whole, [("valid", 0.1), ("train", 0.9)])
    if not split["valid"]:  # possible with few rows
        split = {"train": split["train"][:-1], "valid": split["train"][-1:]}
    if not split["train"]:
        raise ValueError(
            "There must be a row for training and one for validation. Received: "
            f"{len(whole)} rows. Give more rows, or a file for validation."
        )
    return [take(texts, labels, split[name]) for name in ("train", "valid")]


def take(texts, labels, rows):
    """The chosen rows of the texts (for pairs, of both columns) and of the labels."""
    if isinstance(texts, tuple):
        return tuple([column[r] for r in rows] for column in texts), [
            labels[r] for r in rows
        ]
    return [texts[r] for r in rows], [labels[r] for r in rows]


def load(model, task="auto"):
    """Loads a task from a `.keras` file, a preset name or a directory.

    Raises:
        ValueError: if only a backbone was saved, and no task was named.
    """
    if os.fspath(model).endswith(".keras"):
        return registry.load_model(model)
    loaded = registry.from_preset(model, task=task)
    if not isinstance(loaded, Task):
        raise ValueError(
            f"The model must have a task. Received: {model}, which is a backbone "
            "only. Fine-tune it first, or name a task for `zoo export` with `--task`."
        )
    return loaded


def split_pairs(rows):
    """Splits lines `a<TAB>b` into two lists, a tuple.

    Raises:
        ValueError: if a line has no tab.
    """
    pairs = [row.split("\t", 1) for row in rows]
    wrong = [row for row in pairs if len(row) != 2]
    if wrong:
        raise ValueError(
            "A pair must be two texts with a tab between them. Received: "
            f"{wrong[0][0][:80]!r}."
        )
    return tuple(map(list, zip(*pairs, strict=True)))
