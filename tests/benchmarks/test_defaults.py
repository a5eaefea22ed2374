"""The table of defaults: what is trained, and which rates are tried."""

import keras
import numpy as np
import pytest
from tiny_inputs import make_bert

from benchmarks.tables import defaults

pytestmark = pytest.mark.usefixtures("small_sets")
SETS = defaults.LABELLED_SETS


@pytest.fixture
def preset(tmp_path):
    """A tiny BERT as a directory, trained for one epoch by default."""
    backbone = make_bert()
    backbone.defaults = {"epochs": 1, "learning_rate": 1e-2}
    backbone.save_to_preset(tmp_path / "bert-tiny")
    return tmp_path / "bert-tiny"


@pytest.mark.slow
def test_models_are_what_a_user_makes(preset, elmo, tmp_path):
    rows = SETS["conll2003_3000"].load(tmp_path)["train"]
    tagger = defaults.make_model(elmo, SETS["conll2003_3000"], rows, 0)
    assert tagger.backbone.family == "taglm" and tagger.options["scheme"] == "IOB2"
    assert [*tagger.backbone.parts] == ["lm_0"]
    assert defaults.peak_rate(tagger) == pytest.approx(3e-3)
    tagger = defaults.make_model(preset, SETS["conll2003_3000"], rows, 0)
    assert tagger.backbone.family == "bert" and tagger.options["decoder"] == "softmax"
    rows = SETS["mrpc"].load(tmp_path)["train"]
    model = defaults.make_model(preset, SETS["mrpc"], rows, 0)
    assert model.labels == ("0", "1") and defaults.peak_rate(model) == 1e-2


@pytest.mark.slow
def test_a_fit_has_the_defaults_or_another_rate(preset, elmo, tmp_path):
    def fit(preset, name, *rate):
        parts = SETS[name].load(tmp_path)
        found = defaults.fit(preset, SETS[name], *parts.values(), 0, *rate)
        assert np.shape(found["counts"]) == (40, 3)
        return found, [x for x, _ in parts["test"]]

    found, _ = fit(preset, "mrpc")
    assert (found["epochs"], found["rate"]) == (1, 1e-2)
    assert found == fit(preset, "mrpc")[0]
    found, _ = fit(preset, "mrpc", 0.3)
    assert (found["epochs"], found["rate"]) == (1, 0.3)
    assert {tuple(row[1:]) for row in found["counts"]} == {(1, 1)}
    found, words = fit(elmo, "ud_ewt_3000", 2e-3)
    assert found["epochs"] == 10 and found["rate"] == pytest.approx(2e-3)
    assert [row[2] for row in found["counts"]] == [*map(len, words)]


@pytest.mark.slow
def test_one_fit_shows_the_last_and_the_best_epoch(preset, tmp_path):
    labelled = SETS["mrpc"]
    found = defaults.fit_kept(preset, labelled, *labelled.load(tmp_path).values(), 0)
    chosen = [found[key] for key in ("epochs", "trained", "kept")]
    assert chosen == [1, 1, 1] and found["last"] == found["counts"]
    assert np.shape(found["counts"]) == (40, 3)


# The scores of the epochs, how many of them `patience` lets pass, and the one kept.
EPOCHS = {
    "better": ([1, 2, 3, 4, 5], 5, 4),
    "worse": ([3, 2, 1, 4, 5], 3, 0),
    "later": ([1, 3, 2, 2, 9], 4, 1),
    "equal": ([1, 1, 1, 0, 0], 3, 2),
}


@pytest.mark.parametrize("case", EPOCHS)
def test_all_epochs_are_trained_and_the_best_one_is_kept(case):
    scores, trained, kept = EPOCHS[case]
    model, last, left = keras.Sequential([keras.layers.Dense(1)]), [], iter(scores)
    model.compile("sgd", "mse")
    weights = []

    def score(model):
        weights.append(model.get_weights()[0])
        return next(left)

    best = defaults.KeepBestOfAll(
        score, 2, latest=True, at_end=lambda: last.append(model.get_weights()[0])
    )
    x = np.ones((4, 2), "float32")
    history = model.fit(x, x[:, :1], epochs=5, verbose=0, callbacks=[best])
    assert (len(history.epoch), len(best.scores), best.kept) == (5, trained, kept)
    np.testing.assert_array_equal(model.get_weights()[0], weights[kept])
    assert (last[0] != weights[trained - 1]).any() == (trained < 5)


