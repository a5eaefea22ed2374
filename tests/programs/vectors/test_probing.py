"""Linear classifiers on the layers of a model, and the vectors that they read."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf
import tiny
from command_line import run
from report_runs import write_table
from tiny_translator import make_translator

import zoo
from zoo.programs.vectors import layer_vectors, probing
from zoo.programs.vectors.layer_vectors import text_vectors, word_vectors
from zoo.registry import build_backbone
from zoo.text import (
    CharacterTokenizer,
    ParsingTokenizer,
    list_tokens,
    read_tree,
    train_sentencepiece,
)

SENTENCES = ["the film was good", "a plot was very bad"]
TREES = [
    "(S (NP (DT the) (NN film)) (VP (VBD was) (ADJP (JJ good))))",
    "(S (NP (DT a) (NN plot)) (VP (VBD was) (ADJP (RB very) (JJ bad))))",
]


@pytest.fixture(autouse=True)
def few_updates(monkeypatch):
    monkeypatch.setattr(probing, "UPDATES", 400)


def naive(backbone, text):
    """The vectors of the tokens of one short text in all layers, (N + 1, L, D)."""
    x = zoo.data.Packer(backbone.tokenizer, 32)((np.array([text], object),))
    hidden = backbone.with_outputs("layer_outputs")(x)["layer_outputs"][0]
    return hidden.numpy()[:, : int(x["padding_mask"].numpy().sum())]


def test_vectors_of_words_are_those_of_first_pieces(bert):
    texts = ["films", "", "the best film", "bad"]
    found, counts = word_vectors(bert, texts, batch_size=2)
    assert counts.tolist() == [1, 0, 3, 1] and found.shape == (5, 3, 16)
    np.testing.assert_allclose(found[0], naive(bert, "films")[:, 1], atol=1e-5)
    pieces = bert.tokenizer.pieces(["the", "best"]).row_lengths().numpy()
    expected = naive(bert, "the best film")
    for word, place in enumerate((1, 1 + pieces[0], 1 + pieces.sum())):
        np.testing.assert_allclose(found[1 + word], expected[:, place], atol=1e-5)
    long = " ".join(["good film"] * 60)
    assert word_vectors(bert, [long])[0].shape == (120, 3, 16)
    none, counts = word_vectors(bert, [])
    assert none.shape == (0, 3, 16) and counts.shape == (0,)


def test_some_words_of_small_blocks_are_the_same(bert, monkeypatch):
    texts = ["a good film", "", "the end of a film was bad", "x"]
    every, counts = layer_vectors.word_vectors(bert, texts)
    assert counts.tolist() == [3, 0, 7, 1]
    means = layer_vectors.text_vectors(bert, texts)
    monkeypatch.setattr(layer_vectors, "BYTES_AT_ONCE", 20)
    blocks = [*layer_vectors._blocks(tf.constant(texts), 32)]
    assert [*map(len, blocks)] == [1, 1, 2]
    wanted = [[2, 0], [], [5, 5], []]
    some, counts = layer_vectors.word_vectors(bert, texts, places=wanted)
    assert counts.tolist() == [2, 0, 2, 0]
    np.testing.assert_allclose(some, every[[2, 0, 8, 8]], atol=1e-5)
    found = layer_vectors.text_vectors(bert, texts)
    np.testing.assert_allclose(found, means, atol=1e-5)


def test_words_of_texts_are_embedded(bert, preset):
    texts = [["the", "good", "film"], [], ["bad"]]
    found = zoo.embed_words(texts, preset, [0, -1], batch_size=1)
    assert [part.shape for part in found] == [(3, 2, 16), (0, 2, 16), (1, 2, 16)]
    every = zoo.embed_words(["the good film", "", "bad"], bert, None)
    for part, whole in zip(found, every, strict=True):
        np.testing.assert_allclose(part, whole[:, [0, -1]], atol=1e-5)
    assert zoo.embed_words([], bert) == []
    long = ["good film " * 60, "bad"]  # in windows, some of them at once
    few, many = (zoo.embed_words(long, bert, batch_size=n) for n in (2, 64))
    assert few[0].shape == (120, 1, 16)
    for part, whole in zip(few, many, strict=True):
        np.testing.assert_allclose(part, whole, atol=1e-5)
    with pytest.raises(TypeError, match="Received: one string"):
        zoo.embed_words("the film", bert)
    for wrong in ([["ok"], [1]], [["ok"], "a"], ["ok", None]):
        with pytest.raises(TypeError, match="in row 1|None"):
            zoo.embed_words(wrong, bert)
    with pytest.raises(ValueError, match="an empty word in row 0"):
        zoo.embed_words([["a", ""]], bert)
    # As for taggers, a space in a word is no border.
    assert zoo.embed_words([["10\u00a0000", "\ud800"]], bert)[0].shape[0] == 2


def test_a_model_is_compiled_once_until_it_changes(preset, monkeypatch):
    backbone, compiled = zoo.from_preset(preset), []
    compile = layer_vectors._compile

    def counted(*arguments):
        compiled.append(arguments)
        return compile(*arguments)

    monkeypatch.setattr(layer_vectors, "_compile", counted)
    first = zoo.embed_words(["a film"], backbone)[0]
    backbone.set_weights([2 * weight for weight in backbone.get_weights()])
    assert not np.allclose(zoo.embed_words(["a film"], backbone)[0], first)
    assert len(compiled) == 1
    backbone.quantize("int8")
    zoo.embed_words(["a film"], backbone)
    assert len(compiled) == 2


def test_vectors_of_texts_are_means(bert):
    texts = ["the film", "", "a very bad plot"]
    found = text_vectors(bert, texts, batch_size=2)
    for text, vectors in zip(texts, found, strict=True):
        expected = naive(bert, text).mean(axis=1)
        np.testing.assert_allclose(vectors, expected, atol=1e-5)


def test_an_encoder_decoder_is_read_by_its_encoder():
    model = make_translator()
    text = tiny.make_pairs(60)[0][0]
    found, counts = word_vectors(model, [text, "", text])
    x = model.preprocessor((tf.constant([text]),))
    backbone = model.backbone
    inputs = backbone.complete({**x, "decoder_token_ids": np.ones((1, 1), "int32")})
    name = "encoder_layer_outputs"
    expected = backbone.with_outputs(name)(inputs)[name][0].numpy()
    pieces = model.tokenizer.pieces(text.split()).row_lengths().numpy()
    places = np.cumsum(pieces) - pieces
    assert counts.tolist() == [len(places), 0, len(places)]
    for rows in np.split(found, 2):
        right = expected[:, places].swapaxes(0, 1)
        np.testing.assert_allclose(rows, right, rtol=1e-5, atol=1e-5)
    size = int(x["encoder_padding_mask"].numpy().sum())
    means = text_vectors(model, [text])[0]
    np.testing.assert_allclose(means, expected[:, :size].mean(axis=1), atol=1e-5)


def test_a_layer_that_knows_the_label_is_found(monkeypatch):
    monkeypatch.setattr(probing, "UPDATES", 100)
    monkeypatch.setattr(probing, "RATE", 0.06)
    draw = np.random.default_rng(0)
    x, y = draw.normal(size=(600, 3, 8)).astype("float32"), draw.integers(0, 2, 600)
    x[:, 1, 0] += 6.0 * y
    labels = [("no", "yes")[number] for number in y]

    def probe():
        parts = (x[:400].copy(), labels[:400]), (x[400:].copy(), labels[400:])
        return probing._probe(*parts, ["no", "yes"], "accuracy", 0)

    found = probe()
    assert found["layers"][1] > 0.9 > 0.7 > max(found["layers"][::2])
    assert found["mix"] > 0.75 and np.argmax(found["weights"]) == 1
    assert sum(found["weights"]) == pytest.approx(1)
    assert found == probe()
    x = x[:, 1:2]
    found = probe()
    assert found["mix"] == found["layers"][0] > 0.9 and found["weights"] == [1.0]


def test_names_are_scored_without_other_words():
    truth = np.array(["O", "B-PER", "O", "B-LOC"])
    assert probing.score(truth, np.array(["O", "B-PER", "B-LOC", "O"]), "f1") == 0.5
    assert probing.score(truth[1::2], np.array(["B-PER", "x"]), "accuracy") == 0.5
    assert probing.score(truth, np.array(["O"] * 4), "f1") == 0


@pytest.mark.usefixtures("eagerly")
def test_rows_are_drawn_and_only_tags_have_no_label(bert, monkeypatch):
    monkeypatch.setattr(probing, "EPOCHS", 1)
    monkeypatch.setattr(probing, "UPDATES", 1)
    texts = ["good"] * 40 + ["bad"] * 40
    labels = ["O"] * 40 + ["x"] * 40  # the first rows have one label only
    found = zoo.probe(bert, (texts, labels), (texts, labels), limit=20)
    assert (found.train, found.test, found.metric) == (20, 20, "accuracy")
    assert found.baseline == 1.0  # and the drawn texts have their own labels
    tagged = texts, [[label] for label in labels]
    found = zoo.probe(bert, tagged, tagged, "token_classifier", limit=20)
    assert found.metric == "f1" and found.baseline == 1.0


@pytest.mark.slow
def test_words_texts_and_phrases(bert, monkeypatch):
    monkeypatch.setattr(probing, "EPOCHS", 2)
    monkeypatch.setattr(probing, "UPDATES", 40)
    texts, labels = tiny.make_texts(80, seed=2)
    words, tags = [text.split() for text in texts], tiny.make_tags(texts)
    rows = (words[:60], tags[:60]), (words[60:], tags[60:])
    found = zoo.probe(bert, *rows, "token_classifier")
    assert found.metric == "f1" and found.baseline == 1.0
    assert found.train == sum(map(len, words[:60]))
    assert 0 <= found.center <= 2
    rows = (texts[:60], labels[:60]), (texts[60:], labels[60:])
    found = zoo.probe(bert, *rows, limit=50)
    assert (found.train, found.test, found.metric) == (50, 20, "accuracy")
    trees = (SENTENCES, TREES)
    found = zoo.probe(bert, trees, trees, "parser")
    # S, NP and VP of both, and ADJP of the second one.
    assert found.train == 7 and found.baseline == 1.0


def test_the_baseline_of_phrases_knows_their_first_and_last_words():
    from zoo.programs.vectors.layer_examples import EXAMPLES

    other = "(S (NP (DT the) (NN film)) (VP (VBD was) (ADJP (RB so) (JJ poor))))"
    predict = EXAMPLES[zoo.Parser].predict
    # "the ... poor" has the label of "the", "was ... poor" that of "was", and "so ...
    # poor" that of most phrases. "the film" is known.
    trees = [*TREES, "(NP (DT the) (NN plot))", "(NP (DT the) (NN cat))"]
    assert sorted(predict([], trees, [], [other])) == ["NP", "NP", "NP", "VP"]
    assert predict([], trees, [], [TREES[0]]).count("S") == 1


def test_a_phrase_has_its_first_and_its_last_word(bert):
    from zoo.programs.vectors.layer_examples import phrases_and_labels

    vectors, labels = phrases_and_labels(bert, SENTENCES, TREES)
    words, _ = word_vectors(bert, SENTENCES)
    rows = [*zip(labels, vectors, strict=True)]
    expected = [("S", 0, 3), ("NP", 0, 1), ("VP", 2, 3), ("S", 4, 8), ("NP", 4, 5)]
    expected += [("VP", 6, 8), ("ADJP", 7, 8)]
    assert len(rows) == len(expected)
    for label, first, last in expected:
        both = np.concatenate([words[first], words[last]], axis=-1)
        assert any(
            name == label and np.allclose(own, both, atol=1e-6) for name, own in rows
        )


ROWS = ["a", "b"], ["x", "y"]


def test_wrong_arguments(bert):
    kind, tagged = "text_classifier", ([["a", "b"]], [["x"]])
    trees = SENTENCES[::-1], TREES
    for train, test, task, message in (
        (ROWS, ROWS, "multiple_choice", "`task` must be one of .*'multiple_choice'"),
        ((["a"], ["x"]), ROWS, kind, "at least two labels.*labels .'x'"),
        (((["a"], ["b"]), ["x"]), ROWS, kind, "single texts. Received: pairs"),
        (tagged, ROWS, "token_classifier", "every word. Received: 2 words and 1"),
        (ROWS, (["a"], ["x", "y"]), kind, "must have a label.*1 texts and 2 labels"),
        (trees, trees, "parser", "words of its tree.* 9 words, and .* 9"),
    ):
        with pytest.raises(ValueError, match=message):
            zoo.probe(bert, train, test, task)
    with pytest.raises(ValueError, match="Options are used only.*load_weights"):
        zoo.probe(bert, ROWS, ROWS, load_weights=False)
    without = build_backbone("elmo", tiny.ELMO_CONFIG)
    with pytest.raises(ValueError, match="with a tokenizer. Received: .* 'elmo'"):
        word_vectors(without, ["a"])
    without.tokenizer = CharacterTokenizer(12)
    assert word_vectors(without, ["a b"])[0].shape[:2] == (2, 3)


@pytest.mark.slow
def test_the_command_writes_a_table_and_a_picture(preset, tmp_path):
    path = write_table(tmp_path / "a.tsv", *tiny.make_texts(60, seed=2))
    files = ["--data", path, "--test", path]
    output = run("probe", preset, *files, "--output", tmp_path / "p.svg")
    assert "| 0, embeddings | " in output and "| weighted sum | " in output
    assert "60 examples for training" in output
    assert "baseline" in (tmp_path / "p.svg").read_text("utf-8")


def test_a_missing_package_is_found_before_the_training(bert, monkeypatch):
    def missing(*arguments):
        raise ImportError("scikit-learn")

    examples = dataclasses.replace(
        probing.EXAMPLES[zoo.TextClassifier], predict=missing
    )
    monkeypatch.setitem(probing.EXAMPLES, zoo.TextClassifier, examples)
    monkeypatch.setattr(probing, "_probe", None)
    with pytest.raises(ImportError, match="scikit-learn"):
        zoo.probe(bert, ROWS, ROWS)


@pytest.mark.parametrize("kind", ["numbered", "tensor2tensor"])
def test_words_of_a_parser_have_their_numbers(kind):
    model = train_sentencepiece(SENTENCES * 4, 300)
    trees = [read_tree(tree, clean=True) for tree in TREES]
    tokenizer = ParsingTokenizer(model, list_tokens(trees, kind), kind)
    sizes = {"hidden_dim": 8, "num_heads": 2, "intermediate_dim": 16}
    sizes |= {"num_encoder_layers": 2, "num_decoder_layers": 0}
    size = tokenizer.vocabulary_size
    backbone = build_backbone("transformer", {**sizes, "vocabulary_size": size})
    backbone.tokenizer = tokenizer
    text = "the film was good"
    ids = tokenizer(text).numpy()
    found, _ = word_vectors(backbone, [text], [-1])
    begins, place = [], 0
    for word in text.split():
        begins.append(place + (kind == "numbered"))
        place += len(tokenizer(word).numpy())
    assert place == len(ids)
    ids = np.array([[*ids, tokenizer.end_id]])
    hidden = backbone(backbone.complete({"token_ids": ids}))["sequence_output"][0]
    np.testing.assert_allclose(found[:, 0], hidden.numpy()[begins], atol=1e-5)
