"""What lectures say about the Transformer, shown on this one."""

import keras
import numpy as np
import pytest
import tensorflow as tf
import tiny

from zoo.layers import MultiHeadAttention
from zoo.models.transformer import Transformer, TransformerConfig

DRAW = np.random.default_rng(0)


def make_transformer(**config):
    keras.utils.set_random_seed(0)
    config = {**tiny.TRANSFORMER_CONFIG, "vocabulary_size": 20, **config}
    model = Transformer(TransformerConfig(**config))
    for weight in model.weights:
        norm = float(weight.path.endswith("gamma"))
        weight.assign(DRAW.normal(norm, 0.3, weight.shape))
    return model


def encode(model, ids, mask=None, **others):
    ids = np.array(ids, "int32")
    mask = np.ones_like(ids) if mask is None else np.array(mask, "int32")
    inputs = {"encoder_token_ids": ids, "encoder_padding_mask": mask}
    inputs["decoder_token_ids"] = np.array(others.get("target", [[1]]), "int32")
    return {k: np.asarray(v) for k, v in model(inputs).items()}


@pytest.mark.slow
def test_without_positions_equal_words_are_equal():
    row = [[5, 6, 5, 7]]
    blind = make_transformer(positions="none")
    vectors = encode(blind, row)["encoder_sequence_output"][0]
    np.testing.assert_allclose(vectors[0], vectors[2], atol=1e-6)
    turned = encode(blind, [row[0][::-1]])["encoder_sequence_output"][0]
    np.testing.assert_allclose(vectors[::-1], turned, atol=1e-5)  # a bag of words
    for positions in ("paper", "learned"):
        vectors = encode(make_transformer(positions=positions), row)
        first, _, second, _ = vectors["encoder_sequence_output"][0]
        assert np.abs(first - second).max() > 0.05


def test_scaling_keeps_products_small_and_gradients_alive():
    """Vaswani et al. 2017, footnote 4: the variance of q k is the width of a head."""
    shrunk = []
    for width in (4, 64, 1024):
        q, k = (DRAW.normal(size=(2000, width)) for _ in range(2))
        products = (q * k).sum(axis=1)
        assert 0.85 < products.var() / width < 1.15
        assert 0.85 < (products / np.sqrt(width)).var() < 1.15
        largest = []
        for scale in (1.0, width**-0.5):
            rows = tf.constant(
                q[:200, None] @ k[: 200 * 8].reshape(200, 8, width).transpose(0, 2, 1)
            )
            with tf.GradientTape() as tape:
                tape.watch(rows)
                weights = tf.nn.softmax(rows * scale)[..., 0]
            gradient = tape.gradient(weights, rows) / scale
            largest.append(float(np.abs(gradient).max(axis=(1, 2)).mean()))
        shrunk.append(largest[0] / largest[1])
    assert shrunk[0] > 0.4 and shrunk[2] < 0.2  # without the scale they vanish
    assert shrunk[0] > shrunk[1] > shrunk[2]


def test_the_layer_scales_by_the_width_of_a_head():
    layer = MultiHeadAttention(num_heads=2, stddev=1.0, use_bias=False)
    x = tf.constant(DRAW.normal(size=(1, 5, 8)), tf.float32)
    _, weights = layer(x, return_scores=True)
    q, k = ((x[0] @ part.kernel).numpy() for part in (layer.query, layer.key))
    for head in range(2):
        columns = slice(4 * head, 4 * head + 4)
        expected = tf.nn.softmax(q[:, columns] @ k[:, columns].T / 2.0)
        np.testing.assert_allclose(weights[0, head], expected, atol=1e-5)


def test_layer_norm_ignores_other_rows_and_padding_and_batch_norm_does_not():
    long, short = DRAW.normal(2.0, 1.0, (1, 6, 4)), DRAW.normal(0.0, 3.0, (1, 2, 4))
    padded = np.concatenate([short, np.zeros((1, 4, 4))], axis=1)
    batch = np.concatenate([long, padded]).astype("float32")
    alone = short.astype("float32")
    layer, over_batch = (
        keras.layers.LayerNormalization(),
        keras.layers.BatchNormalization(),
    )
    found, expected = np.asarray(layer(batch))[1, :2], np.asarray(layer(alone))[0]
    np.testing.assert_allclose(found, expected, atol=1e-6)
    found = np.asarray(over_batch(batch, training=True))[1, :2]
    expected = np.asarray(over_batch(alone, training=True))[0]
    assert np.abs(found - expected).max() > 0.3


def test_masks_as_matrices():
    model = make_transformer()
    names = [n for n in model.on_request if n.endswith("attention_scores")]
    model = model.with_outputs(*names)
    mask = [[1, 1, 1, 0], [1, 1, 0, 0]]
    found = encode(model, [[5, 6, 7, 0], [8, 9, 0, 0]], mask, target=[[1, 5, 6]] * 2)
    seen = {name: (found[name] > 0).all(axis=(1, 2)).astype(int) for name in names}
    padding = [[[1, 1, 1, 0]] * 4, [[1, 1, 0, 0]] * 4]
    np.testing.assert_array_equal(seen["encoder_attention_scores"], padding)
    causal = [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    np.testing.assert_array_equal(seen["decoder_attention_scores"], [causal] * 2)
    cross = [rows[:3] for rows in padding]
    np.testing.assert_array_equal(seen["cross_attention_scores"], cross)
    for name in names:
        np.testing.assert_allclose(found[name].sum(axis=-1), 1.0, atol=1e-6)
