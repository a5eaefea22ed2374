"""The tables of taggers: every arm at a tiny size, and what they show."""

import gzip
import json
import pathlib

import numpy as np
import pytest
import tiny

ROOT = pathlib.Path(__file__).parents[2]


@pytest.fixture
def taggers(monkeypatch, tmp_path):
    """The module under test, with tiny models, two sentences a step, two seeds."""
    monkeypatch.syspath_prepend(ROOT)
    from benchmarks.tables import taggers
    from zoo.models.elmo import ELMo, ELMoConfig
    from zoo.text import CharacterTokenizer

    elmo = ELMo(ELMoConfig(**tiny.ELMO_CONFIG))
    elmo.tokenizer = CharacterTokenizer(12)
    elmo.save_to_preset(tmp_path / "elmo")
    small = {"embedding_dim": 4, "filters": ((2, 3),), "lstm_dim": 4}
    monkeypatch.setattr(taggers, "CONFIG", {**taggers.CONFIG, **small})
    monkeypatch.setattr(taggers, "LANGUAGE_MODEL", str(tmp_path / "elmo"))
    monkeypatch.setattr(taggers, "SEEDS", (0, 1))
    return taggers


@pytest.fixture
def parts(taggers, tmp_path):
    """Parts of a corpus that was written as CoNLL's."""
    (tmp_path / "conll2003").mkdir()
    for seed, name in enumerate(("eng.train", "eng.testa", "eng.testb")):
        texts, _ = tiny.make_texts(24, seed=seed)
        lines = ["-DOCSTART- -X- O O\n\n"]
        for text, tags in zip(texts, tiny.make_tags(texts), strict=True):
            words = zip(text.split(), tags, strict=True)
            lines.append("".join(f"{w} X Y {t}\n" for w, t in words) + "\n")
        with gzip.open(tmp_path / "conll2003" / f"{name}.gz", "wt") as file:
            file.writelines(lines)
    return taggers.read_parts(tmp_path)


VECTORS = [*tiny.GOOD, "the"], np.arange(24, dtype="float32").reshape(6, 4)


def test_words_and_tags_are_read(parts):
    words, tags = parts["train"]
    assert len(words) == len(tags) == 24
    assert {tag for row in tags for tag in row} == {"O", "S-GOOD"}


def test_an_arm_is_fitted_once(taggers, parts, tmp_path, monkeypatch):
    results = taggers.run(["task"], parts, VECTORS, tmp_path / "runs", epochs=1)
    names = sorted(path.name for path in (tmp_path / "runs").iterdir())
    assert len(names) == 3 and names[0] == "task-0.001-0.json"
    monkeypatch.setattr(taggers, "fit", None)
    assert taggers.run(["task"], parts, VECTORS, tmp_path / "runs", 1) == results
    found = results["task"]["fits"][0]
    assert set(found) == {"dev", "epochs", "counts"}
    assert len(found["counts"]) == 24 and len(results["task"]["fits"]) == 2
    assert max(found["epochs"]) == found["dev"]


ARMS = ["glove_elmo", "taglm", "lm_alone", "half_random", "half_class"]


@pytest.mark.parametrize("name", ARMS)
def test_arms_are_what_they_are_called(taggers, parts, name):
    arm = taggers.ARMS[name]
    model = taggers.make_tagger(arm, parts, VECTORS, 1e-3, 0)
    backbone, tokenizer = model.backbone, model.tokenizer
    assert bool(backbone.parts) == ("lm" in name or "elmo" in name)
    if name == "glove_elmo":
        layer = backbone.named_layers["word_embedding"]
        ids = tokenizer.words.ids(["superb", "the"]).numpy()
        np.testing.assert_array_equal(layer(ids), VECTORS[1][[4, 5]])
        assert layer.num_frozen == backbone.config.num_frozen
    elif name == "lm_alone":
        assert {*backbone.input} == {"lm_0_character_ids", "padding_mask"}
    elif name.startswith("half"):
        whole = taggers.make_tagger({}, parts, None, 1e-3, 0)
        size = len(whole.tokenizer.words.vocabulary)
        assert len(tokenizer.words.vocabulary) == size // 2
        assert tokenizer.words.unknown == arm["unknown"]
    assert len(model.tag([["a", "superb", "film"]])[0]) == 3


def test_counts_and_tables(taggers):
    gold = [["S-A", "O"], ["B-A", "E-A"], ["O", "O"]]
    counts = taggers.count(gold, [["S-A", "O"], ["S-A", "S-A"], ["O", "S-A"]])
    assert counts == [[1, 1, 1], [0, 2, 1], [0, 1, 0]]
    assert taggers.f1(counts) == pytest.approx(2 / 6)
    bad = {"dev": 0.3, "counts": counts}
    good = {"dev": 0.9, "counts": [[1, 1, 1], [1, 1, 1], [0, 0, 0]]}
    arm = {"rate": 0.001, "searched": {"0.001": 0.3}}
    found = taggers.summary(
        {"task": {**arm, "fits": [bad, bad]}, "elmo": {**arm, "fits": [good, bad]}}
    )
    assert found["elmo"]["difference"] == pytest.approx((1 - 1 / 3) / 2)
    low, high = found["elmo"]["interval"]
    assert 0 <= low <= found["elmo"]["difference"] <= high
    lines = taggers.render(found).splitlines()
    assert lines[2] == "| `task` | 30.00 | 33.33 | 2 |  | 0.001 | 90.15 |"
    assert lines[3].startswith("| `elmo` | 60.00 | 66.67 | 2 | +33.33 (")


def test_readme_shows_the_results(taggers):
    path = taggers.FOLDER / "results.json"
    if not path.exists():
        pytest.skip("The taggers were not trained yet.")
    text = (taggers.FOLDER / "README.md").read_text("utf-8")
    table = taggers.render(json.loads(path.read_text("utf-8")))
    assert taggers.insert(text, table) == text
