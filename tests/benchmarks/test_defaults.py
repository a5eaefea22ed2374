"""The table of defaults: what is trained, what is stored and what is shown."""

import dataclasses
import json

import click.testing
import numpy as np
import pytest
import tiny
from test_labelled_sets import write_sets

import zoo
from zoo.models.elmo import ELMo, ELMoConfig
from zoo.text import CharacterTokenizer


@pytest.fixture
def defaults(monkeypatch, tmp_path):
    """The module under test, with small labelled sets and folders of its own."""
    from benchmarks.tables import defaults, stored_results

    folder = tmp_path / "defaults"
    folder.mkdir()
    (folder / "README.md").write_text("<!-- results -->\n<!-- end of results -->\n")
    monkeypatch.setattr(stored_results, "FOLDER", folder)
    monkeypatch.setattr(stored_results, "RESULTS", folder / "results")
    for name, kind in defaults.LABELLED_SETS.items():
        small = dataclasses.replace(kind, train=None, test=None)
        monkeypatch.setitem(defaults.LABELLED_SETS, name, small)
    write_sets(tmp_path)
    return defaults


@pytest.fixture
def preset(make_backbone, tokenizer, tmp_path):
    """A tiny BERT as a directory, trained for one epoch by default."""
    backbone = make_backbone()
    backbone.tokenizer = tokenizer
    backbone.defaults = {"epochs": 1, "learning_rate": 1e-2}
    backbone.save_to_preset(tmp_path / "bert-tiny")
    return tmp_path / "bert-tiny"


@pytest.fixture
def word_model(tmp_path):
    """A tiny ELMo as a directory."""
    elmo = ELMo(ELMoConfig(**tiny.ELMO_CONFIG))
    tokenizer = CharacterTokenizer(12, tiny.WORDS, punctuation=True)
    zoo.BidirectionalLM(elmo, tokenizer).save_to_preset(tmp_path / "elmo_tiny")
    return tmp_path / "elmo_tiny"


@pytest.mark.slow
def test_models_are_what_a_user_makes(defaults, preset, word_model, tmp_path):
    sets = defaults.LABELLED_SETS
    rows = sets["conll2003_3000"].load(tmp_path)["train"]
    tagger = defaults.make_model(word_model, sets["conll2003_3000"], rows, 0)
    assert tagger.backbone.family == "taglm" and tagger.options["scheme"] == "IOB2"
    assert [*tagger.backbone.parts] == ["lm_0"]
    assert defaults.peak_rate(tagger) == pytest.approx(3e-3)
    tagger = defaults.make_model(preset, sets["conll2003_3000"], rows, 0)
    assert tagger.backbone.family == "bert" and tagger.options["decoder"] == "softmax"
    rows = sets["mrpc"].load(tmp_path)["train"]
    model = defaults.make_model(preset, sets["mrpc"], rows, 0)
    assert model.labels == ("0", "1") and defaults.peak_rate(model) == 1e-2


@pytest.mark.slow
def test_a_fit_with_another_rate(defaults, preset, tmp_path):
    kind = defaults.LABELLED_SETS["mrpc"]
    parts = kind.load(tmp_path)
    found = defaults.fit(preset, kind, parts["train"], parts["test"], 0, 0.3)
    assert (found["epochs"], found["rate"]) == (1, 0.3)
    assert np.shape(found["counts"]) == (40, 3)
    assert {tuple(row[1:]) for row in found["counts"]} == {(1, 1)}


@pytest.mark.slow
def test_a_fit_has_the_defaults(defaults, preset, word_model, tmp_path):
    kind = defaults.LABELLED_SETS["mrpc"]
    parts = kind.load(tmp_path)
    found = defaults.fit(preset, kind, parts["train"], parts["test"], 0)
    assert (found["epochs"], found["rate"]) == (1, 1e-2)
    assert found == defaults.fit(preset, kind, parts["train"], parts["test"], 0)
    kind = defaults.LABELLED_SETS["ud_ewt_3000"]
    parts = kind.load(tmp_path)
    found = defaults.fit(word_model, kind, parts["train"], parts["test"], 0, 2e-3)
    assert found["epochs"] == 10 and found["rate"] == pytest.approx(2e-3)
    assert [row[2] for row in found["counts"]] == [len(x) for x, _ in parts["test"]]


def test_a_result_has_the_options_of_its_command(defaults):
    def compute():
        return {"score": 1.0}

    found = defaults.stored("a", compute, options={"rows": (1, 2)})
    assert found["options"] == {"rows": [1, 2]}
    assert (
        found == defaults.stored("a") == defaults.stored("a", options={"rows": [1, 2]})
    )
    received = r"Received: \{'rows': \[1, 2\]\} in .*a.json, and \{'rows': 3\}"
    with pytest.raises(ValueError, match=received):
        defaults.stored("a", options={"rows": 3})
    defaults.stored("b", compute)  # as older versions stored it
    assert defaults.stored("b", options={"rows": 3})["score"] == 1.0


