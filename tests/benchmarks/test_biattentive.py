"""The table of CoVe: what the network reads and what is trained."""

import dataclasses
import types

import numpy as np
import pytest
import tiny
from test_labelled_sets import write_sets

import zoo


@pytest.fixture
def biattentive(monkeypatch, tmp_path):
    """The module under test, with small sets and folders of its own."""
    from benchmarks.tables import biattentive

    monkeypatch.setattr(biattentive, "free_memory", lambda: None)
    for name in biattentive.SETS.values():
        small = dataclasses.replace(biattentive.LABELLED_SETS[name], train=None)
        monkeypatch.setitem(biattentive.LABELLED_SETS, name, small)
    write_sets(tmp_path)
    return biattentive


def test_the_words_are_those_of_cove(biattentive, monkeypatch):
    table = np.random.default_rng(0).normal(size=(len(tiny.WORDS), 3))
    layer = types.SimpleNamespace(get_weights=lambda: [table.astype("float32")])
    cove = types.SimpleNamespace(
        config=types.SimpleNamespace(num_zero=2),
        get_layer={"word_embedding": layer}.get,
        tokenizer="its tokenizer",
    )
    asked = []
    monkeypatch.setattr(
        zoo, "from_preset", lambda *args, **kw: asked.append((args, kw)) or cove
    )
    backbone = biattentive.make_words({"cove": "a"}, "float32")
    assert asked == [(("a",), {"task": None, "dtype": "float32"})]
    found = np.array(backbone({"word_ids": np.array([[5, 1, 7]])})["sequence_output"])[
        0
    ]
    np.testing.assert_allclose(found[[0, 2]], table[[5, 7]], rtol=1e-6)
    assert not np.any(found[1]) and backbone.tokenizer == "its tokenizer"


def test_cove_stands_after_its_words(biattentive, monkeypatch):
    room = pytest.importorskip("zoo.models.cove")
    config = room.CoVeConfig(20, 4, 3, 2, num_zero=2, initializer_range=0.5)
    cove = room.CoVe(config)
    cove.tokenizer = None
    monkeypatch.setattr(zoo, "from_preset", lambda *args, **kw: cove)
    backbone = biattentive.make_cove({"cove": "a"}, "float32")
    ids = {"word_ids": np.array([[5, 1, 7]])}
    found = np.array(backbone(ids)["sequence_output"])[0]
    assert found.shape == (3, 10)
    np.testing.assert_array_equal(found[:, 4:], cove(ids)["sequence_output"][0])
    (table,) = cove.get_layer("word_embedding").get_weights()
    np.testing.assert_array_equal(found[[0, 2], :4], table[[5, 7]])


@pytest.mark.slow
def test_only_the_network_and_the_mix_are_trained(
    biattentive, monkeypatch, elmo, make_run
):
    run = make_run(biattentive, given=[f"elmo={elmo}"], dtype="float32")
    model = biattentive.make_model("elmo", ["0", "1"], run.presets, 0, "float32")
    assert model.optimizer._learning_rate.peak == 1e-3
    trained = {v.path for v in model.trainable_variables}
    own = {v.path for v in model.backbone.variables}
    assert trained - own
    assert trained & own == {"scalar_mix/gamma", "scalar_mix/scalars"}
    monkeypatch.setattr(biattentive, "EPOCHS", dict.fromkeys(biattentive.SETS, 1))
    found = run.result("trec6-elmo-elmo_tiny-0", ("trec6", "elmo", 0))
    assert found["train"] == len(found["right"]) == 40 and found["parameters"] > 0
    assert found["score"] == found["right"].count("1") / 40
    assert run.stored("trec6-majority") and run.stored("trec6-linear")
