"""Fine-tunes a preset on a file, for the command line."""

import dataclasses
import os
import sys
import time
from typing import Literal

from zoo.checks.number_rules import numbers_checked
from zoo.checks.ranges import CheckedFields, Positive, Share, Size
from zoo.evaluation import sample_rows
from zoo.programs.finetune.data_summary import (
    data_lines,
    describe_data,
    describe_tokens,
    tokens_line,
)
from zoo.programs.finetune.labelled_rows import read_parts, take
from zoo.programs.finetune.loading import default_task, load_one, trainable_task
from zoo.programs.finetune.progress import (
    AUTO_RATE,
    EpochLines,
    UpdateCurves,
    check_batches,
    check_loss,
    check_output,
)
from zoo.programs.finetune.report import (
    assess_model,
    describe_model,
    format_scores,
    predict_baselines,
    write_report,
)
from zoo.programs.finetune.trained_parts import train_parts
from zoo.tasks.task_saving import without_state
from zoo.training import KeepBest

DEFAULT_EPOCHS = 3  # for presets that have no number of epochs
ROWS_OF_UPDATE = 32
PATIENCE = 2  # epochs without a better score


@dataclasses.dataclass(frozen=True)
class FitOptions(CheckedFields):
    """The epochs, batches and learning rates of a fine-tuning.

    Args:
        epochs: int; by default that of the preset, or 3.
        batch_size: int, rows; by default 32.
        token_budget: int, instead of `batch_size`, see `zoo.data.plan_batches`.
        accumulate, remat: int and bool, see `Task.compile`.
        learning_rate: float, the peak; by default that of the preset or its family.
            "auto" for the suggestion of `find_learning_rate`.
        layer_decay: float, see `zoo.training.AdamW`.
        keep_best: bool, whether the epoch with the best validation score is kept, and
            the training stops after two epochs without a better one.
        class_weight: "balanced", or a dict of labels to weights, see `Task.fit`.
        freeze, lora, lora_layers: see `trained_parts.train_parts`.
    """

    epochs: Size | None = None
    batch_size: Size | None = None
    token_budget: Size | None = None
    accumulate: Size = 1
    remat: bool = False
    learning_rate: Positive | Literal[AUTO_RATE] | None = None
    layer_decay: Share = 1.0
    keep_best: bool = True
    class_weight: Literal["balanced"] | dict | None = None
    freeze: tuple[str, ...] = ()
    lora: Size | None = None
    lora_layers: tuple[str, ...] = ()


@numbers_checked(skip=("learning_rate",))
def run(
    preset,
    files,
    task=None,
    output=None,
    report=None,
    echo=print,
    seed=0,
    trainer=None,
    keep_optimizer=False,
    **options,
):
    """Fine-tunes a preset on a file of labelled texts, and reports on it.

    Args:
        preset: see `zoo.from_preset`; or a `.keras` file, see
            `zoo.programs.finetune.loading.load_trained`.
        files: `zoo.programs.finetune.labelled_rows.RowFiles`.
        task: name of a task for labelled rows; see `default_task`.
        output: `.keras` file to write, or None.
        report: directory of the report, or None for no report.
        echo: function that prints a line.
        seed: int, of the weights of the head, the order of the rows, and dropout.
        trainer: function with the arguments of `train`, of a recipe; None for `train`.
        keep_optimizer: bool, whether the file has the large state of the optimizer.
        **options: of `train`; None means the default.

    Returns:
        The trained task.

    Raises:
        FloatingPointError: if the loss is not finite at the end.
        ValueError: if a file cannot be read, or options exclude each other.
    """
    options = {name: value for name, value in options.items() if value is not None}
    check_batches(**options)
    check_output(output, report)
    kind = trainable_task(task) if task else default_task(preset)
    labels, parts = read_parts(kind, files)
    row_files = kind.files.for_rows(labels, files.columns)
    known = row_files.options(kind, parts["training"][0], labels)
    model, content = (trainer or train)(
        kind, preset, parts, seed, echo, **{**known, **options}
    )
    if output is not None and not keep_optimizer:
        model.compile_from_config(without_state(model.get_compile_config()))

    def save():
        if output is not None:
            model.save(output)

    save()  # before what may fail
    if note := calibrate(model, parts, content, options):
        echo(note)
        save()
    if report is not None:
        content["settings"] = {**files.paths(), **content["settings"]}
        report_on(model, parts, content, report, echo, seed)
    return model


