"""The report of `zoo finetune`, on tiny models and hostile data."""

import json
import os
import re
import subprocess
import sys
from unittest import mock

import numpy as np
import pytest
import tiny
from report_runs import finetune, write_table

import zoo
from zoo.programs.finetune import finetuning
from zoo.programs.finetune.data_summary import data_lines, describe_data
from zoo.programs.finetune.labelled_rows import RowFiles
from zoo.programs.finetune.progress import check_output
from zoo.visualize.plain_text import printable


@pytest.mark.slow
def test_scores_are_those_of_scikit_learn(classified):
    metrics = pytest.importorskip("sklearn.metrics")
    _, report, directory, (texts, truth) = classified
    model = zoo.load_model(directory / "m.keras")
    answers = model.answer(texts)
    found = answers["label"].tolist()
    scores = report["scores"]["model"]
    assert scores["accuracy"]["value"] == metrics.accuracy_score(truth, found)
    f1 = metrics.f1_score(truth, found, average="macro")
    assert scores["macro_f1"]["value"] == pytest.approx(f1)
    matrix = metrics.confusion_matrix(truth, found, labels=tiny.LABELS)
    assert report["confusion"] == {"labels": tiny.LABELS, "matrix": matrix.tolist()}
    labels = tiny.make_texts(48)[1]
    majority = max(set(labels), key=labels.count)
    share = report["scores"]["majority"]["accuracy"]["value"]
    assert share == truth.count(majority) / len(truth)
    wrong = [i for i in range(len(truth)) if truth[i] != found[i]]
    wrong.sort(key=lambda i: -answers["score"][i])
    errors, first = report["errors"], wrong[0]
    assert [error["texts"] for error in errors] == [[texts[i]] for i in wrong[:20]]
    expected = {"true": truth[first], "predicted": found[first]}
    assert errors[0]["labels"] == expected
    difference = report["differences"]["majority"]["accuracy"]["value"]
    assert difference == pytest.approx(scores["accuracy"]["value"] - share)


def test_the_report_says_what_was_read_and_set(classified):
    output, report, directory, (_, truth) = classified
    counts = report["data"]["validation"]["counts"]
    assert counts == {label: truth.count(label) for label in counts}
    assert report["data"]["training"]["rows"] == 48
    settings = report["settings"]
    assert settings["data"] == str(directory / "train.tsv")
    assert settings["epochs"] == 2 and settings["batch size"] == 8
    assert settings["zoo"] == zoo.__version__ and settings["learning rate"] == 0.01
    lengths = report["tokens"]
    assert lengths["texts"] == 88 and lengths["longer"] == 0
    assert f"longest {lengths['longest']}. 0 of 88 texts" in output
    assert "48 rows for training, 40 rows for validation." in output
    names = ("loss", "accuracy", "learning_rate", "confusion")
    pictures = {f"{name}.{suffix}" for name in names for suffix in ("svg", "png")}
    assert {*report["pictures"]} == pictures
    for name in pictures:
        assert (directory / "m_report" / name).stat().st_size > 1000


def test_curves_are_means_over_updates(classified):
    _, report, _, _ = classified
    updates, history = report["updates"], report["history"]
    assert updates["update"] == list(range(1, 13))
    for epoch in range(2):  # batches of equal size
        part = updates["loss"][6 * epoch : 6 * (epoch + 1)]
        assert np.mean(part) == pytest.approx(history["loss"][epoch], abs=1e-5)
    rates = updates["learning_rate"]
    assert max(rates) <= 0.01 and rates[-1] == pytest.approx(0, abs=1e-6)


def test_no_control_characters_without_a_terminal(classified):
    output, _, _, _ = classified
    assert not re.search("[\x00-\x09\x0b-\x1f]", output)
    epochs = [line for line in output.splitlines() if line.startswith("epoch")]
    assert len(epochs) == 2
    assert re.fullmatch(
        r"epoch 1 of 2: accuracy [\d.]+, loss [\d.]+, validation accuracy [\d.]+, "
        r"validation loss [\d.]+, score [\d.]+, [\d.]+ s",
        epochs[0],
    )


def fit(model, monkeypatch, losses, epochs):
    """Trains by a method `fit` that only returns losses; returns its options."""
    calls = []

    def fit_nothing(*_, **options):
        calls.append(options)
        return type("History", (), {"history": losses})

    monkeypatch.setattr(model, "fit", fit_nothing)
    parts = dict.fromkeys(("training", "validation"), (["a"], ["bad"]))
    sizes = {"batch_size": 8, "token_budget": None}
    finetuning.fit(model, parts, epochs, sizes, 0, print)
    return calls[0]


def test_a_terminal_gets_the_bar_of_keras(make_task, monkeypatch):
    model = make_task()
    for terminal in (True, False):
        monkeypatch.setattr("sys.stdout.isatty", lambda t=terminal: t, raising=False)
        assert fit(model, monkeypatch, {}, 1)["verbose"] == int(terminal)


def test_a_diverged_training_is_an_error(make_task, monkeypatch):
    with pytest.raises(FloatingPointError, match="Received: nan. Lower the learning"):
        fit(make_task(), monkeypatch, {"loss": [0.5, float("nan")]}, 2)


