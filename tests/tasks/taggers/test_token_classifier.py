"""Labels of words: places, decoders, schemes, and what people hand over."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf
import tiny
from eager import without_graphs

import zoo
from zoo.layers import crf
from zoo.tasks.heads import tag_decoders

TEXTS = tiny.make_texts(24)[0]
TAGS, TRAINED = tiny.make_tags(TEXTS), {}


@pytest.fixture
def make_tagger(make_task):
    def make(**options):
        options = {"labels": tiny.TAGS, "head_dropout": 0.0, **options}
        return make_task("token_classifier", **options)

    return make


@pytest.fixture
def trained(make_tagger):
    def make(**options):
        if (key := str(options)) not in TRAINED:
            TRAINED[key] = make_tagger(**options)
            TRAINED[key].fit(TEXTS, TAGS, batch_size=8, epochs=20, verbose=0)
        return TRAINED[key]

    return make


def test_places_are_of_first_pieces(make_tagger):
    tagger = make_tagger()
    x = tagger.preprocessor((tf.constant(["films the  goodly , of", "", "\u200b a"]),))
    assert x["word_positions"][:, :5].numpy().tolist() == [
        [1, 3, 4, 6, 7],
        [-1, -1, -1, -1, -1],
        [1, 2, -1, -1, -1],
    ]
    pieces = [tagger.tokenizer.vocabulary[i] for i in x["token_ids"][0].numpy()]
    assert pieces[:9] == "[CLS] film ##s the good ##ly , of [SEP]".split()
    assert x["token_ids"][2, 1] == tagger.tokenizer.unknown_id  # nothing was left of it


@pytest.mark.shown("crf")
@pytest.mark.parametrize("decoder", ["crf", "softmax"])
def test_it_learns_and_finds_spans(trained, decoder):
    tagger = trained(decoder=decoder, scheme="IOB2")
    texts, _ = tiny.make_texts(9, seed=5)
    with without_graphs():
        assert tagger.evaluate(TEXTS, TAGS, verbose=0)[1] > 0.99
        assert tagger.entities(TEXTS[0]) == tagger.entities(TEXTS[:1])[0]
        assert tagger.score(TEXTS, TAGS)["f1"] > 0.95
        found = [[word["tag"] for word in row] for row in tagger.tag(texts)]
    assert np.mean(np.concatenate(found) == np.concatenate(tiny.make_tags(texts))) > 0.9


@pytest.mark.slow
def test_the_loss_is_a_mean_over_words_or_rows(make_tagger):
    texts, tags = ["a good film", "the"], [["O", "B-GOOD", "O"], ["O"]]
    for decoder, sizes in (("softmax", (3, 1)), ("crf", (1, 1))):
        tagger = make_tagger(decoder=decoder)
        each = [
            tagger.evaluate(texts[i : i + 1], tags[i : i + 1], verbose=0)[0]
            for i in (0, 1)
        ]
        both = tagger.evaluate(texts, tags, verbose=0)[0]
        assert both == pytest.approx(np.average(each, weights=sizes), rel=1e-5)
        half = np.array([1.0, 0.5])
        both = tagger.evaluate(texts, tags, sample_weight=half, verbose=0)[0]
        assert both == pytest.approx(np.average(each, weights=half * sizes), 1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("decoder", ["softmax", "crf"])
def test_accuracy_counts_rows_by_their_weights(trained, decoder):
    tagger, wrong = trained(decoder=decoder, scheme="IOB2"), ["I-GOOD"] * 3
    x, y = [*TEXTS[:3], "the the the"], [*TAGS[:3], wrong]
    whole = tagger.evaluate(x, y, verbose=0, sample_weight=np.ones(4))[1]
    first = tagger.evaluate(x, y, verbose=0, sample_weight=np.array([1, 1, 1, 0.0]))[1]
    assert whole < first == tagger.evaluate(x[:3], y[:3], verbose=0)[1]


@pytest.mark.slow
def test_a_scheme_is_never_broken(make_tagger):
    plain = make_tagger(decoder="crf")
    inside = 50.0 * np.array([tag == "I-GOOD" for tag in tiny.TAGS])
    plain.get_layer("crf").transitions.assign(np.tile(inside, (3, 1)))
    plain.get_layer("crf").start.assign(inside)
    assert plain.answer(["a b c"])["tags"].tolist() == [["I-GOOD"] * 3]
    strict = make_tagger(decoder="crf", scheme="IOB2")
    strict.set_weights(plain.get_weights())
    answer = strict.answer(["a b c"])["tags"][0].tolist()
    assert answer[0] == "B-GOOD" and set(answer[1:]) == {"I-GOOD"}


@pytest.mark.usefixtures("eagerly")
def test_spans_have_their_places_in_the_text(make_tagger, monkeypatch):
    tagger = make_tagger(scheme="IOB2")
    texts = ["d\u00e9j\u00e0  vu !", "", "\U0001f600 a b"]
    tags = [["B-GOOD", "I-GOOD", "O"], [], ["B-GOOD", "B-GOOD", "O"]]
    words = tagger.tag(texts)
    scores = [[word["score"] for word in row] for row in words]
    for row, own in zip(words, tags, strict=True):
        for word, tag in zip(row, own, strict=True):
            word["tag"] = tag
    monkeypatch.setattr(type(tagger), "tag", lambda *arguments: words)
    first, none, last = tagger.entities(texts)
    files, rows = tagger.files, [*tagger.files.answer_rows(tagger, texts)]
    assert [row["entities"] for row in rows] == [first, none, last]
    assert files.marked_texts(tagger, texts, rows) == (texts, [first, none, last])
    assert none == [] and [span["text"] for span in last] == ["\U0001f600", "a"]
    span = {"text": "d\u00e9j\u00e0  vu", "begin": 0, "end": 8, "label": "GOOD"}
    assert first == [{**span, "score": sum(scores[0][:2]) / 2}]


@pytest.mark.slow
def test_offsets_are_characters_and_padding_is_empty(make_tagger):
    tagger = make_tagger(decoder="crf")
    texts = ["d\u00e9j\u00e0  vu !", "", "\U0001f600 a"]
    for row, text in zip(tagger.tag(texts), texts, strict=True):
        assert [word["word"] for word in row] == text.split()
        for word in row:
            assert text[word["begin"] : word["end"]] == word["word"]
            assert word["tag"] in tiny.TAGS and 0 < word["score"] <= 1
    answer = tagger.answer(texts)
    assert answer["tags"][1].tolist() == ["", "", ""]
    assert answer["begins"][1].tolist() == [-1, -1, -1]
    json.dumps(tagger.tag([["two", "words"]]))
    rows = [*tagger.files.answer_rows(tagger, texts)]
    assert all("entities" not in row for row in rows)  # without a scheme
    marked, spans = tagger.files.marked_texts(tagger, texts, rows)
    for text, own in zip(marked, spans, strict=True):
        assert [text[s["begin"] : s["end"]] for s in own] == text.split()
        assert all(s["label"] in tiny.TAGS for s in own)
    assert tagger.answer([])["tags"].shape[0] == 0


def windowed(tagger, text):
    """Emissions by hand: rows of 6 pieces, each word in the middle half of its row."""
    tokens = [tagger.tokenizer.pieces([w]).values.numpy() for w in text.split()]
    pieces, rows, places = np.concatenate(tokens).tolist(), [], []
    last = max(-(-(len(pieces) - 6) // 3), 0)
    classifier = keras.Model(tagger.input, tagger.get_layer("classifier").output)
    for begin in np.cumsum([0, *map(len, tokens)])[:-1]:
        start = 3 * min(max((2 * begin - 3) // 6, 0), last)
        assert start <= begin < start + 6
        own = pieces[start : start + 6]
        rows.append([tagger.tokenizer.cls_id, *own, tagger.tokenizer.sep_id])
        places.append([begin - start + 1])
    ids = tf.ragged.constant(rows, tf.int32).to_tensor(tagger.tokenizer.pad_id)
    x = tagger.backbone.complete({"token_ids": ids})
    x["word_positions"] = tf.constant(places, tf.int32)
    return classifier(x)[:, 0].numpy()


@pytest.mark.usefixtures("eagerly")
def test_every_word_of_a_long_text_has_a_tag(make_tagger):
    tagger = make_tagger(sequence_length=8)
    texts = ["good " * 10, "", "the goodly films " * 10, "a bad film", "goodlyest " * 3]
    rows = tagger.tag(texts)
    assert [len(row) for row in rows] == [10, 0, 30, 3, 3]
    for text, row in zip(texts, rows, strict=True):
        emissions = windowed(tagger, text) if text else np.zeros((0, 3))
        names = [tiny.TAGS[number] for number in emissions.argmax(-1)]
        assert [word["tag"] for word in row] == names
        shares = np.exp(emissions) / np.exp(emissions).sum(-1, keepdims=True)
        scores = [word["score"] for word in row]
        np.testing.assert_allclose(scores, shares.max(-1), atol=1e-5)


@pytest.mark.usefixtures("eagerly")
def test_a_chain_goes_through_all_rows_of_a_long_text(trained):
    tagger = trained(decoder="crf", scheme="IOB2")
    text = "the good great fine film , " * 5
    potentials = tagger.get_layer("crf")(windowed(tagger, text)[None])
    potentials = crf.forbid(potentials, tagger.allowed, np.ones((1, 30), bool))
    tags = [tiny.TAGS[number] for number in crf.best_path(potentials)[0][0].numpy()]
    assert len(set(tags)) > 1
    length, tagger.sequence_length = tagger.sequence_length, 8
    found = tagger.tag([text, "a bad film"])[0]
    tagger.sequence_length = length
    assert [word["tag"] for word in found] == tags


@pytest.mark.slow
def test_another_length_is_used_at_once(make_tagger):
    tagger, text = make_tagger(sequence_length=8), "the goodly films " * 9
    before = tagger.tag([text])
    tagger.sequence_length = 32
    assert tagger.tag([text]) != before == make_tagger(sequence_length=8).tag([text])


LONG = ["goodly films " * 9, "", "a bad film", "the " * 20]
LONG_TAGS = [["B-GOOD", "I-GOOD"] * 9, [], ["O", "O", "B-GOOD"], ["O"] * 20]


def test_training_reads_every_word_of_a_long_text(make_tagger):
    tagger = make_tagger(sequence_length=8)
    ((x, y, weight),) = tagger.batches(LONG, LONG_TAGS, np.array([1, 1, 0.5, 2]), 99)
    assert x["token_ids"].shape[1] == 8 and y.shape == x["word_positions"].shape
    assert (y.numpy() >= 0).sum() == 18 + 3 + 20
    assert tf.reduce_sum(weight) == 18 + 1.5 + 40
    # Each word has the tag that it has in its text.
    ids = tf.gather(x["token_ids"], tf.maximum(x["word_positions"], 0), batch_dims=1)
    names = np.array(tagger.tokenizer.vocabulary)[ids.numpy()][y.numpy() >= 0]
    tags = np.array(tagger.labels)[y.numpy()[y.numpy() >= 0]]
    pairs = set(zip(names, tags, strict=True))
    expected = {("good", "B-GOOD"), ("film", "I-GOOD"), ("a", "O"), ("bad", "O")}
    assert pairs == {*expected, ("film", "B-GOOD"), ("the", "O")}


@pytest.mark.usefixtures("eagerly")
def test_the_loss_of_a_long_text_is_that_of_its_answers(make_tagger):
    tagger = make_tagger(sequence_length=8)
    loss = tagger.evaluate(LONG, LONG_TAGS, verbose=0, batch_size=2)[0]
    emissions = np.concatenate([windowed(tagger, text) for text in LONG if text])
    truth = [tiny.TAGS.index(tag) for tags in LONG_TAGS for tag in tags]
    shares = np.exp(emissions) / np.exp(emissions).sum(-1, keepdims=True)
    expected = -np.log(shares[np.arange(len(truth)), truth]).mean()
    assert loss == pytest.approx(expected, rel=1e-4)
    joined = [" ".join(tags) for tags in LONG_TAGS]
    dataset = tf.data.Dataset.from_tensor_slices((LONG, joined)).batch(3)
    assert tagger.evaluate(dataset, verbose=0)[0] == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"labels": 1}, "two or more different names"),
        ({"labels": ["O", "B A"]}, "no white space. Received: \\['O', 'B A'"),
        ({"decoder": "viterbi"}, "`decoder` must be one of"),
        ({"scheme": "BIOES", "labels": ["O", "E-A", "I-A", "X"]}, "Received: 'X'"),
        ({"scheme": "BIO"}, "`scheme` must be one of"),
    ],
)
def test_impossible_options_are_refused(make_tagger, options, message):
    with pytest.raises(ValueError, match=message):
        make_tagger(**options)


@pytest.mark.usefixtures("eagerly")
def test_bad_sentences_are_refused(make_tagger):
    tagger = make_tagger()
    with pytest.raises(ValueError, match="2 labels for 3 words in row 1"):
        tagger.fit(["a", "a b c"], [["O"], ["O", "O"]], verbose=0)
    with pytest.raises(ValueError, match="2 labels for 1 words in row 0"):
        tagger.train_on_batch(["a"], [["O", "O"]])
    alone = tf.data.Dataset.from_tensors((["a b c"],))  # a tuple of one
    assert {*next(iter(tagger.batches(alone)))} >= {"token_ids", "word_positions"}
    dataset = tf.data.Dataset.from_tensors((["a b c"], ["O O"]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="must have a label for"):
        tagger.fit(dataset, verbose=0)
    with pytest.raises(ValueError, match="Received: \\['B-BAD'\\]"):
        tagger.fit(["a"], [["B-BAD"]], verbose=0)
    with pytest.raises(ValueError, match="pairs"):
        tagger.preprocessor((tf.constant(["a"]), tf.constant(["b"])))


@pytest.mark.parametrize("rows", [5, 0])
def test_chains_are_decoded_in_blocks(make_tagger, monkeypatch, rows):
    tagger = make_tagger(decoder="crf", scheme="IOB2")
    emissions = tf.random.stateless_normal((rows, 4, len(tiny.TAGS)), (1, 2))
    mask = tf.sequence_mask([4, 1, 3, 2, 4][:rows], 4)
    arguments = tagger, emissions, mask
    wanted = tagger.decoder.decode(*arguments)
    monkeypatch.setattr(tag_decoders, "MAX_PAIRS", 2 * 4 * len(tiny.TAGS) ** 2)
    for found, values in zip(tagger.decoder.decode(*arguments), wanted, strict=True):
        assert found.shape == (rows, 4)
        np.testing.assert_allclose(found, values, atol=1e-6)


@pytest.mark.slow
def test_other_labels_do_not_have_the_saved_scheme(make_tagger, tmp_path):
    tagger = make_tagger(decoder="crf", scheme="IOB2")
    tagger.save_to_preset(tmp_path / "preset")
    found = zoo.from_preset(tmp_path / "preset", labels=["NOUN", "VERB"])
    assert found.options["scheme"] is None
    same = zoo.from_preset(tmp_path / "preset", labels=tiny.TAGS)
    assert (same.options["scheme"], same.new_heads) == ("IOB2", ())
    plain = zoo.from_preset(tmp_path / "preset", decoder="softmax")
    assert plain.new_heads == ()
    plain.save_to_preset(tmp_path / "plain")
    found = zoo.from_preset(tmp_path / "plain", decoder="crf")
    assert found.new_heads == ("classifier", "crf")
