"""Causal language models that carry their states over."""

import functools

import keras
import numpy as np
import pytest
import tensorflow as tf
import tiny
from tiny_tasks import make_tiny_task

import zoo
from zoo.registry import build_backbone
from zoo.registry.building import task_arguments
from zoo.tasks import CausalLM
from zoo.text import FastaiTokenizer
from zoo.text.english.fastai_splitting import SPECIALS

WORDS = sorted({word for text in tiny.make_texts(60)[0] for word in text.split()})
TEXTS = ["a good film", "", "bad " * 3 + "the end", " ".join(WORDS * 3)]


@functools.cache
def tokenizer():
    words = [word for word in map(str.lower, WORDS) if word not in SPECIALS]
    return FastaiTokenizer([*SPECIALS, *dict.fromkeys(words)])


def make(reverse=False, num_layers=2, **options):
    config = {"reverse": reverse, "num_layers": num_layers, "initializer_range": 0.5}
    config["vocabulary_size"] = tokenizer().vocabulary_size
    config["pad_id"] = tokenizer().pad_id
    options["tokenizer"] = tokenizer()
    return make_tiny_task(CausalLM, "ulmfit", config, **options)


@pytest.mark.usefixtures("eagerly")
@pytest.mark.shown("False")
@pytest.mark.parametrize("reverse", [False, True])
def test_windows_of_a_stream_are_one_long_text(reverse):
    reading = make(rows=2, window=7, reverse=reverse)
    whole = make(reverse=reverse)
    steps = list(reading.batches(TEXTS))
    assert len(steps) > 5
    found = [reading(x, training=False).numpy() for x, _, _ in steps]
    order = -1 if reverse else 1  # a backward model reads the last window first
    ids = np.concatenate([x["token_ids"] for x, _, _ in steps[::order]], axis=1)
    found = np.concatenate(found[::order], axis=1)
    np.testing.assert_allclose(found, whole({"token_ids": ids}), atol=1e-5)
    following = np.concatenate([y for _, y, _ in steps[::order]], axis=1)
    side = slice(None, -1) if reverse else slice(1, None)
    other = slice(1, None) if reverse else slice(None, -1)
    np.testing.assert_array_equal(following[:, other], ids[:, side])


def test_it_trains_at_the_rate_of_ulmfit():
    """On 1,250 reviews, 1e-4 lowers the loss by 0.1 nats, and 4e-3 by 0.6."""
    assert make(rows=3).default_learning_rate == 4e-3


@pytest.mark.slow
def test_fit_reads_streams_and_every_epoch_begins_anew():
    model = make(rows=3, window=11)
    seen = []
    finish = model.finish

    def keep(x, *targets):
        seen.append(x)
        return finish(x, *targets)

    model.finish = keep
    model.compile(keras.optimizers.Adam(1e-2))
    history = model.fit(TEXTS * 9, epochs=12, verbose=0).history
    assert seen[0]["token_ids"].shape == (3, None)
    assert history["perplexity"][-1] < 0.3 * history["perplexity"][0]
    first, second = (model.evaluate(TEXTS, return_dict=True, verbose=0) for _ in "ab")
    assert first == second
    np.testing.assert_allclose(first["perplexity"], np.exp(first["loss"]), rtol=1e-5)


@pytest.mark.slow
def test_steps_of_an_epoch_may_be_chosen():
    model = make(rows=2, window=5)
    history = model.fit(TEXTS[:2], epochs=3, steps_per_epoch=4, verbose=0)
    assert len(history.history["loss"]) == 3
    assert int(model.optimizer.iterations) == 12
    # Few tokens: a pass over the texts has fewer batches than texts.
    model = make(rows=32, window=20)
    model.fit(["a film"] * 320, epochs=2, steps_per_epoch=9, verbose=0)
    assert int(model.optimizer.iterations) == 18


