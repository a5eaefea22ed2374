"""The language model of two directions: its targets, its states, its answers."""

import functools

import keras
import numpy as np
import pytest
import tensorflow as tf
import tiny

import zoo
from zoo.data import TokenStreams, stream_batches
from zoo.models.elmo import ELMo, ELMoConfig
from zoo.text import CharacterTokenizer
from zoo.training import Adagrad, train_steps

TEXTS, _ = tiny.make_texts(60, seed=2)
WIDTH = tiny.ELMO_CONFIG["projection_dim"]


def make(rows=None, num_samples=None, seed=0, tokenizer=True, **fields):
    """A tiny language model with weights that are not small."""
    elmo = ELMo(ELMoConfig(**{**tiny.ELMO_CONFIG, **fields}))
    tokenizer = CharacterTokenizer(12, tiny.WORDS) if tokenizer else None
    model = zoo.BidirectionalLM(
        elmo, tokenizer, num_words=len(tiny.WORDS), num_samples=num_samples, rows=rows
    )
    draw = np.random.default_rng(seed)
    for variable in model.trainable_variables:
        variable.assign(draw.normal(0, 0.4, variable.shape))
    return model


def make_streams(rows, steps, seed=0):
    """The texts as streams."""
    ids = [[tiny.WORDS.index(word) for word in text.split()] for text in TEXTS]
    offsets = np.cumsum([0, *map(len, ids)])
    return TokenStreams(np.concatenate(ids), offsets, rows, steps, seed=seed)


def batches_of(model, streams, start=0):
    """Batches as a model that carries states is trained on."""
    batches = stream_batches(streams, tiny.WORDS, model.tokenizer, start)
    return batches.map(model.finish)


def states_of(model):
    found = {v.path: v.numpy() for v in model.variables if "carried_state" in v.path}
    assert len(found) == 4
    return found


def log_softmax(x):
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


@pytest.mark.usefixtures("eagerly")
def test_likelihoods_are_those_of_the_layers_outputs():
    model = make()
    texts = [*TEXTS[:2], "the unknownword !"]
    found = model.answer(texts)
    outputs = model.backbone.with_outputs("layer_outputs")
    softmax = model.get_layer("softmax")
    for row, text in enumerate(texts):
        words = ["<S>", *text.split(), "</S>"]
        ids = model.tokenizer.spell(tf.constant([words]))
        top = outputs(model.backbone.complete({"character_ids": ids}))["layer_outputs"]
        top = top[0, -1].numpy()
        targets = [tiny.WORDS.index(w) if w in tiny.WORDS else 2 for w in words]
        expected = {}
        for name, hidden, nearby in (
            ("forward", top[:-1, :WIDTH], targets[1:]),
            ("backward", top[1:, WIDTH:], targets[:-1]),
        ):
            logits = hidden @ softmax.kernel.numpy().T + softmax.bias.numpy()
            scores = log_softmax(logits)[np.arange(len(nearby)), nearby]
            expected[name] = scores.sum()
            np.testing.assert_allclose(found[name][row], expected[name], rtol=1e-5)
        assert found["words"][row] == len(words) - 1
        mean = (expected["forward"] + expected["backward"]) / 2 / (len(words) - 1)
        np.testing.assert_allclose(found["perplexity"][row], np.exp(-mean), rtol=1e-5)


def test_what_is_read_and_predicted():
    model = make()
    ((x, y, weight),) = model.batches(["the film", "good"], batch_size=2)
    spell, index = model.tokenizer.spell, tiny.WORDS.index
    row = 0 if weight[0, 0, 2] else 1
    for name, words in (
        ("forward_ids", ["<S>", "the", "film"]),
        ("backward_ids", ["the", "film", "</S>"]),
    ):
        np.testing.assert_array_equal(x[name][row], spell(tf.constant(words)))
    assert y[row].numpy().tolist() == [
        [index("the"), index("film"), 1],
        [0, index("the"), index("film")],
    ]
    short = 1 - row
    assert weight[short].numpy().tolist() == [[1, 1, 0], [1, 1, 0]]
    assert (x["forward_ids"][short, 2].numpy() == 0).all()
    assert y[short, :, 2].numpy().tolist() == [0, 0]