def test_a_cell_is_computed_once(defaults, tmp_path, monkeypatch):
    fits = []

    def fit(preset, labelled, train, test, seed, rate=None):
        fits.append((len(train), len(test), seed, rate))
        counts = [[int(rate == 0.01), 1, 1]] * len(test)
        return {"epochs": 3, "rate": rate or 0.02, "counts": counts}

    monkeypatch.setattr(defaults, "fit", fit)
    monkeypatch.setattr(defaults, "FACTORS", (0.5, 1.0))
    monkeypatch.setattr(defaults, "STEPS_OUT", 0)
    preset = str(tmp_path / "bert-tiny")
    command = ["--data", str(tmp_path), "--preset", preset, "--task", "sst2_1000"]
    command += ["--seeds", "2"]
    run = click.testing.CliRunner().invoke
    assert run(defaults.main, command, catch_exceptions=False).exit_code == 0
    assert fits == [
        *((40, 40, seed, None) for seed in range(2)),
        *((36, 4, 0, rate) for rate in (0.01, 0.02)),
        (40, 40, 0, 0.01),
    ]
    folder, cell = tmp_path / "defaults", "sst2_1000-bert-tiny"
    names = {path.name for path in (folder / "results").iterdir()}
    assert names == {
        "sst2_1000-linear.json",
        "sst2_1000-majority.json",
        *(f"{cell}-defaults-{seed}.json" for seed in range(2)),
        *(f"{cell}-search_{rate}-0.json" for rate in (0.01, 0.02)),
        f"{cell}-best-0.json",
    }
    text = (folder / "README.md").read_text()
    assert "| SST-2, 1,000 labels | 40 | 40 | accuracy | " in text
    assert "`bert-tiny`:" in text and " | 0.0 ± 0.0 | 2 | 3 | 0.02 | 100.0 |" in text
    path = folder / "results" / f"{cell}-search_0.01-0.json"
    searched = json.loads(path.read_text())
    assert "counts" not in searched and searched["score"] == 1
    assert {"commit", "hardware", "versions", "cpu_seconds"} <= searched.keys()
    (folder / "results" / f"{cell}-defaults-1.json").unlink()
    del fits[:]
    run(defaults.main, command, catch_exceptions=False)
    assert fits == [(40, 40, 1, None)]


def test_baselines_only(defaults, tmp_path, monkeypatch):
    monkeypatch.setattr(defaults, "fit", None)
    command = ["--data", str(tmp_path), "--task", "mrpc", "--seeds", "0"]
    run = click.testing.CliRunner().invoke
    assert run(defaults.main, command, catch_exceptions=False).exit_code == 0
    assert "| MRPC | 40 | 40 |" in (tmp_path / "defaults" / "README.md").read_text()


def search(defaults, best):
    """The rates that a search tries if rates near `best` are good; and its result."""
    defaults.stored("t-p-defaults-0", lambda: {"rate": 1.0, "counts": [[1, 1, 1]]})
    tried = []

    def compute(rate, searching):
        tried.append((rate, searching))
        return {"score": -abs(np.log(rate / best)), "rate": rate}

    return defaults.run_search("t-p", compute), tried


def test_a_search_takes_the_best_rate(defaults):
    found, tried = search(defaults, best=0.6)
    assert tried[:-1] == [(f, True) for f in (*defaults.FACTORS, 0.25)]
    assert tried[-1] == (0.5, False) and found["rate"] == 0.5
    again, tried = search(defaults, best=0.6)
    assert again == found and not tried


def test_the_default_rate_is_not_trained_again(defaults):
    found, tried = search(defaults, best=1.1)
    assert tried == [(f, True) for f in defaults.FACTORS]
    assert found == defaults.run_defaults("t-p", 0)


@pytest.mark.parametrize(("best", "chosen"), [(5, 4.0), (99, 8.0)])
def test_a_search_follows_the_best_rate(defaults, best, chosen):
    found, tried = search(defaults, best)
    assert [rate for rate, _ in tried] == [*defaults.FACTORS, 4.0, 8.0, chosen]
    assert found["rate"] == chosen


def test_a_search_goes_down_too(defaults):
    found, _ = search(defaults, best=0.01)
    assert found["rate"] == 0.125


def test_a_search_is_not_guessed(defaults, tmp_path):
    assert defaults.run_search("t-p") is None
    search(defaults, best=1)
    assert defaults.run_search("t-p")["rate"] == 1
    (tmp_path / "defaults" / "results" / "t-p-search_2-0.json").unlink()
    assert defaults.run_search("t-p") is None


def test_numbers_of_the_table(defaults):
    good = {"counts": [[1, 1, 1]] * 4}
    half = {"counts": [[1, 1, 1], [0, 1, 1]] * 2}
    assert defaults.seed_mean([half]) == "50.0"
    # t(0.975, 2 degrees) = 4.303; mean 66.7, standard error 16.67
    assert defaults.seed_mean([good, half, half]) == "66.7 ± 71.7"
    assert defaults.gain(good, [half, half]).startswith("+50.0 (")
    assert defaults.gain(half, [half]) == "+0.0 (+0.0 to +0.0)"


@pytest.mark.parametrize(
    ("rate", "shown"), [(0.1, "the same | 0.1 | 0 |"), (0.2, "50.0 | 0.2 | -50.0 (")]
)
def test_a_best_rate_is_another_one(defaults, monkeypatch, rate, shown):
    fit = {"counts": [[1, 1, 1]] * 4, "epochs": 3, "rate": 0.1}
    best = {"counts": [[1, 1, 1], [0, 1, 1]] * 2, "epochs": 3, "rate": rate}
    monkeypatch.setattr(defaults, "read_fits", lambda cell: [fit])
    monkeypatch.setattr(defaults, "run_search", lambda cell: best)
    monkeypatch.setattr(defaults, "told", lambda results: "")
    assert f"| 100.0 | 1 | 3 | 0.1 | {shown}" in defaults.preset_table("p", {})


def test_readme_shows_the_results():
    from benchmarks.table import insert
    from benchmarks.tables import defaults, sentence_vectors, stored_results

    if not stored_results.RESULTS.is_dir():
        pytest.skip("Nothing was computed yet.")
    text = (stored_results.FOLDER / "README.md").read_text("utf-8")
    assert insert(text, defaults.tables()) == text
    assert insert(text, sentence_vectors.table(), "sentence vectors") == text