def train(kind, preset, parts, seed=0, echo=print, **options):
    """Prints a summary of the data and trains the task.

    Args:
        kind, preset: class of the task, and its preset, see `zoo.from_preset`.
        parts: dict of texts and labels: "training", "validation" and perhaps "test",
            in this order. The baselines are compared on the last part.
        seed, echo: see `run`.
        **options: fields of `FitOptions`, and arguments of `zoo.from_preset`.

    Returns:
        The trained task, and a dict for `report_on`.
    """
    chosen, options = FitOptions.split(options)
    sizes = {"batch_size": chosen.batch_size, "token_budget": chosen.token_budget}
    if sizes == {"batch_size": None, "token_budget": None}:
        sizes["batch_size"] = ROWS_OF_UPDATE
    content = summarize(kind, parts, echo)
    model = load_one(preset, kind.task_name, seed=seed, **options)
    content |= prepare(model, parts, seed, echo)
    train_parts(model, chosen.freeze, chosen.lora, chosen.lora_layers)
    rate, decay = chosen.learning_rate, chosen.layer_decay
    if rate == AUTO_RATE:
        rate = search(model, parts["training"], decay, sizes, seed, echo)
    elif rate is None:
        rate = model.default_learning_rate
    memory = {"accumulate": chosen.accumulate, "remat": chosen.remat}
    model.compile(model.default_optimizer(rate, decay), **memory)
    epochs = preset_epochs(model) if chosen.epochs is None else chosen.epochs
    more = {"keep_best": chosen.keep_best, "class_weight": chosen.class_weight}
    content |= fit(model, parts, epochs, sizes, seed, echo, **more)
    settings = {
        "learning rate": rate,
        "layer decay": decay,
        "epochs": epochs,
        **{k.replace("_", " "): v for k, v in sizes.items() if v is not None},
    }
    for name in ("class_weight", "freeze", "lora", "lora_layers"):
        if value := getattr(chosen, name):
            settings[name.replace("_", " ")] = value
    if chosen.keep_best:
        settings["kept epoch"] = content.pop("kept")
    content["settings"] = describe_training(model, preset, content, settings, seed)
    return model, content


def summarize(kind, parts, echo):
    """Prints what the data hold; returns it as the beginning of a report, dict."""
    data = describe_data(kind, parts)
    labels = [label for _, part in parts.values() for label in part]
    files = kind.files.for_rows(labels)
    echo("\n".join(data_lines(data, files.counted)))
    if hint := files.hint(labels):
        echo(hint)
    return {"data": data}


def describe_training(model, preset, content, settings, seed):
    """The settings of a report, dict; the first and the last are of all trainings."""
    return {
        "preset": os.fspath(preset),
        **settings,
        "seed": seed,
        "seconds of training": content.pop("seconds"),
        **describe_model(model),
    }


def calibrate(model, parts, content, fixed):
    """Chooses values such as a threshold on held-out rows; returns a note or None.

    `fixed` are the names of arguments that are given already.
    """
    if not {*model.files.calibrated(model)} - {*fixed}:
        return None
    found = model.files.calibrate(model, *parts["validation"])
    found = {name.replace("_", " "): value for name, value in found.items()}
    content["settings"] |= found
    chosen = ", ".join(f"{name} {value:.3g}" for name, value in found.items())
    note = f"Chosen on the validation data: {chosen}."
    if "test" not in parts:
        note += " So the scores on these data may be a little too high."
    content["notes"].append(note)
    return note


def preset_epochs(model):
    """The number of epochs of the preset, or 3, int."""
    return model.backbone.defaults_for(model.task_name).get("epochs") or DEFAULT_EPOCHS