@pytest.mark.shown("forward")
@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_steps_of_a_stream_are_one_long_text(direction):
    """Cut into steps whose states are carried, it has the likelihoods of the whole."""
    reading, whole = make(rows=2), make()
    steps = list(batches_of(reading, make_streams(2, 4)).take(5))
    number = ("forward", "backward").index(direction)
    found = [reading(x, training=False)[:, number].numpy() for x, _, _ in steps]
    # The backward model reads the last word of a batch first.
    order = steps if direction == "forward" else steps[::-1]
    longest = max(x["forward_ids"].shape[2] for x, _, _ in steps)

    def padded(ids):
        more = longest - ids.shape[2]
        return np.pad(ids, ((0, 0), (0, 0), (0, more)), constant_values=261)

    inputs = {}
    for name in ("forward", "backward"):
        ids = [padded(x[f"{name}_ids"].numpy()) for x, _, _ in order]
        inputs[f"{name}_ids"] = np.concatenate(ids, axis=1)
        targets = [x[f"{name}_targets"].numpy() for x, _, _ in order]
        inputs[f"{name}_targets"] = np.concatenate(targets, axis=1)
    expected = whole(inputs, training=False)[:, number].numpy()
    found = found if direction == "forward" else found[::-1]
    np.testing.assert_allclose(np.concatenate(found, axis=1), expected, atol=1e-5)


@pytest.mark.slow
def test_training_and_evaluation_have_states_of_their_own():
    model = make(rows=3)
    model.compile(keras.optimizers.SGD(0.0))
    streams = make_streams(3, 4)
    first, second = list(batches_of(model, streams).take(2))
    model.train_on_batch(*first)
    before = states_of(model)
    assert all((v == 0).all() for k, v in before.items() if "evaluation" in k)
    model.test_on_batch(*first)
    after = states_of(model)
    for path in before:
        changed = (before[path] != after[path]).any()
        assert changed == ("evaluation" in path)
    assert model.test_on_batch(*second) == model.train_on_batch(*second)


def test_an_epoch_begins_anew():
    model = make(rows=3)
    streams = make_streams(3, 4)
    batches = list(batches_of(model, streams).take(streams.steps_per_epoch + 1))
    fresh = [x["fresh"].numpy().tolist() for x, _, _ in batches]
    assert fresh == [[1] * 3, *[[0] * 3] * (len(batches) - 2), [1] * 3]
    scores = [model(batches[0][0], training=False) for _ in range(2)]
    np.testing.assert_array_equal(*scores)
    going_on = {**batches[0][0], "fresh": np.zeros(3, "int32")}
    assert np.abs(model(going_on, training=False) - scores[0]).max() > 1e-3


def trained(directory, *stops):
    """A model trained up to each stop, from its file after the first."""
    keras.utils.set_random_seed(3)
    model = make(rows=3, num_samples=9, dropout=0.2)
    model.compile(Adagrad(0.2, initial_accumulator_value=0.01, global_clipnorm=0.5))
    streams = make_streams(3, 4)
    for stop in stops:
        make_batches = functools.partial(batches_of, model, streams)
        model = train_steps(model, make_batches, stop, directory, every=2)
    return [(v.path, v.numpy()) for v in model.variables]


