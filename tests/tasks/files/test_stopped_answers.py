"""Answers to a table that were stopped, and what changed before they went on."""

import json
import os
import shutil

import pytest
import tiny
from disk import full_disk
from tiny_bert import tiny_bert
from written_tables import COLUMNS, TEXTS, read, write

import zoo
from zoo.tasks.files import table_answers


def test_a_stopped_call_continues(model, tmp_path, monkeypatch):
    data, output = write(tmp_path / "a.csv"), tmp_path / "out.csv"
    monkeypatch.setattr(table_answers, "ROWS_IN_BLOCK", 5)
    answer, blocks = model.answer, []

    def stopping(x, batch_size=None):
        blocks.append(len(x))
        if len(blocks) == 2:
            raise KeyboardInterrupt
        return answer(x, batch_size)

    monkeypatch.setattr(model, "answer", stopping)
    with pytest.raises(KeyboardInterrupt):
        model.answer_file(data, output, verbose=0)
    assert not output.exists() and blocks == [5, 5]
    model.answer_file(data, output, verbose=0)
    assert blocks == [5, 5, 5, 2]
    assert read(output)["predicted_label"] == answer(TEXTS)["label"].tolist()
    # The answers of other texts are not mixed up.
    blocks.clear()
    with pytest.raises(KeyboardInterrupt):
        model.answer_file(data, output, verbose=0)
    other = write(tmp_path / "a.csv", {**COLUMNS, "text": TEXTS[::-1]})
    with pytest.raises(ValueError, match="answers of other texts or of another model"):
        model.answer_file(other, output, verbose=0)


@pytest.fixture(scope="module")
def stopped(model, tmp_path_factory):
    """Copies of the folder of an output, as it is if a process is killed.

    They are made before and after each step that a process cannot take back. Returns
    the folders and the file of a complete run.
    """
    folder, copies = tmp_path_factory.mktemp("stopped"), []
    (folder / "run").mkdir()
    data = write(folder / "a.csv")

    def copy():
        copies.append(folder / f"copy_{len(copies)}")
        shutil.copytree(folder / "run", copies[-1])

    def watched(function):
        def call(*arguments, **options):
            copy()
            found = function(*arguments, **options)
            copy()
            return found

        return call

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table_answers, "ROWS_IN_BLOCK", 5)
        for name in ("fsync", "replace", "unlink"):
            patch.setattr(os, name, watched(getattr(os, name)))
        model.answer_file(data, folder / "run" / "out.csv", verbose=0)
    return copies, folder / "run" / "out.csv"


def visible_files(folder):
    return {path.name for path in folder.iterdir() if path.name[0] != "."}


def test_a_kill_at_any_step_changes_no_byte(model, stopped, tmp_path):
    copies, complete = stopped
    data, states = write(tmp_path / "a.csv"), set()
    for number, copy in enumerate(copies):
        folder = shutil.copytree(copy, tmp_path / str(number))
        states.add(frozenset(visible_files(folder)))
        assert model.answer_file(data, folder / "out.csv", verbose=0) == 12
        assert (folder / "out.csv").read_bytes() == complete.read_bytes()
        assert visible_files(folder) == {"out.csv"}
    assert {"out.csv", "out.csv.part", "out.csv.part.json"} in states


@pytest.fixture
def half(stopped, tmp_path):
    """The folder of an output, killed after five rows."""
    records = [copy / "out.csv.part.json" for copy in stopped[0]]
    found = [
        r for r in records if r.exists() and json.loads(r.read_text())["rows"] == 5
    ]
    return shutil.copytree(found[0].parent, tmp_path / "half")


CHANGES = {
    "nothing": {},
    "another column": {"id": [f"new {number}" for number in range(12)]},
    "a text that is not done": {"text": [*TEXTS[:11], "a new text"]},
    "a text that is done": {"text": ["a new text", *TEXTS[1:]]},
    "fewer rows": {name: values[:4] for name, values in COLUMNS.items()},
    "more rows": {name: values * 2 for name, values in COLUMNS.items()},
}


@pytest.mark.parametrize("change", CHANGES)
def test_changed_tables(change, model, half, tmp_path):
    columns = {**COLUMNS, **CHANGES[change]}
    data, output = write(tmp_path / "b.csv", columns), half / "out.csv"
    if change in ("a text that is done", "fewer rows"):
        with pytest.raises(ValueError, match="answers of other texts or of another"):
            model.answer_file(data, output, verbose=0)
        return
    model.answer_file(data, output, verbose=0)
    found = read(output)
    assert {name: found[name] for name in COLUMNS} == columns
    wanted = model.answer(columns["text"])["label"].tolist()
    assert found["predicted_label"] == wanted


@pytest.mark.parametrize("damage", ["weights", "labels", "column", "part", "record"])
def test_changed_models_options_and_parts(damage, model, half, tmp_path):
    data, options = write(tmp_path / "b.csv"), {"verbose": 0}
    backbone = tiny_bert()
    if damage in ("weights", "labels"):  # other weights of the head, or other names
        labels = tiny.LABELS[::-1] if damage == "labels" else tiny.LABELS
        other = zoo.TextClassifier(backbone, backbone.tokenizer, labels=labels)
        other.set_weights([w + (damage == "weights") for w in model.get_weights()])
        model = other
    elif damage == "column":
        options["text_column"] = "label"
    else:
        lost = "out.csv.part" if damage == "part" else "out.csv.part.json"
        (half / lost).unlink()
        assert model.answer_file(data, half / "out.csv", **options) == 12
        return
    with pytest.raises(ValueError, match="answers of other texts or of another model"):
        model.answer_file(data, half / "out.csv", **options)
    (half / "out.csv.part.json").unlink()
    assert model.answer_file(data, half / "out.csv", **options) == 12


def test_a_threshold_is_a_part_of_a_model(monkeypatch):
    find = "zoo.tasks.classifiers.text_classifier.best_thresholds"
    monkeypatch.setattr(find, lambda true, scores, per_label: 0.25)
    backbone = tiny_bert()
    options = {"labels": tiny.LABELS, "multi_label": True}
    model = zoo.TextClassifier(backbone, backbone.tokenizer, **options)
    before = model.files.fingerprint(model)
    model.find_thresholds(["a good film", "a bad film"], [["good"], ["bad"]])
    assert model.files.fingerprint(model) != before


def test_a_full_disk_keeps_the_answers(model, stopped, tmp_path, monkeypatch):
    monkeypatch.setattr(table_answers, "ROWS_IN_BLOCK", 5)
    data, output = write(tmp_path / "a.csv"), tmp_path / "out.csv"
    size = stopped[1].stat().st_size
    for limit in (0, size // 4, size // 2, size - 1):
        with pytest.raises(OSError, match="keeps the answers so far"), full_disk(limit):
            model.answer_file(data, output, verbose=0)
        assert not output.exists()
    model.answer_file(data, output, verbose=0)
    assert output.read_bytes() == stopped[1].read_bytes()
