"""TagLM over a model of word pieces, alone and beside one of words."""

import functools

import keras
import numpy as np
import pytest
import tensorflow as tf
import tiny

import zoo
from zoo.models.elmo import ELMo, ELMoConfig
from zoo.registry import build_backbone
from zoo.text import CharacterTokenizer, TaggerTokenizer, WordPieceTokenizer
from zoo.text.words.tagger_tokenizer import in_pieces

TEXTS, _ = tiny.make_texts(24, seed=5)
WORDS, TAGS = [text.split() for text in TEXTS], tiny.make_tags(TEXTS)
SIZES = {"lstm_dim": 6, "num_layers": 1, "filters": ((2, 4),), "lm_positions": (0,)}
ALONE = {"minimum": None, "num_layers": 0, "filters": (), "lm_positions": (0,)}
LONG = " ".join(["boring"] * 40)  # 42 pieces, where 32 fit


@functools.cache
def pieces():
    return WordPieceTokenizer(tiny.VOCABULARY)


def make(elmo=False, **options):
    """A tagger that reads a tiny BERT and, if so, a tiny ELMo."""
    keras.utils.set_random_seed(3)
    models = [build_backbone("bert", {**tiny.CONFIG, "dropout": 0.3})]
    models[0].tokenizer = pieces()
    if elmo:
        models.append(ELMo(ELMoConfig(**tiny.ELMO_CONFIG)))
        models[1].tokenizer = CharacterTokenizer(12)
    sizes = {**SIZES, "max_sequence_length": None}  # one window
    options = {**sizes, "scheme": "IOB2", "dropout": 0.0, **options}
    return zoo.make_tagger(WORDS, TAGS, models, seed=1, **options)


def inputs_of(model, texts):
    x = model.preprocessor((texts,))
    x.pop("word_positions")
    return x


def run_both(model):
    """The outputs of a backbone in training and in use."""
    x = inputs_of(model, TEXTS[:3])
    return [model.backbone(x, training=t)["sequence_output"] for t in (True, False)]


@pytest.mark.parametrize("text", ["the goodly film", "", "\u0301 goodly\u00a0!", "x"])
def test_words_begin_where_their_first_piece_is(text):
    words = [word.decode() for word in TaggerTokenizer.split([text])[0][0].numpy()]
    rows = tf.constant([["<S>", *words, "</S>", "", ""]])
    mask = tf.cast(rows != "", tf.int32)
    found = in_pieces(pieces(), rows, mask)
    own = [pieces().pieces([word])[0].numpy().tolist() for word in words]
    flat = [pieces().cls_id, *sum(own, []), pieces().sep_id]
    assert found["token_ids"].numpy().tolist() == [flat]
    places = found["word_positions"].numpy()[0]
    assert places[0] == 1 and places[len(words) + 1] == len(flat)
    for place, ids in zip(places[1:], own, strict=False):
        assert flat[place - 1 : place - 1 + len(ids)] == ids
    assert not places[len(words) + 2 :].any()


def test_rows_are_what_each_is_alone():
    rows = tf.constant([["<S>", "goodly", "</S>", ""], ["<S>", "a", "goods", "</S>"]])
    both = in_pieces(pieces(), rows, tf.cast(rows != "", tf.int32))
    for row in range(2):
        words = rows[row : row + 1, : 4 - (row == 0)]
        one = in_pieces(pieces(), words, tf.ones_like(words, tf.int32))
        for key, value in one.items():
            width = value.shape[1]
            np.testing.assert_array_equal(both[key][row, :width], value[0])
            assert not both[key][row, width:].numpy().any()


@pytest.mark.shown("layers2")
@pytest.mark.parametrize("layers", ["top", 1, (-1, 0)])
def test_vectors_are_those_of_first_pieces(layers):
    model = make(lm_layers=layers, **ALONE)
    names = {"padding_mask", "lm_0_token_ids", "lm_0_word_positions"}
    assert {*model.backbone.input} == names
    texts = ["the goodly film", LONG, ""]
    x = inputs_of(model, texts)
    found = model.backbone(x)["sequence_output"].numpy()
    bert = model.backbone.parts["lm_0"].with_outputs("layer_outputs")
    for row, text in enumerate(texts):
        ids = pieces()([text]).to_tensor()[:, :31].numpy()
        ids = [pieces().cls_id, *ids[0], pieces().sep_id][:32]
        own = model.backbone.parts["lm_0"].complete({"token_ids": np.array([ids])})
        numbers = {"top": (-1,), 1: (1,)}.get(layers, layers)
        hidden = bert(own)["layer_outputs"][0].numpy()
        vectors = np.concatenate([hidden[number] for number in numbers], axis=-1)
        places = [0, 1, 2, 4, 5] if row == 0 else range(len(ids))
        np.testing.assert_allclose(
            found[row, : len(places)], vectors[places], atol=1e-5
        )
        assert not found[row, len(places) :].any()


