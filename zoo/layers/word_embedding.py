"""Vectors of words from their ids."""

import math

import keras
from keras import ops

BITS = 23  # of a random number: half steps of as many fit float32 exactly


@keras.saving.register_keras_serializable(package="zoo")
class WordEmbedding(keras.layers.Layer):
    """A vector for a word: a learned one, a given one, or one drawn from its id.

    Id 0, where no word is, has the zero vector; ids from 1 to V - 1 have rows of the
    table, the last `num_frozen` of which no training changes: those of words that have
    pretrained vectors but are too rare in training, or not there. An id i from V on has
    the vector that `random_vectors` draws from i - V, so it keeps it when the
    vocabulary grows.

    Source: Ma and Hovy 2016, for sqrt(3 / D) as the bound of vectors without training;
    Dhingra et al. 2017 for what becomes of words unseen in training.

    Args:
        vocabulary_size: int, V, special tokens included.
        embedding_dim: int, D.
        num_frozen: int, rows at the end of the table.
        stddev: float, standard deviation of the rows before training, which are drawn
            uniformly; None for 1 / sqrt(D).
        random_stddev: float, of the vectors of ids from V on; 0.0 makes them zero
            vectors, None is 1 / sqrt(D).

    Inputs:
        int (...).

    Returns:
        (..., D) in the compute dtype; random vectors are made in float32.

    Raises:
        ValueError: if a size is not positive or `num_frozen` not in [0, V].
    """

    def __init__(
        self,
        vocabulary_size,
        embedding_dim,
        num_frozen=0,
        stddev=None,
        random_stddev=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        if vocabulary_size < 1 or embedding_dim < 1:
            raise ValueError(
                "`vocabulary_size` and `embedding_dim` must be at least 1. Received: "
                f"vocabulary_size={vocabulary_size}, embedding_dim={embedding_dim}."
            )
        if not 0 <= num_frozen <= vocabulary_size:
            raise ValueError(
                "`num_frozen` must be in [0, vocabulary_size]. Received: num_frozen="
                f"{num_frozen}, vocabulary_size={vocabulary_size}."
            )
        self.vocabulary_size = vocabulary_size
        self.embedding_dim = embedding_dim
        self.num_frozen = num_frozen
        self.stddev = stddev
        self.random_stddev = random_stddev

    def build(self, input_shape):
        """Creates the table in two parts, trainable and not; None if without rows."""
        rows = self.vocabulary_size - self.num_frozen
        self.embeddings = self._add_rows("embeddings", rows, True)
        self.frozen_embeddings = self._add_rows(
            "frozen_embeddings", self.num_frozen, False
        )
        self.built = True

    def _add_rows(self, name, number, trainable):
        bound = math.sqrt(3) * self._spread(self.stddev)
        if not number:
            return None
        return self.add_weight(
            name=name,
            shape=(number, self.embedding_dim),
            initializer=keras.initializers.RandomUniform(-bound, bound),
            trainable=trainable,
            autocast=False,  # of the whole table; rows are cast when they are taken
        )

    def _parts(self):
        """Each weight and the id of its first row."""
        frozen = self.vocabulary_size - self.num_frozen
        parts = (self.embeddings, 0), (self.frozen_embeddings, frozen)
        return [(weight, begin) for weight, begin in parts if weight is not None]

    def call(self, word_ids):
        """Looks the vectors up; see the class."""
        ids = ops.cast(word_ids, "int32")
        size, vectors = self.vocabulary_size, 0.0
        for weight, begin in self._parts():
            inside = (ids >= begin) & (ids < begin + weight.shape[0])
            found = ops.take(weight, ops.where(inside, ids - begin, 0), axis=0)
            vectors = ops.where(inside[..., None], found, vectors)
        vectors = ops.where(ids[..., None] > 0, vectors, 0.0)
        stddev = self._spread(self.random_stddev)
        if stddev:
            keys = ops.maximum(ids - size, 0)
            drawn = random_vectors(keys, self.embedding_dim, stddev)
            drawn = ops.cast(drawn, vectors.dtype)
            vectors = ops.where(ids[..., None] >= size, drawn, vectors)
        return ops.cast(vectors, self.compute_dtype)

    def _spread(self, stddev):
        return 1 / math.sqrt(self.embedding_dim) if stddev is None else stddev

    def assign_rows(self, ids, vectors):
        """Sets the vectors of some words, frozen or not.

        Args:
            ids: int (K,), as `zoo.text.match_vectors` gives them.
            vectors: float (K, D).

        Raises:
            ValueError: if an id has no row, or the vectors have another width.
        """
        ids = ops.convert_to_numpy(ids)
        vectors = _matrix(vectors, self.embedding_dim)
        inside = (ids >= 0) & (ids < self.vocabulary_size)
        if len(ids) != len(vectors) or not inside.all():
            raise ValueError(
                f"`ids` must be in [0, {self.vocabulary_size}), one for every vector. "
                f"Received: {len(ids)} ids, {int((~inside).sum())} of them outside, "
                f"and {len(vectors)} vectors."
            )
        for weight, begin in self._parts():
            rows = ops.convert_to_numpy(weight).copy()
            own = (ids >= begin) & (ids < begin + len(rows))
            rows[ids[own] - begin] = vectors[own]
            weight.assign(rows)

    def table(self):
        """All rows, numpy (V, D); row 0 is not used."""
        rows = [ops.convert_to_numpy(weight) for weight, _ in self._parts()]
        return ops.convert_to_numpy(ops.concatenate(rows))

    def compute_output_shape(self, input_shape):
        """(..., D)."""
        return (*input_shape, self.embedding_dim)


def random_vectors(keys, embedding_dim, stddev):
    """Vectors that look random and depend on their keys alone.

    Number j of key k is `m(k + m(j + c))`, m the finalizer of MurmurHash3, in 32 bits;
    its highest 23 bits are a number between -1 and 1, neither of which occurs, times
    sqrt(3) `stddev`. There is one rounding, so every backend gives the same bits.

    Args:
        keys: int32 (...), not negative.
        embedding_dim: int, D.
        stddev: float, of the numbers, which are uniform.

    Returns:
        float32 (..., D).
    """
    columns = ops.arange(embedding_dim, dtype="int32")
    columns = _mixed(ops.cast(columns, "uint32") + _word(0x9E3779B9))
    bits = _mixed(ops.cast(keys, "uint32")[..., None] + columns)
    numbers = ops.cast(ops.right_shift(bits, _word(32 - BITS)), "int32")
    half = 2 ** (BITS - 1)
    centred = ops.cast(numbers, "float32") - (half - 0.5)
    return centred * (math.sqrt(3) * stddev / half)


def _mixed(x):
    """Every bit of the result depends on every bit of x, uint32."""
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        x = ops.bitwise_xor(x, ops.right_shift(x, _word(shift))) * _word(factor)
    return ops.bitwise_xor(x, ops.right_shift(x, _word(16)))


def _word(number):
    return ops.convert_to_tensor(number, "uint32")


def _matrix(vectors, width):
    """Vectors as numpy (N, D)."""
    try:
        matrix = ops.convert_to_numpy(vectors)
    except ValueError:  # of unequal width
        matrix = ops.convert_to_numpy([])
    if matrix.ndim != 2 or matrix.shape[1] != width:
        raise ValueError(
            f"`vectors` must be of width {width}, all of them. Received: "
            f"{matrix.shape if matrix.size else 'unequal widths'}. Cut or fill them."
        )
    return matrix
