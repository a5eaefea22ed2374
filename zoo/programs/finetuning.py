"""Fine-tunes a preset on a file, and loads models, for the command line."""

import os

from zoo import registry
from zoo.data import hash_split
from zoo.tasks import Task, TextClassifier, find_task

EPOCHS = 3  # for presets that have no number of epochs
AUTO = "auto"  # the learning rate that a range test suggests


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
    echo=print,
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
            "auto" for the suggestion of `find_learning_rate`, which is printed.
        layer_decay: float, see `zoo.training.AdamW`.
        seed: int, of the weights of the head, the order of the rows, and dropout.
        echo: function of a str, which prints it.
        **options: arguments of `zoo.from_preset`; None means the default.

    Returns:
        The trained task.
    """
    options = {key: value for key, value in options.items() if value is not None}
    kind = trainable_task(task or TextClassifier.task_name)
    rows = kind.read(data)
    train, held_out = (rows, kind.read(valid)) if valid else split_off(*rows)
    options |= kind.data_options(rows[1])
    model = registry.from_preset(preset, kind.task_name, seed=seed, **options)
    texts, labels = train[0], model.parse_labels(train[1])
    if learning_rate == AUTO:
        model.compile(model.default_optimizer(layer_decay=layer_decay))
        learning_rate = search(model, texts, labels, batch_size, seed, echo)
    model.compile(model.default_optimizer(learning_rate, layer_decay))
    model.fit(
        texts,
        labels,
        batch_size=batch_size,
        epochs=epochs or model.backbone.defaults.get("epochs") or EPOCHS,
        validation_data=(held_out[0], model.parse_labels(held_out[1])),
        seed=seed,
    )
    return model


def search(model, texts, labels, batch_size, seed, echo):
    """The learning rate that a range test suggests, float.

    Raises:
        ValueError: if no rate lowers the loss.
    """
    found = model.find_learning_rate(texts, labels, batch_size, seed=seed).suggestion
    if found is None:
        raise ValueError(
            "The range test found no learning rate that lowers the loss. Received: "
            f"learning_rate={AUTO!r}. Give a number."
        )
    echo(f"learning rate {found:.2g}")
    return found


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
