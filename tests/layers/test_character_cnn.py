"""The character CNN against its equations, word by word."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from zoo.layers import CharacterCNN, Highway, character_cnn
from zoo.text import CharacterTokenizer

FILTERS = [(1, 3), (2, 4), (4, 5)]


def make(**options):
    layer = CharacterCNN(
        FILTERS, 6, num_highways=2, projection_dim=7, max_characters=12, **options
    )
    layer.build((None, None, None))
    draw = np.random.default_rng(0)
    for weight in layer.weights:
        weight.assign(draw.normal(size=weight.shape) / 2)
    return layer


def words(text="a bee ceeee a bee elephantine a"):
    """Rows of different length, one of them repeated, one empty."""
    tokenizer = CharacterTokenizer(12)
    return tokenizer.spell(tokenizer([text, "", "bee"]).to_tensor("")).numpy()


def reference(layer, word, length=12):
    """The vector of one word, padded to `length` characters."""
    w = {v.path.split("/", 1)[1]: v.numpy() for v in layer.weights}
    pad = layer.pad_id if word[0] else 0
    word = np.concatenate([word, np.full(length - len(word), pad)]).astype(int)
    table = np.concatenate([np.zeros((1, 6)), w["embeddings"]])
    x, parts = table[word], []
    for index, (width, number) in enumerate(FILTERS):
        kernel = w[f"convolution_{index}/kernel"].reshape(-1, number)
        windows = [x[i : i + width].ravel() for i in range(length - width + 1)]
        parts.append(np.max(np.array(windows) @ kernel, axis=0))
        parts[-1] = parts[-1] + w[f"convolution_{index}/bias"]
    x = np.maximum(np.concatenate(parts), 0)
    for index in range(2):
        gate, transform = (
            x @ w[f"highway_{index}/{name}/kernel"] + w[f"highway_{index}/{name}/bias"]
            for name in ("gate", "transform")
        )
        gate = 1 / (1 + np.exp(-gate))
        x = gate * np.maximum(transform, 0) + (1 - gate) * x
    return x @ w["projection/kernel"] + w["projection/bias"]


def test_it_is_the_equation_at_full_length():
    layer, ids = make(), words()
    found = np.asarray(layer(ids))
    for place in np.ndindex(ids.shape[:2]):
        expected = reference(layer, ids[place])
        np.testing.assert_allclose(found[place], expected, atol=2e-6)


def test_more_columns_of_padding_do_not_change_the_output():
    layer, ids = make(), words("ab cd ef gh ij kl mn op")[:1, :, :4]
    found = np.asarray(layer(ids))
    assert ids.shape[2] < 12
    while ids.shape[2] < 12:
        pad = np.where(ids[:, :, :1] == 0, 0, layer.pad_id)
        ids = np.concatenate([ids, pad], axis=2)
        np.testing.assert_array_equal(layer(ids), found)


def test_one_column_less_would_change_the_output():
    """Shows that the added columns are necessary, by the truncated reference."""
    layer, ids = make(), words("ab cd ef gh ij kl mn op")[0, :, :4]
    for columns, same in ((4, True), (3, False)):
        found = np.array([reference(layer, word, 4 + columns) for word in ids])
        expected = np.array([reference(layer, word) for word in ids])
        assert np.allclose(found, expected, atol=1e-12) == same


def value_and_gradients(layer, ids, jit=False):
    def run():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.sin(3 * layer(ids)))
        gradients = tape.gradient(loss, [w.value for w in layer.weights])
        return loss, *map(tf.convert_to_tensor, gradients)

    return tf.function(run, jit_compile=jit)()


def test_every_word_is_encoded_once_with_the_same_gradients(monkeypatch):
    layer, ids, encoded = make(), words(), []
    encode = layer.encode
    monkeypatch.setattr(layer, "encode", lambda x: encoded.append(x) or encode(x))
    layer(ids, training=True)
    assert len(encoded[0]) == 5  # four words and no word
    every = make(distinct=False)
    expected = value_and_gradients(every, ids)
    for one, jit in ((layer, False), (every, True)):
        found = value_and_gradients(one, ids, jit)
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(ours, theirs, atol=2e-5, rtol=1e-5)
    assert every.supports_jit and not layer.supports_jit


@pytest.mark.parametrize("power, size", [(2, 4), (3, 8), (7, 32)])
def test_words_are_encoded_in_blocks_of_one_size(power, size, monkeypatch):
    """The size is the smallest power of 2 that holds all positions, up to a bound."""
    layer, ids, encoded = make(), words(), []
    expected = make(distinct=False)(ids)
    monkeypatch.setattr(character_cnn, "BLOCK_POWER", power)
    encode = layer.encode

    def record(block):
        tf.py_function(lambda block: encoded.append(len(block)), [block], [])
        return encode(block)

    monkeypatch.setattr(layer, "encode", record)
    found = tf.function(layer)(ids)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert set(encoded) == {size} and len(encoded) == -(-5 // size)


def test_a_config_makes_the_same_layer():
    layer = make(activation="tanh", num_characters=300, pad_id=261)
    copy = CharacterCNN.from_config(layer.get_config())
    copy.build((None, None, None))
    copy.set_weights(layer.get_weights())
    np.testing.assert_array_equal(copy(words()), layer(words()))


def test_no_projection_if_the_widths_are_equal():
    layer = CharacterCNN(FILTERS, 6, projection_dim=12)
    layer.build((None, None, None))
    assert not [w.path for w in layer.weights if "projection" in w.path]
    assert tuple(layer(words()).shape) == (3, 7, 12)


def test_a_highway_mixes_its_input_and_its_dense_layer():
    x = keras.random.normal((2, 3, 4), seed=0)
    layer = Highway(gate_bias=-30.0)
    np.testing.assert_allclose(layer(x), x, atol=1e-6)
    layer.gate.bias.assign(np.full(4, 30.0))
    np.testing.assert_allclose(layer(x), keras.ops.relu(layer.transform(x)), atol=1e-6)


def test_impossible_filters_and_too_many_characters_are_refused():
    for filters in ([], [(13, 2)]):
        with pytest.raises(ValueError, match="`filters` must be pairs"):
            CharacterCNN(filters, max_characters=12)
    layer = make()
    with pytest.raises(ValueError, match="at most 12 characters"):
        layer(np.ones((1, 1, 13), "int32"))
    assert tuple(layer(np.zeros((2, 0, 5), "int32")).shape) == (2, 0, 7)
