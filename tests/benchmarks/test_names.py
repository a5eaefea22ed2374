"""The comparison of taggers of names: what is trained, counted and chosen."""

import collections
import functools
import json

import numpy as np
import pytest
from tiny_inputs import write_tagged

import zoo
from benchmarks.tables import names
from benchmarks.tables.linear_chain import features, shape
from zoo.data import read_conll


@pytest.fixture
def recipe():
    tagger = {"language_models": ["elmo"], "scheme": "BIOES", "minimum": 5}
    return {
        "objective": {"name": "token_classifier", "tagger": tagger},
        "config": {
            "filters": [[2, 3]],
            "lstm_dim": 4,
            "num_layers": 1,
            "lm_positions": [0],
            "lm_layers": "mix",
        },
        "train": ["wikigold/t*n.conll.gz"],
        "stages": [[8, 8, 4]],
        "learning_rate": 0.01,
        "warmup_steps": 1,
    }


@pytest.fixture
def data(tmp_path):
    """All sets, with names of the same type, and word vectors."""
    write_tagged(tmp_path, 12)
    (tmp_path / "vectors.txt").write_text("film 3 0 4\nrare 0 0 2\n")
    return tmp_path


def test_the_training_set_is_that_of_the_recipe(data, recipe):
    words, tags = names.read_train(data, recipe)
    every = read_conll(data / "wikigold/train.conll.gz")[0]
    assert words == [row for row in every if len(row) <= 8] and words != every
    assert {"O", "S-GOOD"} <= {tag for row in tags for tag in row}


def test_vectors_have_length_one(data):
    words, vectors = names.read_unit_vectors(data / "vectors.txt")
    assert words == ["film", "rare"]
    np.testing.assert_allclose(vectors, [[0.6, 0, 0.8], [0, 0, 1]], rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("arm", ["task", "vectors_elmo"])
def test_an_arm_reads_what_it_is_called_after(data, recipe, elmo, arm):
    train = names.read_train(data, recipe)
    vectors = names.read_unit_vectors(data / "vectors.txt")
    language_model = functools.partial(zoo.from_preset, elmo, task=None)
    given = names.INPUTS[arm], 0, vectors, language_model
    model = names.make_tagger(recipe, train, *given)
    assert bool(model.backbone.parts) == ("elmo" in arm)
    assert ("rare" in model.tokenizer.words.vocabulary) == ("vectors" in arm)
    counts = collections.Counter(word for row in train[0] for word in row)
    twice = {word for word, count in counts.items() if 2 <= count < 5}
    known = twice & {*model.tokenizer.words.vocabulary} - {"film"}
    assert bool(known) == ("vectors" not in arm)
    names.fit(model, recipe, train, 0)
    assert int(model.optimizer.iterations) == 4
    assert float(model.optimizer.learning_rate) == 0


def test_features_see_the_word_and_its_neighbours():
    assert [*map(shape, ("John", "12-13", "U.S.", "a"))] == ["Xx", "0-0", "X.X.", "x"]
    first, second, _ = features(["John", "saw", "B2"])
    assert {"word=John", "lower=john", "capital", "-1:none", "1:saw"} <= {*first}
    assert {"prefix=saw", "-1:shape=Xx", "shapes3=Xx|x|X0", "2:none"} <= {*second}
    assert "capital" not in second and "pair=john|saw" in second


def test_a_chain_learns_what_it_can_see(data, recipe):
    pytest.importorskip("pycrfsuite")
    sets = {
        name: names.read_words(data / f"{name}.conll.gz")
        for name in ("wikigold/train", "btc/f")
    }
    counts = names.fit_chain(sets["wikigold/train"], (0.0, 0.1), sets)
    assert names.f1(counts["wikigold/train"]) > 0.95
    assert names.f1(counts["btc/f"]) > 0.5


@pytest.mark.slow
def test_an_arm_is_measured_on_all_sets(data, recipe, elmo, monkeypatch, make_run):
    recipe["objective"]["tagger"]["language_models"] = [str(elmo)]
    (data / "recipe.json").write_text(json.dumps(recipe))
    monkeypatch.setattr(names, "RECIPE", data / "recipe.json")
    run = make_run(names, vectors=data / "vectors.txt")
    counts = run.result("vectors_elmo-0", ("vectors_elmo", 0))
    assert [len(counts[name]) for name in names.SETS] == [12] * 4


def test_the_chain_with_the_best_penalties_is_shown(make_run):
    run = make_run(names)
    for hits, penalties in enumerate(names.PENALTIES):
        counts = dict.fromkeys(names.DEV, [[hits, 9, 9]])
        counts |= dict.fromkeys(names.TEST, [[9 - hits, 9, 9]])
        run.stored(names.chain_key(penalties), lambda counts=counts: counts)
    (found,) = names.read_results(run)["chain"]
    assert found["btc/a"] == [[len(names.PENALTIES) - 1, 9, 9]]
    (run.folder / f"results/{names.chain_key(names.PENALTIES[0])}.json").unlink()
    assert names.CHAIN not in names.read_results(run) and names.table(run) is None
