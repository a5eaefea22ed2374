"""Fine-tunes a preset on every task of the papers, and makes a table of the scores."""

import collections.abc
import functools
import itertools
import os
import pathlib
import time

import keras

from zoo.checks.number_rules import check_number, numbers_checked
from zoo.evaluation import sample_rows
from zoo.evaluation.glue_scores import import_library
from zoo.files.path_checks import check_writable_directory
from zoo.files.whole_files import replacing, write_json
from zoo.presets import sha256
from zoo.programs.finetune.finetuning import preset_epochs
from zoo.programs.finetune.labelled_rows import draw_rows, split_off, take
from zoo.programs.finetune.loading import load_one
from zoo.programs.finetune.progress import check_loss
from zoo.programs.scores.stored_settings import describe_function, keep_settings
from zoo.programs.scores.suite_results import (
    collect,
    format_table,
    main_score,
    read_result,
    stored_results,
)
from zoo.programs.scores.suite_tasks import SUITE

BATCH_SIZE = 32


@numbers_checked(skip=("seeds",))
def evaluate_suite(
    preset, data, output, tasks=None, seeds=1, *, fit=None, echo=print, **settings
):
    """Fine-tunes a preset on the tasks whose files are in a directory, and scores it.

    The scores of a model are stored when it is tested. If the function is stopped and
    called again, it continues with the next model. The models are not stored.

    Args:
        preset: see `zoo.from_preset`.
        data: directory with a directory for each task: CoLA, SST-2 and the others of
            GLUE; snli, conll2003, squad1.1, squad2.0, swag and codah.
        output: directory for the results and the table of all of them, README.md.
        tasks: str or iterable of str, such as "cola" or "squad1.1"; by default all
            whose files are there.
        seeds: int, models of each task; or iterable of int, their seeds.
        fit: function that trains a model, by default its method `fit`. It is called as
            `fit(model, texts, labels, epochs=e, batch_size=b, seed=s, verbose=0)`.
        echo: function that prints a line.
        **settings: epochs, batch_size, learning_rate, rows (the most for training), and
            arguments of `zoo.from_preset`, such as dtype; None means the default.

    Returns:
        dict of the name of a task to a list of the results of its seeds, dicts of plain
        values:

        - title and metric, the name of the most important score;
        - scores, for the name of each test file a dict of float;
        - baselines, for the name of each baseline the same, with seed 0 only;
        - train and test, numbers of rows, and settings;
        - seconds and test_seconds, of the training and of the test;
        - files, for the name of each file its SHA-256.

    Raises:
        ImportError: without scikit-learn or SciPy, which are in the extra `eval`.
        FloatingPointError: after all models, if the loss of one was not finite.
        ValueError: if a task is unknown, no files are found, or `output` has results of
            another preset, of other weights or data, or with other settings.
    """
    for library in ("sklearn", "scipy"):  # before the training
        import_library(library)
    settings = {name: value for name, value in settings.items() if value is not None}
    seeds = _check_seeds(seeds)
    chosen, output = _choose(data, tasks, echo), pathlib.Path(output)
    _check_settings(output, preset, data, fit, settings)
    files = _check_files(output, chosen)
    diverged = []
    for name, seed in itertools.product(chosen, seeds):
        path, task = output / f"{name}-{seed}.json", SUITE[name]
        if not path.exists():
            arguments = preset, task, chosen[name], seed
            diverged += _store(path, files[name], echo, *arguments, fit=fit, **settings)
            _write_page(output, preset, settings)
    echo(_write_page(output, preset, settings))
    if diverged:
        raise FloatingPointError("\n".join(diverged))
    return {
        name: [read_result(output / f"{name}-{seed}.json", name) for seed in seeds]
        for name in chosen
    }


def _check_seeds(seeds):
    """The seeds of `evaluate_suite`, a list of int."""
    if isinstance(seeds, str) or not isinstance(seeds, collections.abc.Iterable):
        seeds = range(check_number("seeds", seeds))
    return [check_number("seed", seed) for seed in seeds]


def _store(path, files, echo, preset, task, paths, seed, **options):
    """Stores a result of `measure`; a list of why that was not possible."""
    echo(f"{task.title}, seed {seed}")
    try:
        found = measure(preset, task, paths, seed, **options)
    except FloatingPointError as error:
        return [f"{path.stem}: {error}"]
    write_json(path, {**found, "files": files}, indent=1)
    echo(f"  {main_score(found, task):.1f}, {found['seconds']:.0f} s")
    return []


def _choose(data, tasks, echo):
    """The files of the chosen tasks, dict of the name to paths."""
    tasks = [tasks] if isinstance(tasks, str) else list(tasks or ())
    unknown = {*tasks} - {*SUITE}
    if unknown:
        raise ValueError(
            f"`tasks` must be of {', '.join(SUITE)}. Received: {sorted(unknown)}."
        )
    found = {name: SUITE[name].find(data) for name in tasks or SUITE}
    missing = [name for name, paths in found.items() if paths is None]
    if len(missing) == len(found) or (tasks and missing):
        name = missing[0]
        files = ", ".join((SUITE[name].train, *SUITE[name].tests))
        files = files.replace("|", " or ")
        raise ValueError(
            "The data directory must have the files of the tasks. Received: "
            f"{data} without those of {', '.join(missing)}. For {name}, put {files} "
            f"in a directory {SUITE[name].folder}."
        )
    if missing:
        echo(f"without files: {', '.join(missing)}")
    return {name: paths for name, paths in found.items() if paths}