@pytest.mark.slow
def test_it_trains_beside_words_and_is_kept(tmp_path):
    model = make(elmo=True, lm_layers="mix", lm_trainable=True)
    parts = model.backbone.parts.values()
    weights = [weight for part in parts for weight in part.trainable_weights]
    before = [weight.numpy() for weight in weights]
    losses = model.fit(WORDS, TAGS, epochs=3, verbose=0).history["loss"]
    assert losses[-1] < losses[0] and len(parts) == 2 and len(weights) > 30
    for old, new in zip(before, weights, strict=True):
        assert (old != new.numpy()).any(), new.path
    trained, used = run_both(model)
    assert np.abs(trained - used).max() > 1e-3  # their dropout is on
    texts = [*TEXTS[:3], LONG, ""]
    expected = model.tag(texts)
    assert [len(row) for row in expected] == [len(text.split()) for text in texts]
    model.save(tmp_path / "a.keras")
    assert zoo.load_model(tmp_path / "a.keras").tag(texts) == expected
    model.save_to_preset(tmp_path / "preset")
    assert zoo.from_preset(tmp_path / "preset").tag(texts) == expected
    served = tf.saved_model.load(str(model.export(tmp_path / "export")))
    answers = served.signatures["serving_default"](text=tf.constant(texts))
    found = answers["tags"].numpy().astype(str).tolist()
    assert found == model.answer(texts)["tags"].tolist()


@pytest.mark.slow
def test_it_is_frozen_by_default():
    model = make(lm_layers="mix")
    part = model.backbone.parts["lm_0"]
    assert not part.trainable_weights
    np.testing.assert_allclose(*run_both(model), atol=1e-6)  # its dropout is off
    trained, used = run_both(make(lm_layers="mix", lm_dropout=0.5))  # not its own
    assert np.abs(trained - used).max() > 1e-3


@pytest.mark.slow
@pytest.mark.usefixtures("eagerly")
def test_concatenated_layers_are_kept(tmp_path):
    model = make(lm_layers=[-1, 0], **ALONE)
    model.save(tmp_path / "a.keras")
    copy = zoo.load_model(tmp_path / "a.keras")
    assert copy.backbone.config.lm_layers == (-1, 0)
    assert copy.tag(["the film"]) == model.tag(["the film"])
    for layers, message in (((-9,), "from -3 to 2"), ((), "must have a layer number")):
        with pytest.raises(ValueError, match=message):
            make(lm_layers=layers, **ALONE)


@pytest.mark.slow
def test_some_layers_are_mixed(tmp_path):
    model = make(lm_layers=(-1, 0), lm_mix=True, **ALONE)
    mix = model.backbone.named_layers["lm_0_mix_0"]
    mix.scalars.assign([1.0, -0.5])
    x = inputs_of(model, ["the goodly film"])
    found = model.backbone(x)["sequence_output"]
    shares = np.exp([1.0, -0.5]) / np.exp([1.0, -0.5]).sum()
    last, first = (
        make(lm_layers=(number,), **ALONE).backbone(x)["sequence_output"]
        for number in (-1, 0)
    )
    expected = shares[0] * last + shares[1] * first
    np.testing.assert_allclose(found, expected, atol=1e-5)
    model.save(tmp_path / "a.keras")
    copy = zoo.load_model(tmp_path / "a.keras")
    np.testing.assert_array_equal(copy.backbone(x)["sequence_output"], found)


def test_padding_changes_nothing():
    model = make(elmo=True)
    x = model.preprocessor((TEXTS[:4],))
    wide = {
        k: tf.pad(v, [[0, 0], [0, 5], [0, 0]][: len(v.shape)]) for k, v in x.items()
    }
    expected = model(x)
    found = model(wide)[:, : expected.shape[1]]
    np.testing.assert_allclose(found, expected, atol=1e-5)
