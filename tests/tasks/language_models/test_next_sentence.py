"""The second head of pretraining, and the left-to-right model."""

import keras
import numpy as np
import pytest
import tensorflow as tf
import tiny
from tiny_tasks import make_tiny_task

import zoo
from zoo.registry import build_backbone
from zoo.tasks import MaskedLM
from zoo.training import AdamW

ROWS, L = 12, 10
TEXTS = ["good film", "bad plot"]


def make_model(next_sentence=True, rate=1e-2, **fields):
    options = {"mask_rate": 0.3, "next_sentence": next_sentence, "seed": 2}
    model = make_tiny_task(MaskedLM, config=fields, **options)
    # A key's bias has no gradient but noise, which Adam would make a step of.
    model.compile(AdamW(rate, epsilon=1e-3))
    return model


def make_batch(model, rows=ROWS, seed=0):
    """Rows whose second text repeats the first, or not: `next_sentence`."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, rows)
    first, other = rng.integers(5, 40, (2, rows, 3))
    second = np.where(label[:, None], other, first)
    cls, sep = np.full((rows, 1), 2), np.full((rows, 1), 3)
    ids = np.hstack([cls, first, sep, second, sep, 0 * sep])
    ids[::3, -3:] = [[3, 0, 0]]  # some rows are shorter
    x = {
        "token_ids": tf.constant(ids, tf.int32),
        "segment_ids": tf.constant(np.arange(L)[None] > 4 + 0 * ids, tf.int32),
        "padding_mask": tf.constant(ids != 0, tf.int32),
        "next_sentence": tf.constant(label, tf.int32),
    }
    return model.make_example(x, (seed, 1))


@pytest.mark.slow
def test_the_loss_is_the_sum_of_both_means():
    model = make_model()
    x, y, weight = make_batch(model)
    logits = model(x, training=False)
    nll = {
        key: -tf.gather(tf.nn.log_softmax(logits[key]), y[key], axis=-1, batch_dims=d)
        for key, d in (("masked_lm", 2), ("next_sentence", 1))
    }
    w = weight["masked_lm"]
    parts = {
        "masked_lm": tf.reduce_sum(w * nll["masked_lm"]) / tf.reduce_sum(w),
        "next_sentence": tf.reduce_mean(nll["next_sentence"]),
    }
    logs = model.test_on_batch(x, y, weight, return_dict=True)
    assert logs["loss"] == pytest.approx(sum(map(float, parts.values())), rel=1e-5)
    for key, value in parts.items():
        assert logs[f"{key}_loss"] == pytest.approx(float(value), rel=1e-5)
        assert 0 <= logs[f"{key}_accuracy"] <= 1


def train(strategy, steps=8):
    with strategy.scope():
        model = make_model(rate=3e-3)
    batches = [make_batch(model, seed=seed) for seed in range(steps)]
    dataset = tf.data.Dataset.from_generator(
        lambda: iter(batches),
        output_signature=tf.nest.map_structure(
            lambda t: tf.TensorSpec([None, *t.shape[1:]], t.dtype), batches[0]
        ),
    ).apply(tf.data.experimental.assert_cardinality(steps))
    history = model.fit(dataset, verbose=0).history
    return history, np.concatenate([w.ravel() for w in model.get_weights()])


@pytest.mark.slow
def test_two_replicas_train_as_one(two_replicas):
    """Although the masked tokens are not the same number in both halves."""
    one, several = train(tf.distribute.get_strategy()), train(two_replicas)
    np.testing.assert_allclose(several[1], one[1], atol=1e-4)
    for key in ("masked_lm_loss", "next_sentence_loss", "masked_lm_accuracy"):
        np.testing.assert_allclose(several[0][key], one[0][key], atol=1e-4)


@pytest.mark.slow
def test_it_learns_and_its_heads_travel(tmp_path):
    model = make_model()
    data = make_batch(model, 64)
    for _ in range(60):
        logs = model.train_on_batch(*data, return_dict=True)
    assert logs["next_sentence_accuracy"] > 0.9 and logs["masked_lm_loss"] < 3
    assert any(v.path == "pooler/kernel" for v in model.trainable_variables)
    expected = model(data[0], training=False)
    model.save(tmp_path / "m.keras")
    model.save_to_preset(tmp_path / "preset")
    for copy in (
        zoo.load_model(tmp_path / "m.keras"),
        zoo.from_preset(tmp_path / "preset"),
    ):
        actual = copy(data[0], training=False)
        for key, value in expected.items():
            np.testing.assert_allclose(actual[key], value, atol=1e-5)
    # Without the second head its weights are kept, and come back.
    plain = zoo.from_preset(tmp_path / "preset", "masked_lm", next_sentence=False)
    plain.save_to_preset(tmp_path / "plain")
    both = zoo.from_preset(tmp_path / "plain", "masked_lm", next_sentence=True)
    actual = both(data[0], training=False)["next_sentence"]
    np.testing.assert_allclose(actual, expected["next_sentence"], atol=1e-5)
    assert len(plain.fill_mask("the [MASK] film", k=2)[0]) == 2


@pytest.mark.parametrize("x", [TEXTS, (TEXTS, TEXTS[::-1])])
def test_texts_train_the_first_head_only(x):
    model = make_model(num_layers=1)
    model.compile(AdamW(1e-2), run_eagerly=True)
    logs = model.evaluate(x, verbose=0, return_dict=True)
    assert logs["loss"] == pytest.approx(logs["masked_lm_loss"], rel=1e-5)
    assert logs["next_sentence_loss"] == 0 < logs["masked_lm_loss"]


def test_the_second_head_needs_a_pooled_output():
    with pytest.raises(ValueError, match="without one. Build it with `pooler=True`"):
        make_model(pooler=False)


@pytest.mark.slow
def test_a_causal_model_predicts_the_next_token(tokenizer):
    keras.utils.set_random_seed(1)
    backbone = build_backbone("bert", {**tiny.CONFIG, "causal": True, "pooler": False})
    model = zoo.CausalLM(backbone, tokenizer)
    model.compile(AdamW(1e-2))
    texts = ["good film", "bad plot"] * 16
    (x, y, weight) = next(iter(model.batches(texts, batch_size=32)))
    ids = x["token_ids"].numpy()
    np.testing.assert_array_equal(y[:, :-1], ids[:, 1:])
    np.testing.assert_array_equal(weight[:, :-1], ids[:, 1:] != 0)
    assert not weight[:, -1].numpy().any()
    before = model.evaluate(texts, verbose=0)[0]
    model.fit(texts, epochs=20, verbose=0)
    assert model.evaluate(texts, verbose=0)[0] < before / 2
    answer = model.answer(["good film", ""])
    assert answer["tokens"].tolist() == [3, 1]
    expected = np.exp(-answer["log_probability"] / answer["tokens"])
    np.testing.assert_allclose(answer["perplexity"], expected, rtol=1e-5)
    with pytest.raises(ValueError, match="predicts the next token.*`causal=True`"):
        zoo.CausalLM(build_backbone("bert", tiny.CONFIG), tokenizer)
