"""A preset beside its random twin on GLUE's files, tiny ones."""

import csv
import json
import shutil

import keras
import pytest
import tiny
from command_line import run

import zoo
from zoo.programs.scores import comparison
from zoo.programs.scores.comparison import Comparison
from zoo.programs.scores.suite_results import percent, summary
from zoo.programs.scores.suite_tasks import SUITE
from zoo.tasks import Task

ONE = {"learning_rate": [1e-3], "epochs": 1, "echo": str}


def compare(folder, output, *tasks, arms="preset", data=None, **options):
    """A comparison of the preset in a folder, with one rate and one epoch."""
    paths = folder / "preset", data or folder, output
    return zoo.evaluate_suite(*paths, tasks, compare=arms, **{**ONE, **options})


def parts_of(folder, rows, task="sst2"):
    return comparison.split(task, SUITE[task].find(folder), rows)


def finetune(preset, parts, **options):
    settings = {"epochs": 1, "batch_size": 8, **options}
    arguments = preset, None, [0], None, print, "preset", settings
    return Comparison(*arguments).finetune(SUITE["sst2"], parts, "preset", 1e-3, 0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, preset):
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
    shutil.copytree(preset, folder / "preset")
    return folder


@pytest.mark.slow
def test_both_arms_are_searched_and_scored(folder, tmp_path):
    command = ["evaluate-suite", folder / "preset", "--data", folder, "--compare"]
    command += ["both", "--output", tmp_path, "--task", "sst2", "--rows", 60]
    command += ["--epochs", 1, "--learning-rate", 1e-2, "--learning-rate", 1e-4]
    first = run(*command, "--seeds", 2)
    results = json.loads((tmp_path / "sst2-60-comparison.json").read_text())
    assert results["examples"] == 60
    low, high = results["interval"]
    assert low <= results["difference"] <= high
    for arm in ("preset", "random"):
        scores = {r: s["accuracy"] for r, s in results[arm]["searched"].items()}
        assert scores[str(results[arm]["rate"])] == max(scores.values())
        assert len(scores) == 2
        assert 0 <= results[arm]["dev"]["accuracy"]["mean"] <= 1
    runs = sorted(tmp_path.glob("sst2-60-*-?.json"))
    assert len(runs) == 6  # two rates with seed 0, the better one with seed 1
    assert all(len(json.loads(path.read_text())["valid"]) == 9 for path in runs)
    again = run(*command, "--seeds", 2)
    assert "seed" not in again  # nothing is run twice
    assert again.splitlines() == first.splitlines()[6:] and "95% interval" in again
    assert "Give another directory" in run(*command, "--pooling", "mean", code=1)


@pytest.mark.slow
def test_correlations(folder, tmp_path):
    results = compare(folder, tmp_path, "stsb", arms="both")["stsb"]
    low, high = results["interval"]
    assert results["metric"] == "pearson"
    assert low <= results["difference"] <= high and low < high
    assert "spearman" in comparison.format_comparison(results)[0]


@pytest.mark.slow
def test_one_arm_alone(folder, tmp_path):
    results = compare(folder, tmp_path, "sst2", rows=20)["sst2"]
    assert "random" not in results and "difference" not in results
    assert len(comparison.format_comparison(results)) == 3
    other = shutil.copytree(folder, tmp_path / "other")
    with pytest.raises(ValueError, match="All results in .* must have the settings"):
        compare(folder, tmp_path, "sst2", rows=20, data=other)


def test_wrong_arguments(folder, tmp_path):
    with pytest.raises(ValueError, match="must be one of both, preset, random"):
        compare(folder, tmp_path, "sst2", arms="best")
    with pytest.raises(ValueError, match=r"of cola, .*wnli. Received: \['snli'\]"):
        compare(folder, tmp_path, "snli", arms="both")
    command = ["evaluate-suite", folder / "preset", "--data", folder, "--output"]
    command += [tmp_path, "--learning-rate", 1e-2, "--learning-rate", 1e-4]
    assert "repeated only with --compare" in run(*command, code=2)


def test_stored_runs_are_of_the_same_rows(folder, tmp_path, monkeypatch):
    def finetune(self, task, parts, *rest):
        return {part: parts[part][1] for part in ("valid", "dev")}

    monkeypatch.setattr(Comparison, "finetune", finetune)
    data = shutil.copytree(folder, tmp_path / "data")
    output = tmp_path / "run"
    found = compare(folder, output, "sst2", data=data, arms="both")["sst2"]
    assert found["preset"]["dev"] == {"accuracy": {"mean": 1.0, "deviation": None}}
    assert "| preset | 0.001 | 100.0 |" in comparison.format_comparison(found)
    train = data / "SST-2" / "train.tsv"
    lines = train.read_text().splitlines()
    train.write_text("\n".join([lines[0], *lines[:0:-1]]))
    with pytest.raises(ValueError, match="contents of train.tsv than .*0.001-0.json"):
        compare(folder, output, "sst2", data=data, arms="both")


def test_the_deviation_is_that_of_a_sample():
    found = summary([{"f1": 0.5}, {"f1": 0.7}])["f1"]
    assert percent(found) == "60.0 ± 14.1"


def test_parts_share_no_example(folder):
    parts = parts_of(folder, 40)
    texts = [parts[name][0] for name in ("valid", "train", "dev")]
    assert [len(part) for part in texts] == [9, 40, 30]
    with pytest.raises(ValueError, match="at most 81.*Received: 82"):
        parts_of(folder, 82)


def test_the_difference_is_the_mean_over_seeds():
    labels = ["0", "1", "1", "0"]
    runs = {
        "preset": [{"dev": labels}, {"dev": ["0", "1", "1", "1"]}],
        "random": [{"dev": ["1", "1", "1", "1"]}] * 2,
    }
    found = comparison.difference("sst2", labels, runs)
    assert found["difference"] == pytest.approx(0.375)
    assert found["interval"][0] <= 0.375 <= found["interval"][1]


@pytest.mark.usefixtures("eagerly")
def test_a_few_examples_may_lack_a_label(folder):
    found = finetune(folder / "preset", parts_of(folder, 1))
    assert len(found["dev"]) == 30 and {*found["dev"]} <= {"0", "1"}


def test_a_diverged_run_is_an_error(folder, monkeypatch):
    def fit(self, *args, **options):
        found = keras.callbacks.History()
        found.history = {"loss": [float("nan")]}
        return found

    monkeypatch.setattr(Task, "fit", fit)
    with pytest.raises(FloatingPointError, match="must be finite.*Received: nan"):
        finetune(folder / "preset", parts_of(folder, 8))


def test_an_ensemble_is_not_trained(folder, tmp_path):
    (tmp_path / "ensemble.json").write_text('{"format": 1, "members": 2}')
    with pytest.raises(ValueError, match="must be one model. .*which is an ensemble"):
        finetune(tmp_path, parts_of(folder, 8))