@pytest.mark.slow
def test_resumed_training_is_the_same_bit_for_bit(tmp_path):
    steps = make_streams(3, 4).steps_per_epoch
    assert 2 * steps > 60  # it passes the end of an epoch
    whole = trained(tmp_path / "whole", 2 * steps)
    parts = trained(tmp_path / "parts", 6, steps // 2 * 2 + 2, 2 * steps)
    assert any("carried_state/training" in path for path, _ in whole)
    for (path, value), (_, again) in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(again, value, err_msg=path)


@pytest.mark.slow
def test_it_learns():
    keras.utils.set_random_seed(5)
    model = make(rows=4, num_samples=30)
    model.compile(keras.optimizers.Adam(2e-2))
    pattern = np.tile(np.arange(3, 13), 200)  # the next word is always the same
    streams = TokenStreams(pattern, np.arange(0, 2001, 10), 4, 10)
    model.fit(batches_of(model, streams), steps_per_epoch=120, shuffle=False, verbose=0)
    held_out = batches_of(model, streams).take(20)
    assert model.evaluate(held_out, return_dict=True, verbose=0)["perplexity"] < 1.5


@pytest.mark.slow
def test_replicas_carry_their_own_rows(two_replicas):
    results = []
    for strategy in (tf.distribute.get_strategy(), two_replicas):
        rows = 4 // strategy.num_replicas_in_sync
        with strategy.scope():
            model = make(rows=rows)
            model.compile(keras.optimizers.SGD(0.1))
        streams = make_streams(4, 4)
        history = model.fit(
            batches_of(model, streams), steps_per_epoch=6, shuffle=False, verbose=0
        )
        weights = [w.numpy() for w in model.trainable_weights]
        results.append((history.history["loss"], *weights))
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=2e-5)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Skipping nested container")  # the refused one
def test_a_file_holds_the_states_of_all_replicas(two_replicas, tmp_path):
    streams = make_streams(4, 4)

    def read_on(model, start):
        batches = batches_of(model, streams, start)
        model.fit(batches, steps_per_epoch=3, shuffle=False, verbose=0)
        return [w.numpy() for w in model.trainable_weights]

    with two_replicas.scope():
        model = make(rows=2)
        model.compile(keras.optimizers.SGD(0.1))
    read_on(model, 0)
    model.save(tmp_path / "model.keras")
    model.save_weights(tmp_path / "model.weights.h5")
    expected = read_on(model, 3)
    with two_replicas.scope():
        again = keras.saving.load_model(tmp_path / "model.keras")
    for ours, theirs in zip(read_on(again, 3), expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    alone = make(rows=4)
    alone.load_weights(tmp_path / "model.weights.h5")
    alone.compile(keras.optimizers.SGD(0.1))
    for ours, theirs in zip(read_on(alone, 3), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=2e-5)
    with pytest.raises(ValueError, match="states of 4 rows, for 1 replicas of 3 rows"):
        make(rows=3).load_weights(tmp_path / "model.weights.h5")


@pytest.mark.slow
def test_a_preset_has_no_states(tmp_path):
    model = make(rows=3)
    model.compile(keras.optimizers.SGD(0.1))
    batches = batches_of(model, make_streams(3, 4))
    model.fit(batches, steps_per_epoch=2, shuffle=False, verbose=0)
    model.save_to_preset(tmp_path / "preset")
    for rows in (3, 5):
        again = zoo.from_preset(tmp_path / "preset", rows=rows)
        assert all((state == 0).all() for state in states_of(again).values())
    texts = zoo.from_preset(tmp_path / "preset", rows=None)
    assert texts.answer(TEXTS[:2])["words"].min() > 1


@pytest.mark.usefixtures("eagerly")
def test_a_truncated_text_is_reported():
    model = make()
    model.sequence_length = 6
    with pytest.warns(UserWarning, match="At least 1 of the texts are longer than 6 t"):
        answers = model.answer(["the film", "good " * 9])
    assert answers["words"].tolist() == [3, 5]


def test_another_backend_is_named(monkeypatch):
    model = make()
    monkeypatch.setattr("keras.backend.backend", lambda: "jax")
    with pytest.raises(ValueError, match="BidirectionalLM need .* Received: 'jax'"):
        model.answer(["the film"])


@pytest.mark.slow
def test_evaluation_weighs_every_word_alike():
    model = make()
    model.compile()
    scores = model.evaluate(TEXTS, batch_size=7, return_dict=True, verbose=0)
    answers = model.answer(TEXTS)
    total = -(answers["forward"] + answers["backward"]).sum() / 2
    mean = total / answers["words"].sum()
    np.testing.assert_allclose(scores["loss"], mean, rtol=1e-5)
    np.testing.assert_allclose(scores["perplexity"], np.exp(mean), rtol=1e-5)


def test_what_it_refuses():
    with pytest.raises(ValueError, match="no vocabulary. Received: None"):
        zoo.BidirectionalLM(make().backbone, CharacterTokenizer(12))
    with pytest.raises(ValueError, match="at least the tokenizer's .* 5 and 5"):
        zoo.BidirectionalLM(make().backbone, make().tokenizer, num_words=5)
    with pytest.raises(ValueError, match="takes streams, .*rows=3"):
        make(rows=3).answer(["a text"])
    with pytest.raises(ValueError, match="makes its own targets"):
        make().batches(TEXTS, [1] * len(TEXTS))
    with pytest.raises(TypeError, match="Use `answer`"):
        make().predict(TEXTS)
    with pytest.raises(ValueError, match="need a vocabulary"):
        CharacterTokenizer(12).word_ids(["a"])
