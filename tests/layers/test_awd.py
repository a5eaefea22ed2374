"""AWD-LSTM's dropouts and loss, and the QRNN, against their definitions in NumPy."""

import keras
import numpy as np
import pytest
from scipy.special import expit as sigmoid

from zoo.layers import LSTM, QRNN, EmbeddingDropout, RegularizedLogits

RNG = np.random.default_rng(0)


def normal(*shape):
    return RNG.normal(0, 0.3, shape).astype("float32")


def test_weight_dropout_has_one_mask_for_a_call_and_keeps_the_weights():
    keras.utils.set_random_seed(0)
    layer = LSTM(24, weight_dropout=0.5)
    x = np.repeat(normal(1, 6, 8), 3, axis=0)
    layer(x)
    before = layer.recurrent_kernel.numpy()
    first, second = (layer(x, training=True)[0].numpy() for _ in range(2))
    np.testing.assert_array_equal(layer.recurrent_kernel.numpy(), before)
    np.testing.assert_allclose(first[0], first[2], atol=1e-6)
    np.testing.assert_allclose(first[:, 0], second[:, 0], atol=1e-6)
    assert np.abs(first[:, 2] - second[:, 2]).max() > 1e-3
    plain = LSTM(24)
    plain(x)
    plain.set_weights(layer.get_weights()[:3])
    np.testing.assert_array_equal(layer(x)[0], plain(x)[0])


def test_weight_dropout_zeroes_or_scales_elements_of_the_recurrent_kernel():
    layer = LSTM(40, forget_bias=0.0, weight_dropout=0.25)
    state = np.eye(40, dtype="float32"), np.zeros((40, 40), "float32")
    x = np.zeros((40, 1, 1), "float32")
    layer(x)
    layer.recurrent_kernel.assign(np.full((40, 160), 0.5, "float32"))
    # The output gate and the candidate read one element of U each.
    _, m, c = layer(x, initial_state=state, training=True)
    full = sigmoid(0.5 / 0.75) * np.tanh(0.5 / 0.75)
    values = [0, 0.5 * np.tanh(0.5 / 0.75), full]
    near = np.abs(np.asarray(c)[..., None] - values)
    assert near.min(-1).max() < 1e-6
    share = np.mean(near.argmin(-1) == 0)
    assert 0.2 < share < 0.3


def test_embedding_dropout_drops_whole_tokens():
    layer = EmbeddingDropout(50, 0.5)
    ids = RNG.integers(0, 50, (8, 40))
    x = np.ones((8, 40, 3), "float32")
    dropped = layer(x, ids, training=True).numpy()
    assert {*np.unique(dropped)} == {0.0, 2.0}
    for token in range(50):
        assert len(np.unique(dropped[ids == token])) <= 1
    np.testing.assert_array_equal(layer(x, ids), x)


@pytest.mark.parametrize("length", [1, 5])
def test_the_two_terms_of_the_loss(length):
    embedding = keras.layers.Embedding(7, 4)
    embedding.build(())
    head = RegularizedLogits(7, embedding, True, dropout=0.0, activation=2, temporal=3)
    x = normal(2, length, 4)
    logits = head(x, training=True)
    expected = x @ embedding.embeddings.numpy().T
    np.testing.assert_allclose(logits, expected, atol=1e-6, rtol=1e-5)
    steps = np.square(np.diff(x, axis=1))
    expected = [2 * np.mean(x**2), 3 * steps.mean() if length > 1 else 0]
    np.testing.assert_allclose(head.losses, expected, rtol=1e-5)
    head(x)
    assert head.losses == []


def test_output_dropout_shares_its_mask_over_a_row():
    head = RegularizedLogits(9, dropout=0.5, activation=0, temporal=0)
    x = np.ones((4, 6, 16), "float32")
    logits = head(x, training=True).numpy()
    np.testing.assert_allclose(logits[:, 0], logits[:, 5], atol=1e-6)
    assert np.abs(logits[0, 0] - logits[1, 0]).max() > 1e-3


def qrnn(x, kernel, bias, window, state):
    """The definition, one step after another."""
    previous, c = state
    outputs = []
    for token in x:
        read = np.concatenate([token, previous]) if window == 2 else token
        z, f, o = np.split(read @ kernel + bias, 3)
        c = sigmoid(f) * np.tanh(z) + (1 - sigmoid(f)) * c
        outputs.append(sigmoid(o) * c)
        previous = token
    return np.array(outputs), previous, c


@pytest.mark.parametrize("window", [1, 2])
@pytest.mark.parametrize("reverse", [False, True])
def test_qrnn_is_its_definition(window, reverse):
    layer = QRNN(5, window=window, reverse=reverse)
    x, state = normal(2, 7, 3), (normal(2, 3), normal(2, 5))
    mask = np.array([[1] * 7, [0, 0, 1, 1, 1, 0, 0]])
    layer(x)
    layer.set_weights([normal(*w.shape) for w in layer.get_weights()])
    sequence, last, c = layer(x, mask=mask, initial_state=state)
    order = -1 if reverse else 1
    for row in range(2):
        kept = mask[row] == 1
        start = [part[row] for part in state]
        expected = qrnn(x[row, kept][::order], *layer.get_weights(), window, start)
        found = sequence[row][kept][::order], last[row], c[row]
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-6)
        assert not np.any(sequence[row][~kept])
