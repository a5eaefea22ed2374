"""Fine-tunes a preset on every task of the papers, and makes a table of the scores."""

import collections.abc
import itertools
import os
import time

from zoo.checks.number_rules import check_number, numbers_checked
from zoo.evaluation import sample_rows
from zoo.evaluation.glue_scores import import_library
from zoo.files.buckets import local_path
from zoo.files.path_checks import check_writable_directory
from zoo.files.whole_files import replacing, write_json
from zoo.presets import sha256
from zoo.programs.finetune.finetuning import preset_epochs
from zoo.programs.finetune.labelled_rows import draw_rows, take
from zoo.programs.scores.comparison import Comparison
from zoo.programs.scores.stored_settings import describe_function, keep_settings
from zoo.programs.scores.suite_results import (
    check_files,
    collect,
    first_scores,
    format_table,
    read_result,
    stored_results,
)
from zoo.programs.scores.suite_tasks import BATCH_SIZE, SUITE, fit_model


@numbers_checked(skip=("seeds", "learning_rate"))
def evaluate_suite(
    preset, data, output, tasks=None, seeds=1, *, fit=None, compare=None, echo=print,
    **settings,
):  # fmt: skip
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
        compare: "both" for a comparison of the preset with the same network with random
            weights, on tasks of GLUE; or "preset" or "random" for one of them. Each
            tries several learning rates on a tenth of the training set.
        echo: function that prints a line.
        **settings: epochs, batch_size, learning_rate, rows (the most for training), and
            arguments of `zoo.from_preset`, such as dtype; None means the default. With
            `compare`, learning_rate may be a list of float.

    Returns:
        dict of the name of a task to the results of its seeds, a list of dict: title;
        metric, the most important score; scores and baselines of each test file; train
        and test, numbers of rows; settings; seconds, test_seconds; files, as SHA-256.
        With `compare`, dict of the name of a task to a dict: task, examples, settings;
        "preset" and "random" with the rate, the validation scores of every rate
        (`searched`) and means and deviations on the dev set (`dev`); and with both the
        difference in the metric and its 95% interval.

    Raises:
        ImportError: without scikit-learn or SciPy, which are in the extra `eval`.
        FloatingPointError: after all models, if the loss of one was not finite.
        ValueError: if a task is unknown or cannot be compared, no files are found, or
            `output` has results of another preset, of other weights or data, or with
            other settings.
    """
    return _evaluate(preset, data, output, tasks, seeds, fit, compare, echo, settings)


def _evaluate(preset, data, output, tasks, seeds, fit, compare, echo, settings):
    """Does what `evaluate_suite` says."""
    for library in ("sklearn", "scipy"):  # before the training
        import_library(library)
    settings = {name: value for name, value in settings.items() if value is not None}
    seeds = _check_seeds(seeds)
    output, comparison, stored = local_path(output), None, settings
    if compare is not None:
        comparison = Comparison(preset, output, seeds, fit, echo, compare, settings)
        stored = comparison.settings
    elif "learning_rate" in settings:
        check_number("learning_rate", settings["learning_rate"])
    chosen = _choose(data, tasks, comparison, echo)
    _check_settings(output, preset, data, fit, stored)
    files = _check_files(output, chosen)
    if comparison:
        return {k: comparison.compare(k, v, files[k]) for k, v in chosen.items()}
    return _score(preset, output, chosen, files, seeds, fit, echo, settings)


def _score(preset, output, chosen, files, seeds, fit, echo, settings):
    """Makes the missing results and the page; returns all results of the tasks."""
    diverged = []
    for name, seed in itertools.product(chosen, seeds):
        path, task = output / f"{name}-{seed}.json", SUITE[name]
        if path.exists():
            continue
        echo(f"{task.title}, seed {seed}")
        try:
            found = measure(preset, task, chosen[name], seed, fit=fit, **settings)
        except FloatingPointError as error:
            diverged.append(f"{path.stem}: {error}")
        else:
            write_json(path, {**found, "files": files[name]}, indent=1)
            score = 100 * first_scores(found)[task.metric]
            echo(f"  {score:.1f}, {found['seconds']:.0f} s")
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


def _choose(data, tasks, comparison, echo):
    """The files of the chosen tasks, dict of the name to paths."""
    tasks = [tasks] if isinstance(tasks, str) else list(tasks or ())
    suite = [name for name in SUITE if SUITE[name].score or not comparison]
    unknown = {*tasks} - {*suite}
    if unknown:
        raise ValueError(
            f"`tasks` must be of {', '.join(suite)}. Received: {sorted(unknown)}."
        )
    found = {name: SUITE[name].find(data) for name in tasks or suite}
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
    """The checksums of the files of each task, which all of its results must have."""
    collect(output)  # a damaged one is an error before the training
    files = {}
    for name, paths in chosen.items():
        files[name] = {path.name: sha256(path) for path in paths}
        for path, result in stored_results(output, name):
            check_files(path, result, files[name])
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

    `task` is a `SuiteTask`, and `paths` its files; see `evaluate_suite`, also for the
    result.
    """
    texts, labels = task.load(paths[0])
    known = {"seed": seed, "learning_rate": learning_rate, **options}
    model = task.build(preset, texts, labels, known)
    texts, labels = draw_rows(texts, labels, rows)
    epochs = preset_epochs(model) if epochs is None else epochs
    sizes = {"epochs": epochs, "batch_size": batch_size}
    tests = _read_tests(model, task, paths, labels)
    start = time.monotonic()
    fit_model(model, (texts, labels), fit, options, **sizes, seed=seed)
    seconds = time.monotonic() - start
    start = time.monotonic()
    scores = {
        name: task.scores(model, part[1], model.files.predict_labels(model, part[0])[0])
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


def _read_tests(model, task, paths, labels):
    """Dict of file to its texts and labels; also checks `labels`, for the training."""
    tests = {path.name: task.load(path) for path in paths[1:]}
    for name, (_, known) in {paths[0].name: (None, labels), **tests}.items():
        if known is None:
            raise ValueError(f"Every row must have a label. Received: {name} without.")
        if task.score is None:
            model.encode_labels(model.files.parse_labels(known))
        else:
            task.score(known, known)
    return tests


def _baselines(model, task, train, test):
    """The scores of the baselines, dict of their names to dicts of float."""
    sample = take(*train, sample_rows(train[0]))
    return {
        name: task.scores(model, test[1], predict(*sample, test[0]))
        for name, predict in model.files.baselines.items()
    }


def _write_page(output, preset, settings):
    """Writes README.md with the table of all results, and returns the table."""
    table = format_table(collect(output))
    shown = ", ".join(f"{name} {value}" for name, value in settings.items())
    page = f"""# {os.fspath(preset)} on the tasks of the papers

Scores are on the public test or dev set, in percent: the mean over seeds, with their
standard deviation if there are several "seeds". "rows" are those for training; of SQuAD
2.0, a tenth of them only sets the threshold. Baselines learn from at most 50,000 rows.
"BERT base" is from its paper, trained on all rows, and for GLUE scored on the hidden
test set. "minutes" are those of the training and the test of one model.
Settings: {shown or "the defaults of the preset"}.

{table}
"""
    with replacing(output / "README.md") as temporary:
        temporary.write_text(page, "utf-8")
    return table
