"""A preset beside its random twin on GLUE's files, tiny ones."""

import csv
import json
import shutil

import keras
import pytest
import tiny
from click.testing import CliRunner

from zoo.commands.main import main
from zoo.programs.scores import glue_table
from zoo.registry import build_backbone
from zoo.tasks import Task


@pytest.fixture(scope="module")
def folder(tmp_path_factory, tokenizer):
    """SST-2, STS-B and a preset, all tiny."""
    folder = tmp_path_factory.mktemp("glue")
    texts, labels = tiny.make_texts(120)
    numbers = [str(tiny.LABELS.index(label)) for label in labels]
    pairs = [texts, texts[::-1], [f"{len(text) % 6}.0" for text in texts]]
    for name, header, columns in (
        ("SST-2", ["sentence", "label"], [texts, numbers]),
        ("STS-B", ["sentence1", "sentence2", "score"], pairs),
    ):
        (folder / name).mkdir()
        for split, rows in (("train", slice(0, 90)), ("dev", slice(90, 120))):
            with open(folder / name / f"{split}.tsv", "w", newline="") as file:
                writer = csv.writer(file, delimiter="\t", lineterminator="\n")
                writer.writerow(header)
                writer.writerows(zip(*(c[rows] for c in columns), strict=True))
    backbone = build_backbone("bert", tiny.CONFIG)
    backbone.tokenizer = tokenizer
    backbone.save_to_preset(folder / "preset")
    return folder


@pytest.mark.slow
def test_both_arms_are_searched_and_scored(folder, tmp_path):
    arguments = ["glue", folder / "preset", "--data", folder, "--output", tmp_path]
    arguments += ["--seeds", 2, "--epochs", 1, "--rows", 60]
    arguments += ["--learning-rate", 1e-2, "--learning-rate", 1e-4]
    first = CliRunner().invoke(main, list(map(str, arguments)))
    assert first.exit_code == 0, first.output
    results = json.loads((tmp_path / "sst2-60.json").read_text())
    assert results["examples"] == 60
    low, high = results["interval"]
    assert low <= results["difference"] <= high
    for arm in ("preset", "random"):
        scores = {r: s["accuracy"] for r, s in results[arm]["searched"].items()}
        assert scores[str(results[arm]["rate"])] == max(scores.values())
        assert len(scores) == 2
        assert 0 <= results[arm]["dev"]["accuracy"]["mean"] <= 1
    runs = sorted(tmp_path.glob("sst2-60-*.json"))
    assert len(runs) == 6  # two rates with seed 0, the better one with seed 1
    assert all(len(json.loads(path.read_text())["valid"]) == 9 for path in runs)
    again = CliRunner().invoke(main, list(map(str, arguments)))
    assert "seed" not in again.output  # nothing is run twice
    assert again.output.splitlines() == first.output.splitlines()[6:]
    assert "95% interval" in again.output
    other = CliRunner().invoke(main, [*map(str, arguments), "--pooling", "mean"])
    assert "Give another directory" in other.output


@pytest.mark.slow
def test_correlations(folder, tmp_path):
    results = glue_table.compare(
        folder / "preset", folder, tmp_path, "stsb", seeds=1, epochs=1, rates=[1e-3]
    )
    low, high = results["interval"]
    assert results["metric"] == "pearson"
    assert low <= results["difference"] <= high and low < high
    assert "spearman" in glue_table.table(results)[0]


@pytest.mark.slow
def test_one_arm_alone(folder, tmp_path):
    results = glue_table.compare(
        folder / "preset",
        folder,
        tmp_path,
        examples=20,
        seeds=1,
        epochs=1,
        rates=[1e-3],
        arms=["preset"],
        echo=str,
    )
    assert "random" not in results and "difference" not in results
    assert len(glue_table.table(results)) == 3
    with pytest.raises(ValueError, match="All results in .* must have the settings"):
        other = shutil.copytree(folder, tmp_path / "other")
        options = {"examples": 20, "epochs": 1, "arms": ["preset"]}
        glue_table.compare(folder / "preset", other, tmp_path, **options)
    with pytest.raises(ValueError, match="`arms` must be of"):
        glue_table.compare(folder / "preset", folder, tmp_path, arms=["best"])


def test_stored_runs_are_of_the_same_rows(folder, tmp_path, monkeypatch):
    def finetune(preset, task, parts, *rest, **settings):
        return {part: parts[part][1] for part in ("valid", "dev")}

    monkeypatch.setattr(glue_table, "finetune", finetune)
    data = shutil.copytree(folder, tmp_path / "data")
    paths, options = (folder / "preset", data, tmp_path / "run"), {"echo": str}
    found = glue_table.compare(*paths, rates=[1e-3], seeds=1, **options)
    assert found["preset"]["dev"] == {"accuracy": {"mean": 1.0, "deviation": None}}
    assert "| preset | 0.001 | 100.0 |" in glue_table.table(found)
    train = data / "SST-2" / "train.tsv"
    lines = train.read_text().splitlines()
    train.write_text("\n".join([lines[0], *lines[:0:-1]]))
    with pytest.raises(ValueError, match="other data than those of .*0.001-0.json"):
        glue_table.compare(*paths, rates=[1e-3], seeds=1, **options)


def test_the_deviation_is_that_of_a_sample():
    found = glue_table.summary([{"f1": 0.5}, {"f1": 0.7}])["f1"]
    assert glue_table.percent(found) == "60.0 ± 14.1"


def test_parts_share_no_example(folder):
    parts = glue_table.split(folder, "sst2", 40)
    texts = [parts[name][0] for name in ("valid", "train", "dev")]
    assert [len(part) for part in texts] == [9, 40, 30]
    with pytest.raises(ValueError, match="at most 81.*Received: 82"):
        glue_table.split(folder, "sst2", 82)


def test_the_difference_is_the_mean_over_seeds():
    labels = ["0", "1", "1", "0"]
    runs = {
        "preset": [{"dev": labels}, {"dev": ["0", "1", "1", "1"]}],
        "random": [{"dev": ["1", "1", "1", "1"]}] * 2,
    }
    found = glue_table.difference("sst2", labels, runs)
    assert found["difference"] == pytest.approx(0.375)
    assert found["interval"][0] <= 0.375 <= found["interval"][1]


@pytest.mark.usefixtures("eagerly")
def test_a_few_examples_may_lack_a_label(folder):
    parts = glue_table.split(folder, "sst2", 1)
    plan = "preset", 1e-3, 0, 1, 8
    found = glue_table.finetune(folder / "preset", "sst2", parts, *plan)
    assert len(found["dev"]) == 30 and {*found["dev"]} <= {"0", "1"}


def test_a_diverged_run_is_an_error(folder, monkeypatch):
    def fit(self, *args, **options):
        found = keras.callbacks.History()
        found.history = {"loss": [float("nan")]}
        return found

    monkeypatch.setattr(Task, "fit", fit)
    parts, plan = glue_table.split(folder, "sst2", 8), ("preset", 1e-3, 0, 1, 8)
    with pytest.raises(FloatingPointError, match="must be finite.*Received: nan"):
        glue_table.finetune(folder / "preset", "sst2", parts, *plan)


def test_an_ensemble_is_not_trained(folder, tmp_path):
    (tmp_path / "ensemble.json").write_text('{"format": 1, "members": 2}')
    parts, plan = glue_table.split(folder, "sst2", 8), ("preset", 1e-3, 0, 1, 8)
    with pytest.raises(ValueError, match="must be one model. .*which is an ensemble"):
        glue_table.finetune(tmp_path, "sst2", parts, *plan)
