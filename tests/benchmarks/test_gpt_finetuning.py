"""The table of GPT's fine-tuning: what is read, trained and compared."""

import numpy as np
import pytest
from tiny_inputs import make_gpt, write_choices

import zoo
from benchmarks.tables import gpt_finetuning as finetuning

TASKS = finetuning.TASKS


@pytest.fixture(autouse=True)
def sizes(small_sets, monkeypatch, tmp_path):
    """Small sets, few seeds and rates."""
    for name, value in {"SEEDS": 2, "EPOCHS": 1, "RATES": (1e-3, 1e-2)}.items():
        monkeypatch.setattr(finetuning, name, value)
    write_choices(tmp_path)


@pytest.fixture(scope="module")
def preset(tmp_path_factory):
    """A tiny GPT as a directory."""
    path = tmp_path_factory.mktemp("presets") / "gpt_tiny"
    make_gpt().save_to_preset(path)
    return str(path)


def test_tasks_read_their_files(tmp_path):
    (pair, number), *_ = TASKS["stsb"].load(tmp_path)["train"]
    assert len(pair) == 2 and isinstance(number, float)
    choices, right = TASKS["codah"].load(tmp_path)["test"][0]
    assert len(choices) == 5 and choices[1 + right].startswith("good")
    (premise, hypothesis), label = TASKS["snli_18000"].load(tmp_path)["test"][0]
    assert premise and hypothesis and label in ("1", "2", "3")


def test_baselines_are_what_their_names_say(tmp_path):
    scores = {}
    for name, task in TASKS.items():
        parts = task.load(tmp_path)
        x, y = map(list, zip(*parts["test"], strict=True))
        for baseline, predict in task.baselines.items():
            scores[name, baseline] = task.score(y, predict(parts["train"], x))
    assert scores["stsb", "mean"] == 0.0
    assert scores["stsb", "TF-IDF"] > 0.4
    assert scores["codah", "TF-IDF"] > 0.9
    assert scores["codah", "majority"] < 0.6
    assert 0.4 < scores["sst2_1000", "majority"] < scores["sst2_1000", "TF-IDF"]


def test_a_difference_is_that_of_the_means():
    task = TASKS["sst2_1000"]
    gold = ["0", "1"] * 20
    right, wrong = {"predicted": gold}, {"predicted": ["0"] * 40}
    found = finetuning.difference(task, gold, ([right], [right]))
    assert found == "+0.0 (+0.0 to +0.0)"
    found = finetuning.difference(task, gold, ([right, right], [right, wrong]))
    assert found.startswith("+25.0 (+")


@pytest.mark.slow
@pytest.mark.usefixtures("eagerly")
@pytest.mark.parametrize("way", ["preset_lm", "random"])
def test_a_way_says_how_a_model_starts(preset, make_run, way):
    run = make_run(finetuning, given=[preset], dtype="float32")
    rows = run.parts("stsb", TASKS["stsb"])["train"]
    model = finetuning.train(run, ("stsb", way, 0), rows[:4], 1e-30)
    first = zoo.from_preset(preset).backbone.get_weights()
    same = np.array_equal(model.backbone.get_weights()[0], first[0])
    assert same == (way == "preset_lm")
    assert model.options["lm_weight"] == (0.5 if way == "preset_lm" else 0.0)
    assert model.options["head"] == "delimiter" and model.options["both_orders"]


@pytest.mark.slow
def test_the_rate_of_a_cell_is_searched(preset, make_run, command):
    given = ["gpt_finetuning", f"--preset={preset}", "--dtype=float32"]
    assert command(*given, "--list").count("missing") == 4 * 4 * 2
    command(*given, "--cells=codah-*", "--cells=stsb-*-preset*")
    run = make_run(finetuning)
    page = (run.folder / "README.md").read_text()
    (codah,) = [line for line in page.splitlines() if line.startswith("| CODAH")]
    assert codah.count(", rate 0.0") == 4 and codah.count(" to ") == 2
    (stsb,) = [line for line in page.splitlines() if line.startswith("| STS-B")]
    assert stsb.count(" to ") == 1  # without random weights, one difference only
    result = run.stored("stsb-gpt_tiny-preset_lm-1")
    assert result["rate"] in finetuning.RATES and len(result["predicted"]) == 24