def test_one_label_is_an_error(preset, tmp_path):
    data = write_table(tmp_path / "train.tsv", ["a film", "a plot"], ["x", "x"])
    output, _ = finetune(preset, data, tmp_path, "--valid", data, code=1)
    assert "1 labels for training: x: 2 (100.0 %)." in output
    assert "`labels` must be two or more different names" in output
    assert not (tmp_path / "m_report").exists()


@pytest.mark.slow
def test_validation_with_one_label_and_an_unknown_label(preset, tmp_path):
    texts, labels = tiny.make_texts(16)
    data = write_table(tmp_path / "train.tsv", texts, labels)
    valid = write_table(tmp_path / "valid.tsv", ["good"], ["good"])
    output, report = finetune(preset, data, tmp_path, "--valid", valid)
    assert "Labels without a row for validation: bad." in output
    assert report["data"]["validation"] == {"rows": 1, "counts": {"good": 1}}
    valid = write_table(tmp_path / "valid.tsv", ["good"], ["new"])
    output, _ = finetune(preset, data, tmp_path, "--valid", valid, code=1)
    assert "Labels without a row for training: new." in output
    assert "labels of the model. Received: ['new']" in output
    assert "epoch" not in output


def test_paths_are_checked_before_the_training(preset, tmp_path):
    data = write_table(tmp_path / "train.tsv", ["a film", "a plot"], ["x", "y"])
    for report, message in (
        (data, "The output must be a directory. Received:"),
        (tmp_path / "m.keras" / "r", "The report must be beside the model. Received:"),
        (data / "r", "train.tsv"),
    ):
        output, _ = finetune(preset, data, tmp_path, "--report", report, code=1)
        assert message in output and "rows for training" not in output
    (tmp_path / "m.keras").mkdir()
    output, _ = finetune(preset, data, tmp_path, code=1)
    assert "The output must be a file. Received:" in output
    assert "rows for training" not in output
    with pytest.raises(OSError, match="train.tsv"):
        check_output(data / "m.keras")


def test_large_numbers_of_labels_and_rare_ones():
    labels = ["x"] * 3 + ["y"] + ["\x08"] * 2
    data = describe_data(zoo.TextClassifier, {"training": (None, labels)})
    assert data == {"training": {"rows": 6, "counts": {"x": 3, "\x08": 2, "y": 1}}}
    assert data_lines(data) == [
        "6 rows for training.",
        "3 labels for training: x: 3 (50.0 %); \ufffd: 2 (33.3 %); y: 1 (16.7 %).",
        "Labels that occur once for training: y.",
    ]


def test_only_a_model_that_is_saved_is_compiled_again(tmp_path):
    data = write_table(tmp_path / "a.tsv", ["a", "b", "c"], ["x", "y", "x"])
    for output in (None, tmp_path / "m.keras"):
        model = mock.Mock(files=zoo.TextClassifier.files)
        model.get_compile_config.return_value = {"optimizer": {}}
        trainer = mock.Mock(return_value=(model, {}))
        files = RowFiles(data)
        finetuning.run("no preset", files, "text_classifier", output, trainer=trainer)
        assert model.compile_from_config.called == (output is not None)


def test_shares_of_labels_are_of_texts_or_of_words():
    sets = {"training": (None, [("x", "y"), ("x",), (), ("x",)])}
    words = {"training": (None, [["O", "B-A", "O"], ["O"]])}
    for kind, parts, shares in (
        (zoo.TextClassifier, sets, "x: 3 (75.0 %); y: 1 (25.0 %)"),
        (zoo.TokenClassifier, words, "O: 3 (75.0 %); B-A: 1 (25.0 %)"),
    ):
        said = []
        finetuning.summarize(kind, parts, said.append)
        assert f"2 labels for training: {shares}." in said[0]


def test_printable():
    assert printable("a\tb\nc\x00\ud800\uffff") == "a b c\ufffd\ufffd\ufffd"
    assert printable("x" * 1200, 5) == "xxxxx… (1,200 characters)"
    assert printable("👩\u200d🎤\u00a0é") == "👩\u200d🎤\u00a0é"


@pytest.mark.slow
def test_a_classifier_is_trained_on_jax(preset, tmp_path):
    """Between updates, JAX's variables have no values unless they are asked for."""
    pytest.importorskip("jax")
    texts, labels = tiny.make_texts(32)
    data = write_table(tmp_path / "train.tsv", texts, labels)
    command = ["finetune", preset, "--data", data, "--output", tmp_path / "m.keras"]
    program = "import sys; from zoo.commands.main import main; main(sys.argv[1:])"
    subprocess.run(
        [sys.executable, "-c", program, *map(str, command), "--batch-size", "8"],
        env={**os.environ, "KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"},
        check=True,
    )
    report = json.loads((tmp_path / "m_report" / "report.json").read_text("utf-8"))
    assert np.isfinite(report["updates"]["loss"]).all()
    assert max(report["updates"]["learning_rate"]) > 0
