"""What the command line adds to `fit`: files in, a model out."""

import math
import os
import pathlib

from zoo import registry
from zoo.data import hash_split, read_conll, read_labelled
from zoo.files import replacing
from zoo.tasks import Task, TokenClassifier
from zoo.training import finetuning_optimizer

LARGEST = 3.4e38  # of a float32, nearly


def run(
    preset,
    data,
    valid=None,
    task="text_classifier",
    epochs=3,
    batch_size=32,
    learning_rate=None,
    layer_decay=1.0,
    seed=0,
    **options,
):
    """Fine-tunes a preset on a file of labelled texts.

    Args:
        preset: see `zoo.from_preset`.
        data: file of labelled texts, see `read`.
        valid: the same for validation; by default a tenth of `data`, by hash.
        task: "text_classifier", "text_regressor" or "token_classifier".
        epochs, batch_size: int.
        learning_rate: float, the peak; by default that of the preset's family.
        layer_decay: float, see `zoo.training.finetuning_optimizer`.
        seed: int, of the head, the order of the rows and dropout.
        **options: of `zoo.from_preset`; None means the default.

    Returns:
        The trained task.
    """
    options = {key: value for key, value in options.items() if value is not None}
    rows = read(data, task)
    train, held_out = (rows, read(valid, task)) if valid else split_off(*rows)
    if task == "text_classifier":
        options["labels"] = sorted(set(rows[1]))
    if task == "token_classifier":
        options["labels"] = sorted({tag for tags in rows[1] for tag in tags})
    model = registry.from_preset(preset, task=task, seed=seed, **options)
    if learning_rate is None:
        learning_rate = registry.LEARNING_RATES[model.backbone.family]
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


def read(path, task):
    """Texts and labels: of a task of words, of CoNLL's columns, else of a table.

    Args:
        path: see `zoo.data.read_conll` and `zoo.data.read_labelled`. The first and the
            last column are words and tags, of a file `.conllu` the second and fourth.
        task: str. Labels of "text_regressor" are float.

    Raises:
        ValueError: if the file is not as the task needs it.
    """
    if task == "text_regressor":
        texts, labels = read_labelled(path)
        return texts, numbers(labels, path)
    if task != "token_classifier":
        return read_labelled(path)
    universal = ".conllu" in pathlib.Path(path).suffixes
    return read_conll(path, *((1, 3) if universal else ()))


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


def score(model, texts, labels):
    """What a model has on labelled texts: dict of float.

    A tagger of spans also has their precision, recall and F1.
    """
    scores = model.evaluate(texts, targets(model, labels), verbose=0, return_dict=True)
    if isinstance(model, TokenClassifier) and model.options["scheme"]:
        spans = model.score(texts, labels)
        scores |= {name: spans[name] for name in ("precision", "recall", "f1")}
    return {name: float(value) for name, value in scores.items()}


def answer(model, rows):
    """What a model answers, a dict of plain values for each row.

    Of words, there are as many values as the row has words.
    """
    if isinstance(model, TokenClassifier):
        for words in model.tag(rows):
            keys = ("word", "tag", "score", "begin", "end")
            yield {f"{key}s": [word[key] for word in words] for key in keys}
        return
    answers = model.answer(rows)
    for values in zip(*(array.tolist() for array in answers.values()), strict=True):
        yield dict(zip(answers, values, strict=True))


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
        ValueError: if a regressor's target is not a finite number.
    """
    return labels if model.labels else numbers(labels)


def numbers(labels, source="the data"):
    """Labels as numbers, which a regressor is trained on.

    Args:
        labels: list of str or float.
        source: what the message calls the place where they come from.

    Returns:
        list of float.

    Raises:
        ValueError: if a label is not a number, is not finite, or is too large for
            float32.
    """
    found = []
    for row, label in enumerate(labels, start=1):
        try:
            number = float(label)
        except ValueError:
            number = math.nan
        if not abs(number) <= LARGEST:  # nor is NaN
            raise ValueError(
                f"Every label of {source} must be a finite number. Received: "
                f"{label!r:.40} in row {row}. Correct the row, or remove it."
            )
        found.append(number)
    return found


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
