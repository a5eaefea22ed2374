"""The tables of taggers: every kind of arm at a tiny size, and what they show."""

import gzip
import json

import click.testing
import numpy as np
import pytest
import tiny

import zoo
from zoo.models.elmo import ELMo, ELMoConfig
from zoo.text import CharacterTokenizer

VECTORS = [*tiny.GOOD, "the"], np.arange(24, dtype="float32").reshape(6, 4)


@pytest.fixture(scope="module")
def preset(tmp_path_factory):
    """A language model that splits punctuation, as a directory."""
    elmo = ELMo(ELMoConfig(**tiny.ELMO_CONFIG))
    tokenizer = CharacterTokenizer(12, tiny.WORDS, punctuation=True)
    directory = tmp_path_factory.mktemp("presets") / "elmo"
    zoo.BidirectionalLM(elmo, tokenizer).save_to_preset(directory)
    return directory


@pytest.fixture
def taggers(monkeypatch, tmp_path, preset):
    """The module under test, with tiny models, and folders of its own."""
    from benchmarks.tables import taggers

    small = {"embedding_dim": 4, "filters": ((2, 3),), "lstm_dim": 4}
    monkeypatch.setattr(taggers, "CONFIG", {**taggers.CONFIG, **small})
    monkeypatch.setattr(taggers, "LANGUAGE_MODEL", str(preset))
    monkeypatch.setattr(taggers, "EPOCHS", 1)
    monkeypatch.setattr(taggers, "FOLDER", tmp_path / "taggers")
    (tmp_path / "taggers").mkdir()
    text = "<!-- results -->\n<!-- end of results -->\n"
    (tmp_path / "taggers" / "README.md").write_text(text)
    return taggers


@pytest.fixture
def data(taggers, tmp_path):
    """Both corpora, as their files hold them."""
    for name, corpus in taggers.CORPORA.items():
        (tmp_path / name).mkdir()
        for seed, file in enumerate(corpus.files):
            texts, _ = tiny.make_texts(24, seed=seed)
            lines = ["-DOCSTART- -X- O O\n\n"] if corpus.scheme else []
            for text, tags in zip(texts, tiny.make_tags(texts), strict=True):
                words = zip(text.split(), tags, strict=True)
                form = "{} X Y {}\n" if corpus.scheme else "{}\t{}\n"
                lines.append("".join(form.format(*pair) for pair in words) + "\n")
            with gzip.open(tmp_path / file, "wt") as stream:
                stream.writelines(lines)
    return tmp_path


def test_words_and_tags_are_read(taggers, data):
    for name, tags in (("conll2003", {"O", "S-GOOD"}), ("ud_ewt", {"O", "B-GOOD"})):
        parts = taggers.CORPORA[name].read(data)
        assert [len(words) for words, _ in parts] == [24, 24, 24]
        assert {tag for row in parts[0][1] for tag in row} == tags


@pytest.mark.slow
def test_an_arm_is_fitted_once(taggers, data, monkeypatch):
    lines = [f"{word} 0 1 2 3\n" for word in tiny.GOOD]
    (data / "glove.txt").write_text("".join(lines))
    common = ["--data", data, "--vectors", data / "glove.txt", "--corpus", "ud_ewt"]
    command = [str(part) for part in (*common, "--arm", "layer_0")]
    run = click.testing.CliRunner().invoke
    assert run(taggers.main, command, catch_exceptions=False).exit_code == 0
    files = sorted((taggers.FOLDER / "results").iterdir())
    assert len(files) == 4 and files[0].name == "ud_ewt-layer_0-0.003-0.json"
    found = json.loads(files[0].read_text())
    assert set(found) == {"dev", "counts"}
    assert len(found["counts"]) == 24 and 0 <= found["dev"] <= 1
    readme = (taggers.FOLDER / "README.md").read_text()
    assert "`ud_ewt`:" in readme and "| `layer_0` | " in readme
    assert "layer_1" not in readme and "conll" not in readme
    monkeypatch.setattr(taggers, "fit", None)
    run(taggers.main, command, catch_exceptions=False)
    assert (taggers.FOLDER / "README.md").read_text() == readme


ARMS = ["glove_elmo", "taglm", "lm_alone", "half_random", "half_class"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ARMS)
def test_arms_are_what_they_are_called(taggers, data, name):
    corpus = taggers.CORPORA["conll2003"]
    arm, parts = corpus.arms[name], corpus.read(data)
    train = parts[0]
    model = taggers.make_tagger(
        *(corpus, arm, train, VECTORS, 1e-3, 0),
        lambda: taggers.read_language_model("conll2003", parts),
    )
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
        whole = taggers.make_tagger(corpus, {}, train, None, 1e-3, 0)
        size = len(whole.tokenizer.words.vocabulary)
        assert len(tokenizer.words.vocabulary) == size // 2
        assert tokenizer.words.unknown == arm["unknown"]
    row = parts[1][0][0]
    assert len(model.tag([row])[0]) == len(row)


@pytest.mark.slow
def test_the_rate_falls_to_zero(taggers, data):
    corpus = taggers.CORPORA["conll2003"]
    train = [2 * part for part in corpus.read(data)[0]]  # two batches
    model = taggers.make_tagger(corpus, {}, train, None, 1e-3, 0)
    assert float(model.optimizer.learning_rate) == pytest.approx(1e-3)
    model.fit(*train, taggers.ROWS, taggers.EPOCHS, verbose=0)
    assert float(model.optimizer.learning_rate) == 0


