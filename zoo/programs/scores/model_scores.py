"""Scores of a trained model on labelled rows, alone or beside another model."""

import json
import os

from zoo.programs.finetune.data_summary import describe_data, name_labels
from zoo.programs.finetune.labelled_rows import columns_of, read_rows
from zoo.programs.finetune.loading import check_trainable, load
from zoo.programs.finetune.progress import check_output
from zoo.programs.finetune.report import (
    assess_model,
    describe_model,
    plain_copy,
    shown_tables,
    write_report,
)
from zoo.programs.finetune.report_page import format_interval, format_number
from zoo.tasks import Task, TextEnsemble
from zoo.visualize.plain_text import printable

SCORED_PART_NAME = "evaluation"  # of the rows, in a report
MODEL, COMPARED = "model", "compared model"
COMPARISON = (
    "difference: the model minus the compared model, significant at 5 % if the "
    "interval does not contain 0"
)
SUPPORT = "support"  # the column of a table that does not depend on the model
SHOWN_CHARACTERS = 60  # of a label in a table


def assess(model, x, y):
    """Scores a model on labelled texts, with intervals.

    `zoo.assess(a, x, y).differences(zoo.assess(b, x, y))` compares two models on the
    same rows, with 95% intervals of the paired bootstrap.

    Args:
        model: `zoo.tasks.Task` that is trained on labelled texts, or
            `zoo.TextEnsemble`.
        x: texts, a list, or a tuple of columns.
        y: the labels of the texts, as the task reads them from a file: names or
            numbers, sets or lists of names, answers, or texts.

    Returns:
        `zoo.evaluation.Assessment`; its `scores()` have intervals, and its `tables` the
        scores of each label. Equal sources of a translator are one row.

    Raises:
        TypeError: if `model` is no task.
        ValueError: if the task has no such scores, a label is unknown, there are no
            rows, or the lengths differ.

    Example:
        >>> import zoo
        >>> options = {"task": "text_classifier", "load_weights": False}
        >>> model = zoo.from_preset("bert_mini_en_uncased_distilled", **options)
        >>> list(zoo.assess(model, ["a film", "a plot"], ["0", "1"]).scores())
        ['accuracy', 'macro_f1']
    """
    if not isinstance(model, (Task, TextEnsemble)):
        raise TypeError(f"`model` must be a task. Received: {type(model).__name__}.")
    check_trainable(model)
    x, y = model.files.rows_to_score(model, x, y)
    predictions = model.files.predict_labels(model, x)
    if predictions is None:
        raise ValueError(
            "The files of the task must have `predict_labels` and `assess`. Received: "
            f"a {type(model).__name__}. Use `model.evaluate`."
        )
    return model.files.assess(model, y, *predictions)


def run(model, files, compare=None, report=None, echo=print, seed=0):
    """Scores a model on the rows of a file, and prints tables and a line of JSON.

    Args:
        model: path of a `.keras` file, or a preset.
        files: `zoo.programs.finetune.labelled_rows.RowFiles`.
        compare: another model of the same task, or None.
        report: directory of the report, or None for no report.
        echo: function that prints a line.
        seed: int, of the bootstrap.

    Raises:
        ValueError: if the file cannot be read, a label is unknown to a model, or the
            models do not have the same task.
    """
    check_output(None, report)
    paths = {MODEL: os.fspath(model)}
    if compare is not None:
        paths[COMPARED] = os.fspath(compare)
    models = {name: load(path) for name, path in paths.items()}
    for loaded in models.values():
        check_trainable(loaded)
    notes = compare_tasks(models, paths) if compare is not None else []
    first = models[MODEL]
    rows = read_rows(first, files.data, files.target, **files.columns)
    for name, loaded in models.items():
        check_rows(loaded, paths[name], *rows)
    content = plain_copy(score_models(models, rows, seed))
    scored = f"{content['scored']['rows']:,} rows of {printable(os.fspath(files.data))}"
    lines = [f"{scored}, with 95 % intervals in brackets"]
    if compare is not None:
        lines += [f"{name}: {printable(path)}" for name, path in paths.items()]
        lines += [COMPARISON, *notes]
    echo("\n".join([*lines, "", *score_lines(content)]))
    if report is not None:
        content["notes"] = [*notes, "There are no baselines, which need training data."]
        content["settings"] = {**paths, **files.paths(), **describe_model(first)}
        content["title"] = f"{paths[MODEL]}, evaluated"
        echo(write_report(report, content, echo))
    echo(json.dumps(summarize(content)))


