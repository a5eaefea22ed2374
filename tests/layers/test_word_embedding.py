"""Vectors of words: rows, frozen rows, and vectors drawn from an id."""

import math

import keras
import numpy as np
import pytest
import tensorflow as tf
from python_process import run_python

from zoo.layers import WordEmbedding
from zoo.layers.word_embedding import random_vectors

SIZE, DIM = 9, 4
TABLE = np.random.default_rng(0).normal(size=(SIZE, DIM)).astype("float32")
IDS = np.array([[0, 1, 8, 3], [5, 6, 9, 9 + 2**30 - 1]])


def make(**options):
    layer = WordEmbedding(SIZE, DIM, **options)
    layer.build((None, None))
    layer.assign_rows(np.arange(SIZE), TABLE)
    return layer


def drawn(key, dim=DIM, stddev=0.5):
    """The vector of a key in plain Python."""

    def mixed(x):
        x = (x ^ x >> 16) * 0x85EBCA6B % 2**32
        x = (x ^ x >> 13) * 0xC2B2AE35 % 2**32
        return x ^ x >> 16

    bits = [mixed((key + mixed((j + 0x9E3779B9) % 2**32)) % 2**32) for j in range(dim)]
    centred = [(b >> 9) - 2**22 + 0.5 for b in bits]
    return np.array([c * np.float32(math.sqrt(3) * stddev / 2**22) for c in centred])


@pytest.mark.parametrize("num_frozen", [0, 3, SIZE - 1, SIZE])
def test_rows_zeros_and_drawn_vectors(num_frozen):
    found = np.asarray(make(num_frozen=num_frozen, random_stddev=0.5)(IDS))
    expected = np.concatenate([np.zeros((1, DIM)), TABLE[1:]])
    for place, i in np.ndenumerate(IDS):
        row = expected[i] if i < SIZE else drawn(int(i) - SIZE)
        np.testing.assert_array_equal(found[place], row.astype("float32"))


def test_no_words_one_word_and_no_random_vectors():
    layer = make(random_stddev=0.0)
    assert layer(np.zeros((2, 0), "int32")).shape == (2, 0, DIM)
    assert layer(np.zeros((0, 3), "int64")).shape == (0, 3, DIM)
    np.testing.assert_array_equal(layer(np.array(2)), TABLE[2])
    found = np.asarray(layer(IDS))
    assert not found[IDS >= SIZE].any() and found[IDS == 8].any()


def test_drawn_vectors_are_uniform_and_uncorrelated():
    keys = np.concatenate([np.arange(500), 2**30 - 1 - np.arange(500)])
    vectors = np.asarray(random_vectors(keys.astype("int32"), 300, 0.1))
    bound = 0.1 * math.sqrt(3)
    shares = np.histogram(vectors, 16, (-bound, bound))[0] / vectors.size
    np.testing.assert_allclose(shares, 1 / 16, rtol=0.03)
    assert np.abs(vectors).max() < bound
    for matrix in (vectors, vectors.T):
        products = np.corrcoef(matrix)[np.triu_indices(len(matrix), 1)]
        spread = 1 / math.sqrt(matrix.shape[1])
        assert abs(products.std() / spread - 1) < 0.05
        assert np.abs(products).max() < 6 * spread
    np.testing.assert_array_equal(vectors[7], drawn(7, 300, 0.1).astype("float32"))


def test_a_drawn_vector_does_not_change_when_the_vocabulary_grows():
    for size in (SIZE, SIZE + 5):
        found = WordEmbedding(size, DIM)(np.array([size + 77]))
        expected = drawn(77, DIM, 1 / math.sqrt(DIM)).astype("float32")
        np.testing.assert_array_equal(found[0], expected)


def train(layer, jit=False):
    """The table after steps of an optimizer that also decays weights."""
    ids = keras.Input((None,), dtype="int32")
    outputs = keras.layers.GlobalAveragePooling1D()(layer(ids))
    model = keras.Model(ids, outputs)
    model.compile(keras.optimizers.AdamW(0.1, weight_decay=0.1), "mse", jit_compile=jit)
    model.fit(np.tile(IDS, (2, 1)), np.ones((4, DIM)), epochs=3, verbose=0)
    return layer.table()


