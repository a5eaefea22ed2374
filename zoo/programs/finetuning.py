"""What the command line adds to `fit`: files in, a model out."""

import os

from zoo import registry
from zoo.data import hash_split
from zoo.tasks import Task, TextClassifier, find_task
from zoo.training import finetuning_optimizer

EPOCHS = 3  # unless the preset says otherwise


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
    **options,
):
    """Fine-tunes a preset on a file of labelled texts.

    Args:
        preset: see `zoo.from_preset`.
        data: file of labelled texts, see `read` of the task.
        valid: the same for validation; by default a tenth of `data`, by hash.
        task: name of a task that is trained on labelled rows; by default
            `TextClassifier`.
        epochs: int, by default the preset's, or 3.
        batch_size: int.
        learning_rate: float, the peak; by default that of the preset or its family.
        layer_decay: float, see `zoo.training.finetuning_optimizer`.
        seed: int, of the head, the order of the rows and dropout.
        **options: of `zoo.from_preset`; None means the default.

    Returns:
        The trained task.
    """
    options = {key: value for key, value in options.items() if value is not None}
    kind = trainable_task(task or TextClassifier.task_name)
    rows = kind.read(data)
    train, held_out = (rows, kind.read(valid)) if valid else split_off(*rows)
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


def trainable_task(name):
    """The class of a task that is trained on labelled rows of a file.

    Raises:
        ValueError: if there is none of this name.
    """
    kind = find_task(name)
    if kind.read is None:
        raise ValueError(
            f"A task must learn from labelled rows: {', '.join(trainable_tasks())}. "
            f"Received: {name!r}."
        )
    return kind


def trainable_tasks():
    """Names of the tasks that are trained on labelled rows, list of str."""
    return [name for name, kind in registry.TASKS.items() if kind.read is not None]


def split_off(texts, labels):
    """Nine tenths of the rows for training and one for validation, by hash."""
    first = texts[0] if isinstance(texts, tuple) else texts
    whole = [text if isinstance(text, str) else " ".join(text) for text in first]
    split = hash_split(whole, [("valid", 0.1), ("train", 0.9)])
    if not split["valid"]:  # of a few rows
        split = {"train": split["train"][:-1], "valid": split["train"][-1:]}
    if not split["train"]:
        raise ValueError(
            "There must be rows to train on and to validate on. Received: "
            f"{len(whole)} rows. Give a file for validation, too."
        )
    return [take(texts, labels, split[name]) for name in ("train", "valid")]


def take(texts, labels, rows):
    """Rows of texts, or of both columns of pairs, and of labels."""
    if isinstance(texts, tuple):
        return tuple([column[r] for r in rows] for column in texts), [
            labels[r] for r in rows
        ]
    return [texts[r] for r in rows], [labels[r] for r in rows]


def load(model, task="auto"):
    """A task from a `.keras` file, a preset name or a directory.

    Raises:
        ValueError: if what is there has no task, and none was named.
    """
    if os.fspath(model).endswith(".keras"):
        return registry.load_model(model)
    loaded = registry.from_preset(model, task=task)
    if not isinstance(loaded, Task):
        raise ValueError(
            f"{model} holds a backbone without a task. Name one with `--task`, or "
            "fine-tune it first."
        )
    return loaded


def split_pairs(rows):
    """`a<TAB>b` lines as a tuple of two lists.

    Raises:
        ValueError: if a line has no tab.
    """
    pairs = [row.split("\t", 1) for row in rows]
    wrong = [row for row in pairs if len(row) != 2]
    if wrong:
        raise ValueError(
            f"A pair is `a<TAB>b`. Received a line without a tab: {wrong[0][0][:80]!r}."
        )
    return tuple(map(list, zip(*pairs, strict=True)))
