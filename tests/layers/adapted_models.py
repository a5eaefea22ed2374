"""Tiny models whose weights are quantized or adapted."""

import keras
import numpy as np

from zoo.layers import (
    LSTM,
    CharacterCNN,
    MaskedLMHead,
    MultiHeadAttention,
    PositionEmbedding,
    TransformerBlock,
    WordEmbedding,
)

# The largest share of the norm of the float outputs by which int8 outputs may differ.
# The layers here are as narrow as possible, so their errors are larger than usual.
TOLERANCE = 0.03
ROWS = np.random.default_rng(0)
TOKENS = ROWS.integers(1, 20, (4, 6))
WORDS = ROWS.integers(1, 12, (3, 5))
WORDS[0, 3:] = 0
CHARACTERS = ROWS.integers(1, 30, (3, 5, 7))


def draw(model):
    """The model, with all weights drawn."""
    random = np.random.default_rng(1)
    for weight in model.weights:
        mean = float(weight.path.endswith("gamma"))
        weight.assign(random.normal(mean, 0.3, weight.shape))
    return model


def language_model():
    """Embeddings, an encoder block and the head that shares the table."""
    ids = keras.Input((None,), dtype="int32")
    embedding = keras.layers.Embedding(20, 8, name="token_embedding")
    x = embedding(ids)
    x = x + PositionEmbedding(9, name="position_embedding")(x)
    x = TransformerBlock(2, 16, name="block")(x)
    x = MultiHeadAttention(2, name="attention")(x)
    return draw(keras.Model(ids, MaskedLMHead(embedding, name="head")(x)))


def tagger():
    """Words and characters, and an LSTM in each direction."""
    ids = keras.Input((None,), dtype="int32")
    characters = keras.Input((None, None), dtype="int32")
    words = WordEmbedding(10, 6, num_frozen=4, name="words")(ids)
    # One projection and a highway, so that the network has dense layers.
    cnn = CharacterCNN([(1, 5), (2, 5)], 4, 1, 6, max_characters=9, name="cnn")
    x = keras.layers.Concatenate()([words, cnn(characters)])
    mask = keras.ops.not_equal(ids, 0)
    forward = LSTM(7, projection_dim=5, packed=True, name="forward")(x, mask)[0]
    backward = LSTM(7, reverse=True, name="backward")(forward, mask)[0]
    return draw(keras.Model([ids, characters], backward))


MODELS = {"language_model": language_model, "tagger": tagger}
INPUTS = {"language_model": TOKENS, "tagger": [WORDS, CHARACTERS]}


def difference(found, expected):
    """The norm of the difference, as a share of the norm of what is expected."""
    found, expected = np.asarray(found), np.asarray(expected)
    return np.linalg.norm(found - expected) / np.linalg.norm(expected)