def prepare(model, parts, seed, echo):
    """Checks the labels, measures the texts and scores the baselines; prints all.

    Returns a dict of tokens, notes and baselines, the `Assessment` of each.
    """
    for _, labels in parts.values():
        model.encode_labels(model.files.parse_labels(labels))
    tokens, files = describe_tokens(model, parts), model.files
    # The next line takes the place of the warning, but targets are not counted in it.
    model.truncation_reported = tokens["truncated"] and tokens["longer"] > 0
    echo(tokens_line(tokens))
    texts, labels = parts["training"]
    rows = sample_rows(texts, seed)
    notes = []
    if len(rows) < len(labels):
        notes.append(
            f"The baselines are trained on {len(rows):,} of {len(labels):,} rows."
        )
    held_out, truth = files.rows_to_score(model, *list(parts.values())[-1])
    sample = take(texts, labels, rows)
    found = predict_baselines(model, sample, held_out, notes.append)
    for note in notes:
        echo(note)
    baselines = {k: files.assess(model, truth, *pair) for k, pair in found.items()}
    for name, assessed in baselines.items():
        echo(f"{name}, {list(parts)[-1]}: {format_scores(assessed.values())}")
    return {"tokens": tokens, "notes": notes, "baselines": baselines}


def fit(
    model,
    parts,
    epochs,
    sizes,
    seed,
    echo,
    callbacks=(),
    keep_best=False,
    class_weight=None,
):
    """Trains a compiled model; on a terminal with the progress bar of Keras.

    Args:
        model, parts, epochs, seed, echo, keep_best, class_weight: see `train`.
        sizes: dict of batch_size and token_budget, one of which is None.
        callbacks: iterable of keras.callbacks.Callback, more of them.

    Returns:
        dict of history, updates (`UpdateCurves.curves`), seconds, and perhaps kept.

    Raises:
        FloatingPointError: if the loss is not finite.
    """
    start = time.monotonic()
    terminal = sys.stdout.isatty()
    texts, labels = parts["training"]
    labels = model.files.parse_labels(labels)
    updates = len(model.batches(texts, labels, shuffle=True, seed=seed, **sizes))
    curves = UpdateCurves(updates, epochs)
    held_out = parts["validation"]
    # The last of equal epochs, since the rate falls and the held-out rows may be few.
    best = KeepBest(lambda model: validation_score(model, held_out), PATIENCE, True)
    callbacks = [*callbacks, *([best] if keep_best else []), curves]
    history = model.fit(
        texts,
        labels,
        **sizes,
        epochs=epochs,
        verbose=1 if terminal else 0,
        callbacks=[*callbacks, *([] if terminal else [EpochLines(echo)])],
        validation_data=(held_out[0], model.files.parse_labels(held_out[1])),
        class_weight=class_weight,
        seed=seed,
    ).history
    history = {name: list(map(float, values)) for name, values in history.items()}
    found = {"history": history, "updates": curves.curves}
    if keep_best:
        found["kept"] = best.kept + 1
        echo(f"kept epoch {found['kept']} of {len(best.scores)}, score {best.best:.4g}")
    check_loss(history, found.get("kept", 0) - 1)
    return {**found, "seconds": round(time.monotonic() - start, 1)}


def validation_score(model, rows):
    """The first score of a report, or the negative loss; larger is better."""
    x, labels = model.files.rows_to_score(model, *rows)
    predictions = model.files.predict_labels(model, x)
    if predictions is None:
        return -model.files.measure(model, *rows)["loss"]
    return next(iter(model.files.assess(model, labels, *predictions).values().values()))


def report_on(model, parts, content, directory, echo=print, seed=0):
    """Scores a trained model on the last part of its data, and writes the report.

    `content` is that of `train`. Returns all that the report says, a dict.
    """
    part, rows = list(parts.items())[-1]
    rows = model.files.rows_to_score(model, *rows)
    content = {**content, "scored": {"part": part, "rows": len(rows[1])}}
    content |= assess_model(model, rows, content.pop("baselines"), seed)
    for name, scores in content["scores"].items():
        values = {key: score["value"] for key, score in scores.items()}
        echo(f"{name}, {part}: {format_scores(values)}")
    content["title"] = f"{content['settings']['preset']}, fine-tuned"
    echo(write_report(directory, content, echo))
    return content


def search(model, rows, layer_decay, sizes, seed, echo):
    """The learning rate that a range test suggests, which is printed, float."""
    model.compile(model.default_optimizer(layer_decay=layer_decay))
    texts, labels = rows[0], model.files.parse_labels(rows[1])
    size = sizes["batch_size"]
    found = model.find_learning_rate(texts, labels, size, seed=seed).suggestion
    if found is None:
        raise ValueError(
            "The range test found no learning rate that lowers the loss. Received: "
            f"learning_rate={AUTO_RATE!r}. Give a number."
        )
    echo(f"learning rate {found:.2g}")
    return found