@pytest.mark.slow
def test_an_epoch_has_an_order_of_its_own():
    model = make(rows=1, window=5000)

    def ids(**options):
        return [x["token_ids"].numpy().tolist() for x, _, _ in model.batches(**options)]

    given = {"x": TEXTS * 3, "shuffle": True, "epochs": (0, 1)}
    first, second = ids(**given)
    assert first != second and sorted(first[0]) != first[0]
    assert ids(**given) == [first, second] != ids(**given, seed=5)
    assert ids(x=TEXTS * 3) == ids(x=TEXTS * 3, epochs=(4,))


@pytest.mark.slow
@pytest.mark.parametrize("reverse", [False, True])
def test_an_answer_in_windows_is_that_of_the_whole_text(reverse):
    model = make(reverse=reverse)
    found = model.answer(TEXTS)
    x, following, weight = model.finish(model.preprocessor((tf.constant(TEXTS),)))
    assert x["token_ids"].shape[1] > 140
    scores = tf.nn.log_softmax(model(x, training=False))
    scores = tf.gather(scores, following, axis=2, batch_dims=2) * weight
    totals, found_totals = tf.reduce_sum(scores, 1), found["log_probability"]
    np.testing.assert_allclose(found_totals, totals, rtol=1e-5, atol=1e-4)
    assert found["tokens"].tolist() == (np.sum(x["padding_mask"], 1) - 1).tolist()
    assert found["perplexity"][1] == 1 and found["tokens"][1] == 0


def test_a_preset_may_be_loaded_with_other_rows():
    assert {"rows", "window", "jitter", "packing"} <= task_arguments(CausalLM)


@pytest.mark.slow
def test_presets_hold_no_streams_but_how_a_model_reads_them(tmp_path):
    model = make(rows=3, window=9, jitter=True)
    model.fit(TEXTS, verbose=0)
    model.save_to_preset(tmp_path / "preset")
    for rows in (3, 5):
        again = zoo.from_preset(tmp_path / "preset", rows=rows)
        assert again.options["rows"] == rows and again.options["window"] == 9
    texts = zoo.from_preset(tmp_path / "preset", rows=None)
    assert np.isfinite(texts.answer(TEXTS)["log_probability"]).all()
    model.save(tmp_path / "model.keras")
    again = zoo.load_model(tmp_path / "model.keras")
    batch = next(iter(model.batches(TEXTS)))[0]
    batch["fresh"] = np.zeros(3, "int32")
    again.backbone.trainable = model.backbone.trainable = False
    outputs = [each(batch, training=False) for each in (again, model)]
    np.testing.assert_allclose(*outputs, atol=1e-6)


@pytest.mark.slow
def test_replicas_carry_the_states_of_their_own_rows(two_replicas):
    results = []
    for strategy in (tf.distribute.get_strategy(), two_replicas):
        with strategy.scope():
            model = make(rows=4 // strategy.num_replicas_in_sync, window=6)
            model.compile(keras.optimizers.SGD(0.1))
        model.evaluate(TEXTS, verbose=0)
        results.append(model.evaluate(TEXTS, verbose=0))
    np.testing.assert_allclose(*results, rtol=1e-5)


@pytest.mark.usefixtures("eagerly")
def test_wrong_data_is_refused():
    model = make(rows=4)
    with pytest.raises(ValueError, match="`rows=4` takes a list.*batch_size=7"):
        model.fit(TEXTS, batch_size=7)
    dataset = tf.data.Dataset.from_tensor_slices(TEXTS).batch(2)
    with pytest.raises(ValueError, match="Received: .*Dataset"):
        model.fit(dataset)
    for wrong in ({"rows": 0}, {"rows": 2, "window": 0}):
        with pytest.raises(ValueError, match="`(rows|window)` must be an integer"):
            make(**wrong)
    with pytest.raises(ValueError, match="at least 5 tokens. Received: 2"):
        model.fit(["", ""])
    with pytest.raises(ValueError, match="makes its own targets"):
        model.fit(TEXTS, TEXTS)
    for method in (model.answer, model.generate):
        with pytest.raises(ValueError, match="with `rows` can only.*rows=4"):
            method(TEXTS)
    bert = build_backbone("bert", {**tiny.CONFIG, "causal": True})
    with pytest.raises(ValueError, match="needs a recurrent backbone.*'bert'"):
        CausalLM(bert, rows=4)
