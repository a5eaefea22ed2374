"""The table of GPT's fine-tuning: what is read, trained and compared."""

import dataclasses

import keras
import numpy as np
import pytest
import tiny
from test_labelled_sets import write, write_sets
from tiny_gpt import tiny_byte_tokenizer

import zoo
from zoo.models.gpt import GPT, GPTConfig


@pytest.fixture
def finetuning(monkeypatch, tmp_path):
    """The module under test, with small sets and folders of its own."""
    from benchmarks.tables import gpt_finetuning

    for name, value in {"SEEDS": 2, "EPOCHS": 1}.items():
        monkeypatch.setattr(gpt_finetuning, name, value)
    monkeypatch.setattr(gpt_finetuning, "RATES", (1e-3, 1e-2))
    for name, task in gpt_finetuning.TASKS.items():
        small = dataclasses.replace(task, train=None)
        monkeypatch.setitem(gpt_finetuning.TASKS, name, small)
    write_sets(tmp_path)
    write_choices(tmp_path)
    return gpt_finetuning


def write_choices(folder, count=24):
    """STS-B and CODAH as their files hold them. The right ending begins with "good"."""
    draw = np.random.default_rng(0)
    words = ["good", "bad", "dull", "fine", "old", "new"]
    for part in ("train", "dev"):
        pairs, choices = ["sentence1\tsentence2\tscore"], []
        for _ in range(count):
            a, b = (" ".join(draw.choice(words, 4)) for _ in range(2))
            pairs.append(f"{a}\t{b}\t{len({*a.split()} & {*b.split()})}")
            right = int(draw.integers(4))
            endings = ["bad " + b, "dull " + a, "new " + b, "old " + a]
            endings[right] = "good " + b
            choices.append("\t".join(["o", a, *endings, str(right)]))
        write(folder / f"glue/STS-B/{part}.tsv.gz", pairs)
        write(folder / f"codah/{part}.tsv.gz", choices)


@pytest.fixture(scope="module")
def preset(tmp_path_factory):
    """A tiny GPT as a directory."""
    keras.utils.set_random_seed(7)
    model = zoo.CausalLM(GPT(GPTConfig(**tiny.GPT_CONFIG)), tiny_byte_tokenizer())
    path = tmp_path_factory.mktemp("presets") / "gpt_tiny"
    model.save_to_preset(path)
    return str(path)


def test_tasks_read_their_files(finetuning, tmp_path):
    tasks = finetuning.TASKS
    (pair, number), *_ = tasks["stsb"].load(tmp_path)["train"]
    assert len(pair) == 2 and isinstance(number, float)
    choices, right = tasks["codah"].load(tmp_path)["test"][0]
    assert len(choices) == 5 and choices[1 + right].startswith("good")
    (premise, hypothesis), label = tasks["snli_18000"].load(tmp_path)["test"][0]
    assert premise and hypothesis and label in ("1", "2", "3")


def test_baselines_are_what_their_names_say(finetuning, tmp_path):
    scores = {}
    for name, task in finetuning.TASKS.items():
        parts = task.load(tmp_path)
        x, y = map(list, zip(*parts["test"], strict=True))
        for baseline, predict in task.baselines.items():
            scores[name, baseline] = task.score(y, predict(parts["train"], x))
    assert scores["stsb", "mean"] == 0.0
    assert scores["stsb", "TF-IDF"] > 0.4
    assert scores["codah", "TF-IDF"] > 0.9
    assert scores["codah", "majority"] < 0.6
    assert 0.4 < scores["sst2_1000", "majority"] < scores["sst2_1000", "TF-IDF"]


def test_a_difference_is_that_of_the_means(finetuning):
    task = finetuning.TASKS["sst2_1000"]
    gold = ["0", "1"] * 20
    right, wrong = {"predicted": gold}, {"predicted": ["0"] * 40}
    assert (
        finetuning.difference(task, gold, ([right], [right])) == "+0.0 (+0.0 to +0.0)"
    )
    found = finetuning.difference(task, gold, ([right, right], [right, wrong]))
    assert found.startswith("+25.0 (+")


@pytest.mark.slow
@pytest.mark.usefixtures("eagerly")
@pytest.mark.parametrize("way", ["preset_lm", "random"])
def test_a_way_says_how_a_model_starts(finetuning, preset, make_run, way):
    run = make_run(finetuning, given=[preset], dtype="float32")
    rows = run.parts("stsb", finetuning.TASKS["stsb"])["train"]
    model = finetuning.train(run, ("stsb", way, 0), rows[:4], 1e-30)
    first = zoo.from_preset(preset).backbone.get_weights()
    same = np.array_equal(model.backbone.get_weights()[0], first[0])
    assert same == (way == "preset_lm")
    assert model.options["lm_weight"] == (0.5 if way == "preset_lm" else 0.0)
    assert model.options["head"] == "delimiter" and model.options["both_orders"]


@pytest.mark.slow
def test_the_rate_of_a_cell_is_searched(finetuning, preset, make_run, command):
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
