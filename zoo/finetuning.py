"""What the command line adds to `fit`: files in, a model out."""

import os

from zoo import registry
from zoo.data import hash_split, read_labelled
from zoo.files import replacing
from zoo.tasks import Task
from zoo.training import finetuning_optimizer


def run(
    preset,
    data,
    valid=None,
    task="text_classifier",
    epochs=3,
    batch_size=32,
    learning_rate=5e-5,
    layer_decay=1.0,
    seed=0,
    **options,
):
    """Fine-tunes a preset on a file of labelled texts.

    Args:
        preset: see `zoo.from_preset`.
        data: TSV or CSV file, see `zoo.data.read_labelled`.
        valid: the same for validation; by default a tenth of `data`, by hash.
        task: "text_classifier" or "text_regressor".
        epochs, batch_size: int.
        learning_rate, layer_decay: float, see `zoo.training.finetuning_optimizer`.
        seed: int, of the head, the order of the rows and dropout.
        **options: of `zoo.from_preset`; None means the default.

    Returns:
        The trained task.
    """
    options = {key: value for key, value in options.items() if value is not None}
    texts, labels = read_labelled(data)
    if valid:
        train, held_out = (texts, labels), read_labelled(valid)
    else:
        first = texts[0] if isinstance(texts, tuple) else texts
        split = hash_split(first, [("valid", 0.1), ("train", 0.9)])
        train, held_out = (take(texts, labels, split[n]) for n in ("train", "valid"))
    if task == "text_classifier":
        options["labels"] = sorted(set(labels))
    model = registry.from_preset(preset, task=task, seed=seed, **options)
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
        targets(model, train[1]),
        batch_size=batch_size,
        epochs=epochs,
        validation_data=(held_out[0], targets(model, held_out[1])),
        seed=seed,
    )
    return model


def take(texts, labels, rows):
    """Rows of texts, or of both columns of pairs, and of labels."""
    if isinstance(texts, tuple):
        return tuple([column[r] for r in rows] for column in texts), [
            labels[r] for r in rows
        ]
    return [texts[r] for r in rows], [labels[r] for r in rows]


def targets(model, labels):
    """Labels from a file, as the model's `fit` takes them.

    Raises:
        ValueError: if a regressor's target is not a number.
    """
    return labels if model.labels else [float(label) for label in labels]


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


def save(model, path):
    """Writes a `.keras` file, whole or not at all."""
    with replacing(path) as temporary:
        model.save(temporary)


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