def _check_settings(output, preset, data, fit, settings):
    """Stores what results depend on, or raises ValueError if others are stored."""
    check_writable_directory(output)
    if fit is not None:
        settings = {**settings, "fit": describe_function(fit)}
    keep_settings(output, preset, data, settings, pages=("README.md",))


def _check_files(output, chosen):
    """The checksums of the files of each task; also reads the results of all tasks."""
    collect(output)  # a damaged one is an error before the training
    return {name: _checksums(output, name, paths) for name, paths in chosen.items()}


def _checksums(output, name, paths):
    """The checksums of the files of a task, which all of its results must have."""
    files = {path.name: sha256(path) for path in paths}
    for path, result in stored_results(output, name):
        stored = result.get("files", files)  # older results have none
        if stored != files:
            changed = [file for file in files if files[file] != stored.get(file)]
            raise ValueError(
                "All results of a task must be of the same files. Received: other "
                f"contents of {', '.join(changed)} than those of {path}. Give another "
                "directory, or delete the result."
            )
    return files


def measure(
    preset,
    task,
    paths,
    seed=0,
    epochs=None,
    batch_size=BATCH_SIZE,
    learning_rate=None,
    rows=None,
    fit=None,
    **options,
):
    """Trains one model, and scores it and the baselines of its task.

    Args:
        preset: see `zoo.from_preset`.
        task: `SuiteTask`.
        paths: list of pathlib.Path, see `SuiteTask.find`.
        seed: int, of the head, the order of the rows and dropout.
        epochs: int, by default that of the preset, or 3.
        batch_size, learning_rate, rows, fit: see `evaluate_suite`.
        **options: of `zoo.from_preset`.

    Returns:
        dict, a result of `evaluate_suite`.
    """
    texts, labels = task.load(paths[0])
    every = {"seed": seed, "learning_rate": learning_rate, **options}
    model = _build(preset, task, texts, labels, every)
    texts, labels = draw_rows(texts, labels, rows)
    epochs = preset_epochs(model) if epochs is None else epochs
    sizes = {"epochs": epochs, "batch_size": batch_size}
    tests = _read_tests(model, task, paths, labels)
    fit = functools.partial(fit or type(model).fit, **sizes, seed=seed, verbose=0)
    start = time.monotonic()
    _fit(model, texts, labels, fit, options)
    seconds = time.monotonic() - start
    start = time.monotonic()
    scores = {
        name: task.scores(model, part[1], model.predict_labels(part[0])[0])
        for name, part in tests.items()
    }
    test_seconds = time.monotonic() - start
    first = next(iter(tests.values()))
    return {
        "title": task.title,
        "metric": task.metric,
        "scores": scores,
        "baselines": {} if seed else _baselines(model, task, (texts, labels), first),
        "train": len(labels),
        "test": len(first[1]),
        "settings": {
            **sizes,
            "learning_rate": learning_rate or model.default_learning_rate,
            "sequence_length": model.sequence_length,
        },
        "seconds": round(seconds, 1),
        "test_seconds": round(test_seconds, 1),
    }


def _build(preset, task, texts, labels, options):
    """The model for all rows of a task, before the training."""
    kind = task.kind
    known = {**kind.column_options(texts), **kind.data_options(labels), **task.options}
    model = load_one(preset, kind.task_name, **{**known, **options})
    model.truncation_reported = True
    return model


def _read_tests(model, task, paths, labels):
    """Dict of file to its texts and labels; also checks `labels`, for the training."""
    tests = {path.name: task.load(path) for path in paths[1:]}
    for name, (_, known) in {paths[0].name: (None, labels), **tests}.items():
        if known is None:
            raise ValueError(f"Every row must have a label. Received: {name} without.")
        check = task.score or (lambda y, _: model.encode_labels(model.parse_labels(y)))
        check(known, known)
    return tests


def _fit(model, texts, labels, fit, options):
    """Trains a model; a tenth of the rows may be held out, to calibrate it."""
    calibrated = {*model.calibrated} - {*options}
    train, held_out = (texts, labels), None
    if calibrated:
        train, held_out = split_off(texts, labels, model.split_column)
    found = fit(model, train[0], model.parse_labels(train[1]))
    if isinstance(found, keras.callbacks.History):
        check_loss(found.history)
    if calibrated:
        model.calibrate(*held_out)


def _baselines(model, task, train, test):
    """The scores of the baselines, dict of their names to dicts of float."""
    sample = take(*train, sample_rows(train[0]))
    return {
        name: task.scores(model, test[1], predict(*sample, test[0]))
        for name, predict in model.baselines.items()
    }


def _write_page(output, preset, settings):
    """Writes README.md with the table of all results, and returns the table."""
    table = format_table(collect(output))
    with replacing(output / "README.md") as temporary:
        temporary.write_text(_page(preset, settings, table), "utf-8")
    return table


def _page(preset, settings, table):
    """The text of README.md."""
    told = ", ".join(f"{name} {value}" for name, value in settings.items())
    return f"""# {os.fspath(preset)} on the tasks of the papers

Scores are on the public test or dev set, in percent: the mean over seeds, with their
standard deviation if there are several "seeds". "rows" are those for training; of SQuAD
2.0, a tenth of them only sets the threshold. Baselines learn from at most 50,000 rows.
"BERT base" is from its paper, trained on all rows, and for GLUE scored on the hidden
test set. "minutes" are those of the training and the test of one model.
Settings: {told or "the defaults of the preset"}.

{table}
"""