@pytest.mark.filterwarnings("ignore:The model does not have any trainable weights")
@pytest.mark.parametrize("jit", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_training_changes_no_frozen_row(jit):
    table = train(make(num_frozen=3), jit)
    np.testing.assert_array_equal(table[-3:], TABLE[-3:])
    assert (table[[1, 3, 5]] != TABLE[[1, 3, 5]]).all()
    layer = make(num_frozen=3)
    layer.trainable = False
    np.testing.assert_array_equal(train(layer), TABLE)
    layer.trainable = True
    np.testing.assert_array_equal(train(layer)[-3:], TABLE[-3:])
    np.testing.assert_array_equal(train(make(num_frozen=SIZE)), TABLE)


def test_gradients_are_those_of_the_trainable_rows_only():
    layer = make(num_frozen=3)

    @tf.function(jit_compile=True)
    def dense(ids):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(layer(ids) * 2.0)
        return tf.convert_to_tensor(tape.gradient(loss, layer.embeddings.value))

    expected = np.zeros((SIZE - 3, DIM))
    for i in IDS.ravel():
        if 0 < i < SIZE - 3:
            expected[i] += 2
    np.testing.assert_array_equal(dense(tf.constant(IDS)), expected)
    assert len(layer.trainable_weights) == 1


@pytest.mark.parametrize("dtype", ["float32", "mixed_float16", "mixed_bfloat16"])
def test_16_bits_cast_rows_and_not_the_table(dtype):
    layer = make(num_frozen=3, dtype=dtype, random_stddev=0.5)
    ids = keras.Input((None,), dtype="int32")
    model = keras.Model(ids, layer(ids))
    with tf.GradientTape() as tape:
        found = model(IDS)
        loss = tf.reduce_sum(tf.cast(found, "float32"))
    gradient = tape.gradient(loss, layer.embeddings.value)
    assert isinstance(gradient, tf.IndexedSlices)
    graph = tf.function(model).get_concrete_function(tf.constant(IDS)).graph
    casts = [op.outputs[0].shape for op in graph.get_operations() if op.type == "Cast"]
    assert (SIZE - 3, DIM) not in casts and (3, DIM) not in casts
    assert found.dtype == layer.compute_dtype
    exact = make(random_stddev=0.5)(IDS)
    np.testing.assert_array_equal(found, tf.cast(exact, layer.compute_dtype))


JAX_PROGRAM = """
import sys
import numpy as np
from zoo.layers import WordEmbedding
data = np.load(sys.argv[1])
layer = WordEmbedding(9, 4, num_frozen=3, random_stddev=0.5)
layer.build((None, None))
layer.assign_rows(np.arange(9), data["table"])
import jax
eager = np.asarray(layer(data["ids"]))
np.testing.assert_array_equal(jax.jit(layer)(data["ids"]), eager)
np.save(sys.argv[2], eager)
"""


@pytest.mark.slow
def test_the_same_bits_on_jax(tmp_path):
    pytest.importorskip("jax")
    np.savez(tmp_path / "in.npz", ids=IDS, table=TABLE)
    files = [tmp_path / "in.npz", tmp_path / "out.npy"]
    run_python(JAX_PROGRAM, *files, KERAS_BACKEND="jax", JAX_PLATFORMS="cpu")
    layer = make(num_frozen=3, random_stddev=0.5)
    expected = np.asarray(layer(IDS))
    np.testing.assert_array_equal(np.load(files[1]), expected)
    compiled = tf.function(layer, jit_compile=True)(tf.constant(IDS))
    np.testing.assert_array_equal(compiled, expected)


def test_files_and_configs(tmp_path):
    ids = keras.Input((None,), dtype="int32")
    model = keras.Model(ids, make(num_frozen=3, name="words")(ids))
    model.save(tmp_path / "a.keras")
    loaded = keras.saving.load_model(tmp_path / "a.keras")
    np.testing.assert_array_equal(loaded(IDS), model(IDS))
    paths = [weight.path for weight in loaded.weights]
    assert paths == ["words/embeddings", "words/frozen_embeddings"]
    config = make(num_frozen=2, stddev=0.3).get_config()
    assert (config["num_frozen"], config["stddev"]) == (2, 0.3)


def test_the_spread_of_new_rows():
    for num_frozen, stddev in ((0, None), (1000, 0.01)):
        layer = WordEmbedding(2000, 50, num_frozen=num_frozen, stddev=stddev)
        layer.build(())
        assert abs(layer.table().std() / (stddev or 50**-0.5) - 1) < 0.02


def test_rows_are_assigned_on_both_sides_of_the_edge():
    layer = make(num_frozen=3)
    layer.assign_rows([7, 2], [[1.0] * DIM, [2.0] * DIM])
    expected = TABLE.copy()
    expected[7], expected[2] = 1.0, 2.0
    np.testing.assert_array_equal(layer.table(), expected)
    layer.assign_rows(np.zeros(0, "int64"), np.zeros((0, DIM)))
    np.testing.assert_array_equal(layer.table(), expected)


def test_wrong_rows_are_refused():
    layer = make()
    for vectors in ([[1.0] * 4, [1.0] * 3], np.ones((2, 3)), np.ones(4), []):
        with pytest.raises(ValueError, match="`vectors` must all be of width 4"):
            layer.assign_rows([1, 2], vectors)
    for ids in ([1], [1, 9], [-1, 1]):
        with pytest.raises(ValueError, match=r"`ids` must be in \[0, 9\)"):
            layer.assign_rows(ids, np.ones((2, DIM)))
    with pytest.raises(ValueError, match="`num_frozen` must be in"):
        WordEmbedding(4, 4, 5)