def compare_tasks(models, paths):
    """Notes on models that may be compared, list of str; ValueError for others."""
    kinds = {(model.task_name, type(model.files)) for model in models.values()}
    if len(kinds) > 1:
        answers = {name: describe_answers(model) for name, model in models.items()}
        received = [f"{paths[name]}, {answers[name]}" for name in models]
        raise ValueError(
            "Models that are compared must have the same task, and labels of the same "
            f"form. Received: {' and '.join(received)}."
        )
    known = {name: model.labels or () for name, model in models.items()}
    notes = []
    for name, other in ((MODEL, COMPARED), (COMPARED, MODEL)):
        only = {*known[name]} - {*known[other]}
        notes += name_labels(f"that only {printable(paths[name])} has", only)
    if notes:
        notes.append("So means over labels, such as macro F1, are over other labels.")
    return notes


def describe_answers(model):
    """The task of a model, and the names of its answers, str."""
    names = model.files.table_names or model.files.answer_names or ()
    return f"{model.task_name} ({', '.join(names)})" if names else model.task_name


def check_rows(model, path, x, labels):
    """Raises ValueError, which names the model, if it cannot read texts or labels."""
    try:
        model.check_columns(len(columns_of(x)))
        model.encode_labels(model.files.parse_labels(labels))
    except ValueError as error:
        raise ValueError(f"{path} cannot be scored on these rows. {error}") from error


def score_models(models, rows, seed):
    """Scores models on the same rows.

    Args:
        models: dict of `MODEL` and perhaps `COMPARED`.
        rows: texts and labels.
        seed: int, of the bootstrap.

    Returns:
        dict of plain values: data and scored, and what `assess_model` returns. The
        scores of the training, such as the loss, have no interval.
    """
    first = models[MODEL]
    to_score = first.files.rows_to_score(first, *rows)
    others = {k: assess(model, *rows) for k, model in models.items() if k != MODEL}
    content = {
        "data": describe_data(first, {SCORED_PART_NAME: rows}),
        "scored": {"part": SCORED_PART_NAME, "rows": len(to_score[1])},
        **assess_model(first, to_score, others, seed),
    }
    scores = content["scores"]
    if "tables" not in content:  # these are all scores
        return content
    for name, model in models.items():
        for score, value in model.files.evaluate(model, *rows).items():
            scores[name].setdefault(score, {"value": value})
    names = dict.fromkeys(key for found in scores.values() for key in found)
    for name, found in scores.items():
        scores[name] = {key: found.get(key, {"value": None}) for key in names}
    tables = content["tables"]
    for other in others.values():
        for title, table in shown_tables(other).items():
            tables[title] = join_tables(tables.get(title, []), table)
    return content


def join_tables(rows, others):
    """A table of the same columns of two models; None where one has no row."""
    if not rows + others:
        return []
    key, *columns = (rows + others)[0]
    ours, theirs = ({row[key]: row for row in table} for table in (rows, others))
    joined = []
    for name in {**ours, **theirs}:
        row = {column: ours.get(name, {}).get(column) for column in columns}
        other = theirs.get(name, {})
        compared = {f"compared {c}": other.get(c) for c in columns if c != SUPPORT}
        joined.append({key: name, **row, **compared})
    return joined


def score_lines(content):
    """The scores, the differences and the tables of a report as lines of text."""
    scores, table = content["scores"], []
    for key in scores[MODEL]:
        row = {name: format_interval(found[key]) for name, found in scores.items()}
        for found in content.get("differences", {}).values():
            row["difference"] = format_interval(found.get(key, {"value": None}), "+")
        table.append({"score": key.replace("_", " "), **row})
    lines = table_lines(table)
    for title, rows in content.get("tables", {}).items():
        if rows:
            lines += ["", title, *table_lines(rows)]
    return [*lines, ""]


def table_lines(rows):
    """Lines of a table of dicts with the same keys; numbers are aligned right."""
    lines = [[key.replace("_", " ") for key in rows[0]]]
    for row in rows:
        lines.append(
            [
                printable(value, SHOWN_CHARACTERS)
                if isinstance(value, str)
                else format_number(value)
                for value in row.values()
            ]
        )
    texts = [isinstance(value, str) for value in rows[0].values()]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if text else cell.rjust(width)
            for cell, width, text in zip(line, widths, texts, strict=True)
        ).rstrip()
        for line in lines
    ]


def summarize(content):
    """The scores for programs, a dict of plain values.

    It has the value of each score, and intervals; with another model also compared, the
    same of that one, and differences, with value, low and high.
    """

    def plain(scores):
        values = {name: score["value"] for name, score in scores.items()}
        intervals = {
            name: [score["low"], score["high"]]
            for name, score in scores.items()
            if "low" in score
        }
        return {**values, "intervals": intervals}

    found = plain(content["scores"][MODEL])
    if COMPARED in content["scores"]:
        found["compared"] = plain(content["scores"][COMPARED])
        found["differences"] = content["differences"][COMPARED]
    return found
