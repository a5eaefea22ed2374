"""The comparison of taggers of names: what is trained, counted and shown."""

import collections
import gzip
import json

import click.testing
import numpy as np
import pytest
import tiny

import zoo
from zoo.data import read_conll
from zoo.models.elmo import ELMo, ELMoConfig
from zoo.text import CharacterTokenizer

SETS = ("wikigold/train", "wikigold/valid", "wikigold/test", "btc/a", "btc/f")
NOTES = "<!-- results -->\n<!-- end of results -->\n"


@pytest.fixture
def names(monkeypatch, tmp_path):
    """The module under test, with folders of its own."""
    from benchmarks.tables import names

    monkeypatch.setattr(names, "FOLDER", tmp_path / "names")
    monkeypatch.setattr(names, "NOTES", tmp_path / "notes.md")
    monkeypatch.setattr(names, "SEEDS", dict.fromkeys(names.INPUTS, 1))
    (tmp_path / "notes.md").write_text(NOTES)
    return names


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
def elmo():
    backbone = ELMo(ELMoConfig(**tiny.ELMO_CONFIG))
    backbone.tokenizer = CharacterTokenizer(12, tiny.WORDS)
    return zoo.BidirectionalLM(backbone, backbone.tokenizer)


@pytest.fixture
def data(tmp_path):
    """All sets with the same type of names; one has lines without a word."""
    for seed, name in enumerate(SETS):
        texts, _ = tiny.make_texts(12, seed=seed)
        lines = []
        for text, tags in zip(texts, tiny.make_tags(texts), strict=True):
            pairs = zip(text.split(), tags, strict=True)
            lines += ["".join(f"{word}\t{tag}\n" for word, tag in pairs), "\n"]
        if name == "btc/f":
            lines.insert(1, " \tO\n\tO\n")
        path = tmp_path / f"{name}.conll.gz"
        path.parent.mkdir(exist_ok=True)
        with gzip.open(path, "wt") as stream:
            stream.writelines(lines)
    (tmp_path / "vectors.txt").write_text("film 3 0 4\nrare 0 0 2\n")
    return tmp_path


def test_lines_without_a_word_are_ignored(names, data):
    with pytest.raises(ValueError, match="must have a word"):
        read_conll(data / "btc/f.conll.gz")
    words, tags = names.read_words(data / "btc/f.conll.gz")
    assert [*map(len, words)] == [*map(len, tags)] and len(words) == 12
    plain = data / "btc/a.conll.gz"
    assert names.read_words(plain) == read_conll(plain)


def test_spans_are_counted_in_any_scheme(names):
    gold = [["B-A", "I-A", "O"], ["I-A", "I-B", "O"]]
    said = [["B-A", "E-A", "S-A"], ["S-A", "S-A", "O"]]
    assert names.count_spans(gold, said) == [[1, 2, 1], [1, 2, 2]]


def test_the_training_set_is_that_of_the_recipe(names, data, recipe):
    words, tags = names.read_train(data, recipe)
    every = read_conll(data / "wikigold/train.conll.gz")[0]
    assert words == [row for row in every if len(row) <= 8] and words != every
    assert {"O", "S-GOOD"} <= {tag for row in tags for tag in row}


def test_vectors_have_length_one(names, data):
    words, vectors = names.read_unit_vectors(data / "vectors.txt")
    assert words == ["film", "rare"]
    np.testing.assert_allclose(vectors, [[0.6, 0, 0.8], [0, 0, 1]], rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    "arm", ["task", pytest.param("vectors_elmo", marks=pytest.mark.slow)]
)
def test_an_arm_reads_what_it_is_called_after(names, data, recipe, elmo, arm):
    train, vectors = (
        names.read_train(data, recipe),
        names.read_unit_vectors(data / "vectors.txt"),
    )
    given = names.INPUTS[arm], 0, vectors, lambda: elmo.backbone
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
    from benchmarks.tables.linear_chain import features, shape

    assert [*map(shape, ("John", "12-13", "U.S.", "a"))] == ["Xx", "0-0", "X.X.", "x"]
    first, second, _ = features(["John", "saw", "B2"])
    assert {"word=John", "lower=john", "capital", "-1:none", "1:saw"} <= {*first}
    assert {"prefix=saw", "-1:shape=Xx", "shapes3=Xx|x|X0", "2:none"} <= {*second}
    assert "capital" not in second and "pair=john|saw" in second


def test_a_chain_learns_what_it_can_see(names, data, recipe):
    pytest.importorskip("pycrfsuite")
    sets = {name: names.read_words(data / f"{name}.conll.gz") for name in SETS}
    counts = names.fit_chain(sets["wikigold/train"], (0.0, 0.1), sets)
    assert names.f1(counts["wikigold/train"]) > 0.95
    assert names.f1(counts["btc/f"]) > 0.5


@pytest.mark.slow
def test_an_arm_is_fitted_once(names, data, recipe, elmo, monkeypatch):
    elmo.save_to_preset(data / "elmo")
    recipe["objective"]["tagger"]["language_models"] = [str(data / "elmo")]
    (data / "recipe.json").write_text(json.dumps(recipe))
    monkeypatch.setattr(names, "SHIPPED", data)
    chain = {name: [[1, 2, 2]] * 12 for name in names.SETS}
    for penalties in names.PENALTIES:
        names.stored(names.chain_key(penalties), lambda: chain)
    vectors = ["--vectors", str(data / "vectors.txt")]
    command = ["--data", str(data), *vectors, "--arm", "vectors_elmo"]
    run = click.testing.CliRunner().invoke
    first = run(names.main, command, catch_exceptions=False)
    assert "| `vectors_elmo` | " in first.output and "| `task`" not in first.output
    path = data / "names" / "results" / "vectors_elmo-0.json"
    counts = json.loads(path.read_text())
    assert [len(counts[name]) for name in names.SETS] == [12] * 4
    monkeypatch.setattr(names, "fit", None)
    again = run(names.main, command, catch_exceptions=False)
    assert again.output in first.output
    assert again.output.strip() in (data / "notes.md").read_text()


def test_a_table(names):
    one, all_right = [[1, 2, 2]] * 4, [[2, 2, 2]] * 4
    results = {
        "chain": [dict.fromkeys(names.SETS, one)],
        "task": [dict.fromkeys(names.SETS, rows) for rows in (one, all_right)],
    }
    lines = names.render(results).splitlines()
    half = "50.0 (50.0 to 50.0) | "
    assert lines[2] == f"| `chain` | 50.0 | 50.0 | {half} | {half} | 1 |"
    better = "75.0 (75.0 to 75.0) | +25.0 (+25.0 to +25.0)"
    assert lines[3] == f"| `task` | 75.0 | 75.0 | {better} | {better} | 2 |"
    assert len({line.count("|") for line in lines}) == 1


def test_the_chain_with_the_best_penalties_is_shown(names):
    for hits, penalties in enumerate(names.PENALTIES):
        counts = dict.fromkeys(names.DEV, [[hits, 9, 9]])
        counts |= dict.fromkeys(names.TEST, [[9 - hits, 9, 9]])
        names.stored(names.chain_key(penalties), lambda counts=counts: counts)
    (found,) = names.read_results()["chain"]
    assert found["btc/a"] == [[len(names.PENALTIES) - 1, 9, 9]]
    key = names.chain_key(names.PENALTIES[0])
    (names.FOLDER / "results" / f"{key}.json").unlink()
    assert names.CHAIN not in names.read_results()


def test_the_notes_show_the_results():
    from benchmarks.tables import names

    text = names.NOTES.read_text("utf-8")
    assert names.insert(text, names.render(names.read_results())) == text