@pytest.mark.slow
def test_a_language_model_reads_once(taggers, data):
    from benchmarks.tables.remembering import remembering

    train, dev, _ = taggers.CORPORA["conll2003"].read(data)
    fits = []
    for wrap in (lambda model, _: model, remembering):
        model = zoo.from_preset(taggers.LANGUAGE_MODEL, task=None)
        model = wrap(model, train[0] + dev[0])
        options = {**taggers.CONFIG, "lm_positions": (0,), "lm_layers": "mix"}
        model = zoo.make_tagger(*train, [model], seed=0, **options)
        losses = model.fit(*train, 4, 2, verbose=0).history["loss"]
        fits.append((losses, model.answer(dev[0])["scores"]))
    np.testing.assert_allclose(fits[0][0], fits[1][0], rtol=1e-5)
    np.testing.assert_allclose(fits[0][1], fits[1][1], rtol=1e-4)
    with pytest.raises(Exception, match="KeyError"):
        model.answer([["never", "read"]])


@pytest.mark.slow
def test_a_language_model_is_trained_on_the_words_once(taggers, data, monkeypatch):
    parts = taggers.CORPORA["conll2003"].read(data)
    (taggers.FOLDER / "results").mkdir()
    taggers.read_language_model("conll2003", parts)
    path = taggers.FOLDER / "results" / "conll2003-perplexity.json"
    before, after = json.loads(path.read_text())
    assert 1 < after < before
    adapted = zoo.from_preset(taggers.FOLDER / "runs" / "conll2003-language_model")
    assert not adapted.tokenizer.punctuation
    texts = [" ".join(row) for row in parts[1][0]]
    found = adapted.evaluate(texts, verbose=0, return_dict=True)
    assert found["perplexity"] == pytest.approx(after, rel=1e-3)
    monkeypatch.setattr(taggers, "adapt", None)
    taggers.read_language_model("conll2003", parts)
    taggers.read_language_model("ud_ewt", parts)


def test_counts_and_tables(taggers):
    gold = [["S-A", "O"], ["B-A", "E-A"], ["O", "O"]]
    said = [["S-A", "O"], ["S-A", "S-A"], ["O", "S-A"]]
    counts = taggers.CORPORA["conll2003"].count(gold, said)
    assert counts == [[1, 1, 1], [0, 2, 1], [0, 1, 0]]
    assert taggers.CORPORA["ud_ewt"].count(gold, said) == [
        [2, 2, 2],
        [0, 2, 2],
        [1, 2, 2],
    ]
    assert taggers.f1(counts) == pytest.approx(2 / 6)
    bad = {"dev": 0.3, "counts": counts}
    good = {"dev": 0.9, "counts": [[1, 1, 1], [1, 1, 1], [0, 0, 0]]}
    fits = {"task": [bad, bad], "glove_elmo": [good, bad]}
    results = {arm: {"rate": 0.001, "fits": rows} for arm, rows in fits.items()}
    lines = taggers.render("conll2003", results).splitlines()
    assert lines[0].startswith("| network | dev F1 | test F1 |")
    # The tagger of the paper reads word vectors, too.
    assert lines[2] == "| `task` | 30.00 | 33.33 | 2 |  | 0.001 |  |"
    assert lines[3].startswith("| `glove_elmo` | 60.00 | 66.67 | 2 | +33.33 (")
    assert lines[3].endswith(" | 0.001 | 92.22 |")
    low, high = lines[3].split("(")[1].split(")")[0].split(" to ")
    assert 0 <= float(low) <= 33.33 <= float(high)


def test_an_arm_is_compared_with_all_seeds_of_the_first(taggers):
    bad = {"dev": 0.3, "counts": [[1, 1, 1], [0, 1, 1]]}
    good = {"dev": 0.9, "counts": [[1, 1, 1], [1, 1, 1]]}
    fits = {"task": [bad, good], "elmo": [good]}
    results = {arm: {"rate": 0.001, "fits": rows} for arm, rows in fits.items()}
    lines = taggers.render("conll2003", results).splitlines()
    assert lines[3].startswith("| `elmo` | 90.00 | 100.00 | 1 | +25.00 (")


def test_a_search_takes_the_best_rate(taggers):
    scores = {0.001: 0.2, 0.003: 0.4}
    seen = []

    def once(rate, seed):
        seen.append((rate, seed))
        return {"dev": scores[rate]}

    found = taggers.run("conll2003", "elmo", once)
    assert found["rate"] == 0.003 and found["searched"] == {"0.001": 0.2, "0.003": 0.4}
    assert seen == [(0.001, 0), (0.003, 0), (0.003, 0), (0.003, 1), (0.003, 2)]
    assert taggers.run("conll2003", "elmo", lambda rate, seed: None) is None
    only_first = {(rate, 0): {"dev": -rate} for rate in scores}
    missing = taggers.run("conll2003", "elmo", lambda *key: only_first.get(key))
    assert missing is None


def test_readme_shows_the_results():
    from benchmarks.tables import taggers

    if not (taggers.FOLDER / "results").is_dir():
        pytest.skip("No tagger was trained yet.")
    text = (taggers.FOLDER / "README.md").read_text("utf-8")
    assert taggers.insert(text, taggers.tables()) == text
