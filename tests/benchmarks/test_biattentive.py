"""The table of CoVe: what the network reads, what is trained, and what is shown."""

import dataclasses
import json
import types

import click.testing
import numpy as np
import pytest
import tiny
from test_labelled_sets import write_sets

import zoo
from zoo.models.elmo import ELMo, ELMoConfig
from zoo.text import CharacterTokenizer


@pytest.fixture
def biattentive(monkeypatch, tmp_path):
    """The module under test, with small sets and folders of its own."""
    from benchmarks.tables import biattentive

    folder = tmp_path / "biattentive"
    folder.mkdir()
    (folder / "README.md").write_text("<!-- results -->\n<!-- end of results -->\n")
    monkeypatch.setattr(biattentive, "FOLDER", folder)
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
def test_only_the_network_and_the_mix_are_trained(biattentive, monkeypatch, tmp_path):
    elmo = ELMo(ELMoConfig(**tiny.ELMO_CONFIG))
    elmo.tokenizer = CharacterTokenizer(12, tiny.WORDS, punctuation=True)
    elmo.save_to_preset(tmp_path / "elmo_tiny")
    presets = {"elmo": str(tmp_path / "elmo_tiny")}
    model = biattentive.make_model("elmo", ["0", "1"], presets, 0, "float32")
    assert model.optimizer._learning_rate.peak == 1e-3
    trained = {v.path for v in model.trainable_variables}
    own = {v.path for v in model.backbone.variables}
    assert trained - own
    assert trained & own == {"scalar_mix/gamma", "scalar_mix/scalars"}
    monkeypatch.setattr(biattentive, "EPOCHS", dict.fromkeys(biattentive.SETS, 1))
    parts = biattentive.LABELLED_SETS["trec6"].load(tmp_path)
    cell = ("trec6", "elmo", 0)
    found = biattentive.compute(cell, presets, parts, "float32")
    assert found["train"] == len(found["right"]) == 40 and found["parameters"] > 0
    assert found["score"] == found["right"].count("1") / 40


def test_cells_are_computed_once(biattentive, monkeypatch, tmp_path):
    computed = []

    def compute(cell, presets, parts, dtype):
        computed.append(cell)
        right = "1" * (10 + cell[2]) + "0" * (30 - cell[2])
        score = right.count("1") / 40
        return {"train": 40, "parameters": 1234, "score": score, "right": right}

    monkeypatch.setattr(biattentive, "compute", compute)
    run = click.testing.CliRunner().invoke
    command = ["--data", str(tmp_path), "--cove", "x/cove_tiny", "--cells", "trec6-*"]
    assert run(biattentive.main, command, catch_exceptions=False).exit_code == 0
    vectors = ("words", "cove", "elmo")
    assert computed == [("trec6", v, s) for v in vectors for s in range(3)]
    text = (tmp_path / "biattentive" / "README.md").read_text()
    assert "| the same and `cove_tiny` | 27.5 ± 6.2 | 3 | 1,234 |" in text
    assert "| TF-IDF |" in text and "SST-2" not in text
    path = tmp_path / "biattentive/results/trec6-cove-cove_tiny-1.json"
    assert json.loads(path.read_text())["score"] == 11 / 40
    path.unlink()
    del computed[:]
    listed = run(biattentive.main, [*command, "--list"], catch_exceptions=False).output
    assert listed.count("done ") == 8
    assert "missing trec6-cove-cove_tiny-1\n" in listed and not computed
    run(biattentive.main, command, catch_exceptions=False)
    assert computed == [("trec6", "cove", 1)]
    with pytest.raises(ValueError, match="bfloat16'} in .*, and {'dtype': 'float32'}"):
        run(biattentive.main, [*command, "--dtype", "float32"], catch_exceptions=False)


def test_readme_shows_the_results():
    from benchmarks.table import insert
    from benchmarks.tables import biattentive

    if not (biattentive.FOLDER / "results").is_dir():
        pytest.skip("Nothing was computed yet.")
    text = (biattentive.FOLDER / "README.md").read_text("utf-8")
    assert insert(text, biattentive.tables()) == text