def test_a_cell_has_its_parts(make_run, monkeypatch, command, tmp_path):
    fits = []

    def fit(preset, labelled, train, test, seed, rate=None):
        fits.append((len(train), len(test), seed, rate))
        counts = [[int(rate == 0.01), 1, 1]] * len(test)
        return {"epochs": 3, "rate": rate or 0.02, "counts": counts}

    def fit_kept(preset, labelled, rows, test, seed):
        counts = [[1, 1, 1]] * len(test)
        last = [[0, 1, 1], *counts[1:]]
        chosen = {"epochs": 3, "trained": 3, "kept": 1 + seed}
        return {**chosen, "last": last, "counts": counts}

    monkeypatch.setattr(defaults, "fit", fit)
    monkeypatch.setattr(defaults, "fit_kept", fit_kept)
    monkeypatch.setattr(defaults, "FACTORS", (0.5, 1.0))
    monkeypatch.setattr(defaults, "STEPS_OUT", 0)
    given = ["defaults", "--preset=a/bert-tiny", "--seeds=2"]
    given += ["--cells=sst2_1000-bert-tiny-*", "--cells=sst2_1000-linear"]
    command(*given)
    command(*given)
    assert fits == [
        *((40, 40, seed, None) for seed in range(2)),
        *((36, 4, 0, rate) for rate in (0.01, 0.02)),
        (40, 40, 0, 0.01),
    ]
    run = make_run(defaults)
    searched = run.stored("sst2_1000-bert-tiny-search_0.01-0")
    assert "counts" not in searched and searched["score"] == 1
    text = (tmp_path / "tables/defaults/README.md").read_text()
    assert "`bert-tiny`:" in text and " | 0.0 ± 0.0 | 2 | 3 | 0.02 | 100.0 |" in text
    command("defaults", "--seeds=2", "--cells=trec6-*-kept-*", "--cells=trec6-maj*")
    text = (tmp_path / "tables/defaults/README.md").read_text()
    assert " | 97.5 ± 0.0 | 100.0 ± 0.0 | +2.5 ± 0.0 | 1, 2 | 3, 3 | 3 |" in text


# What is the best rate, and the rates that are tried after the default 1.
SEARCHES = {
    "between": (0.6, [0.5, 1, 2, 0.25], 0.5),
    "the default": (1.1, [0.5, 1, 2], 1),
    "above": (5, [0.5, 1, 2, 4, 8], 4),
    "far above": (99, [0.5, 1, 2, 4, 8], 8),
    "far below": (0.01, [0.5, 1, 2, 0.25, 0.125], 0.125),
}


@pytest.mark.parametrize("case", SEARCHES)
def test_a_search_takes_the_best_rate(make_run, monkeypatch, case):
    best, rates, chosen = SEARCHES[case]
    tried = []

    def fit_cell(run, name, preset, seed, rate=1.0, searching=False):
        tried.append((rate, searching))
        return {"score": -abs(np.log(rate / best)), "rate": rate}

    monkeypatch.setattr(defaults, "fit_cell", fit_cell)
    run, reader = make_run(defaults), make_run(defaults, reading=True)
    assert defaults.run_search(reader, "t", "p") is None
    found = defaults.run_search(run, "t", "p")
    last = [] if chosen == 1 else [(chosen, False)]
    assert tried == [(1.0, False), *((rate, True) for rate in rates), *last]
    assert found["rate"] == chosen
    assert found == defaults.run_search(reader, "t", "p")
    (run.folder / "results/t-p-search_2-0.json").unlink()
    assert defaults.run_search(reader, "t", "p") is None
