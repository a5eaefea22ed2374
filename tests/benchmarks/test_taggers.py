"""The tables of taggers: every kind of arm at a tiny size, and its rate."""

import json

import numpy as np
import pytest
import tiny
from tiny_inputs import write_tagged

import zoo
from benchmarks.tables import taggers
from benchmarks.tables.remembering import remembering

VECTORS = [*tiny.GOOD, "the"], np.arange(24, dtype="float32").reshape(6, 4)


@pytest.fixture(autouse=True)
def sizes(monkeypatch, elmo):
    """Tiny models."""
    small = {"embedding_dim": 4, "filters": ((2, 3),), "lstm_dim": 4}
    monkeypatch.setattr(taggers, "CONFIG", {**taggers.CONFIG, **small})
    monkeypatch.setattr(taggers, "LANGUAGE_MODEL", str(elmo))
    monkeypatch.setattr(taggers, "EPOCHS", 1)


@pytest.fixture
def data(tmp_path):
    """Both corpora, as their files hold them."""
    write_tagged(tmp_path, 24)
    return tmp_path


def test_words_and_tags_are_read(data):
    for name, tags in (("conll2003", {"O", "S-GOOD"}), ("ud_ewt", {"O", "B-GOOD"})):
        parts = taggers.CORPORA[name].read(data)
        assert [len(words) for words, _ in parts] == [24, 24, 24]
        assert {tag for row in parts[0][1] for tag in row} == tags


ARMS = ["glove_elmo", "taglm", "lm_alone", "half_random", "half_class"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ARMS)
def test_arms_are_what_they_are_called(data, make_run, name):
    corpus, run = taggers.CORPORA["conll2003"], make_run(taggers)
    arm, parts = corpus.arms[name], taggers.read_parts(run, "conll2003")
    train = parts[0]
    model = taggers.make_tagger(
        *(corpus, arm, train, VECTORS, 1e-3, 0),
        lambda: taggers.read_language_model(run, "conll2003"),
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
def test_the_rate_falls_to_zero(data):
    corpus = taggers.CORPORA["conll2003"]
    train = [2 * part for part in corpus.read(data)[0]]  # two batches
    model = taggers.make_tagger(corpus, {}, train, None, 1e-3, 0)
    assert float(model.optimizer.learning_rate) == pytest.approx(1e-3)
    model.fit(*train, taggers.ROWS, taggers.EPOCHS, verbose=0)
    assert float(model.optimizer.learning_rate) == 0


@pytest.mark.slow
def test_a_language_model_reads_once(data):
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
def test_a_language_model_is_trained_on_the_words_once(data, monkeypatch, make_run):
    run = make_run(taggers)
    _, (words, _), _ = taggers.read_parts(run, "conll2003")
    (run.folder / "results").mkdir(parents=True)
    taggers.read_language_model(run, "conll2003")
    path = run.folder / "results" / "conll2003-perplexity.json"
    before, after = json.loads(path.read_text())
    assert 1 < after < before
    adapted = zoo.from_preset(run.models / "conll2003-language_model")
    assert not adapted.tokenizer.punctuation
    texts = [" ".join(row) for row in words]
    found = adapted.evaluate(texts, verbose=0, return_dict=True)
    assert found["perplexity"] == pytest.approx(after, rel=1e-3)
    monkeypatch.setattr(taggers, "adapt", None)
    taggers.read_language_model(run, "conll2003")
    taggers.read_language_model(run, "ud_ewt")


@pytest.mark.slow
def test_a_fit_has_counts_of_all_sentences(data, make_run):
    lines = [f"{word} 0 1 2 3\n" for word in tiny.GOOD]
    (data / "glove.txt").write_text("".join(lines))
    run = make_run(taggers, vectors=data / "glove.txt")
    found = taggers.fit(run, "ud_ewt", "layer_0", 0.003, 0)
    assert len(found["counts"]) == 24 and 0 <= found["dev"] <= 1


def test_a_search_takes_the_best_rate(monkeypatch, make_run):
    seen, run = [], make_run(taggers)

    def fit(run, name, arm, rate, seed):
        seen.append((rate, seed))
        return {"dev": {0.001: 0.2, 0.003: 0.4}[rate], "counts": []}

    monkeypatch.setattr(taggers, "fit", fit)
    reader = make_run(taggers, reading=True)
    assert taggers.run_arm(reader, "conll2003", "elmo") is None and not seen
    found = taggers.run_arm(run, "conll2003", "elmo")
    assert found["rate"] == 0.003 and found["searched"] == {"0.001": 0.2, "0.003": 0.4}
    assert seen == [(0.001, 0), (0.003, 0), (0.003, 1), (0.003, 2)]
    (run.folder / "results/conll2003-elmo-0.003-2.json").unlink()
    assert taggers.run_arm(reader, "conll2003", "elmo") is None
