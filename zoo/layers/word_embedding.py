"""Word vectors from ids: learned, pretrained, or drawn from the id."""

import math

import keras
from keras import ops

from zoo.checks.ranges import Count, NotNegative, Size
from zoo.layers.checked_arguments import keep_checked
from zoo.layers.quantization import MatrixLayer, int8_values

# Bits of a random number. Numbers of this many bits and a half fit float32 exactly.
RANDOM_BITS = 23


@keras.saving.register_keras_serializable(package="zoo")
class WordEmbedding(MatrixLayer):
    """A vector for each word id: learned, frozen, or drawn from the id.

    - The ids below `num_zero`, padding (0) among them, have the zero vector.
    - The other ids below V have a row of the table. The last `num_frozen` rows are not
      trained; they are for pretrained vectors of words that are rare in the training
      data.
    - An id i of at least V has the vector that `random_vectors` draws from i - V, which
      does not change when the vocabulary grows.

    `quantize("int8")` stores the table as int8 with a scale for each row.

    Source: Ma and Hovy 2016, for the initial bound sqrt(3 / D); Dhingra et al. 2017,
    for the vectors of words that are not in the training data.

    Args:
        vocabulary_size: int, V, special tokens included.
        embedding_dim: int, D.
        num_frozen: int, number of frozen rows at the end of the table.
        stddev: float, standard deviation of the uniform initial rows; None for 1 /
            sqrt(D).
        random_stddev: float, standard deviation of the vectors of ids of at least V;
            0.0 for zero vectors, None for 1 / sqrt(D).
        num_zero: int, the number of first ids with the zero vector.

    Inputs:
        int (...).

    Returns:
        (..., D) in the compute dtype. Random vectors are computed in float32.

    Raises:
        ValueError: if a size or `num_zero` is not positive, or `num_frozen` is not in
            [0, V].

    Example:
        >>> layer = WordEmbedding(vocabulary_size=9, embedding_dim=2)
        >>> layer(ops.convert_to_tensor([0])).numpy().tolist()
        [[0.0, 0.0]]
    """

    matrices = {"embeddings": -1, "frozen_embeddings": -1}

    def __init__(
        self,
        vocabulary_size,
        embedding_dim,
        num_frozen=0,
        stddev=None,
        random_stddev=None,
        num_zero=1,
        **kwargs,
    ):
        super().__init__(**kwargs)
        keep_checked(
            self,
            Size,
            vocabulary_size=vocabulary_size,
            embedding_dim=embedding_dim,
            num_zero=num_zero,
        )
        keep_checked(self, Count, num_frozen=num_frozen)
        spreads = {"stddev": stddev, "random_stddev": random_stddev}
        keep_checked(self, NotNegative | None, **spreads)
        if num_frozen > vocabulary_size:
            raise ValueError(
                "`num_frozen` must be in [0, vocabulary_size]. Received: num_frozen="
                f"{num_frozen}, vocabulary_size={vocabulary_size}."
            )

    def build(self, input_shape):
        """Creates the trainable and the frozen weight; None for one without rows."""
        self.embeddings = self.frozen_embeddings = None
        bound = math.sqrt(3) * self._spread(self.stddev)
        for name, begin, end in self._ranges():
            self.add_matrix(
                name,
                (end - begin, self.embedding_dim),
                initializer=keras.initializers.RandomUniform(-bound, bound),
                trainable=name == "embeddings",
                # The layer casts the rows that it takes, not the whole table.
                autocast=False,
            )

    def _ranges(self):
        """The name of each weight that has rows, with its first id and its end."""
        trained = self.vocabulary_size - self.num_frozen
        ranges = [
            ("embeddings", 0, trained),
            ("frozen_embeddings", trained, self.vocabulary_size),
        ]
        return [(name, begin, end) for name, begin, end in ranges if begin < end]

    def _take(self, name, rows):
        """Rows of a weight; int8 rows are dequantized."""
        found = ops.take(getattr(self, name), rows, axis=0)
        if self.quantization_mode == "int8":
            scale = ops.take(getattr(self, f"{name}_scale"), rows, axis=0)
            found = ops.cast(found, self.variable_dtype) / scale[..., None]
        return found

    def call(self, word_ids):
        """Returns the vectors; see the class."""
        ids = ops.cast(word_ids, "int32")
        size, vectors = self.vocabulary_size, 0.0
        for name, begin, end in self._ranges():
            inside = (ids >= begin) & (ids < end)
            found = self._take(name, ops.where(inside, ids - begin, 0))
            vectors = ops.where(inside[..., None], found, vectors)
        vectors = ops.where(ids[..., None] >= self.num_zero, vectors, 0.0)
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
        """Assigns vectors (K, D) to the words of some ids (K,), frozen or not."""
        ids, width = ops.convert_to_numpy(ids), self.embedding_dim
        try:
            vectors = ops.convert_to_numpy(vectors)
        except ValueError:  # they have different widths
            vectors = ops.convert_to_numpy([])
        if vectors.ndim != 2 or vectors.shape[1] != width:
            raise ValueError(
                f"`vectors` must all be of width {width}. Received: "
                f"{vectors.shape if vectors.size else 'different widths'}. Truncate or "
                "pad them."
            )
        inside = (ids >= 0) & (ids < self.vocabulary_size)
        if len(ids) != len(vectors) or not inside.all():
            raise ValueError(
                f"`ids` must be in [0, {self.vocabulary_size}), one for each vector. "
                f"Received: {len(ids)} ids, {int((~inside).sum())} of them outside, "
                f"and {len(vectors)} vectors."
            )
        for name, begin, end in self._ranges():
            mask = (ids >= begin) & (ids < end)
            values = {name: vectors[mask]}
            if self.quantization_mode == "int8" and mask.any():
                integers, scale = int8_values(ops.convert_to_tensor(vectors[mask]), -1)
                values = {name: integers, f"{name}_scale": scale}
            for weight, new in values.items():
                rows = ops.convert_to_numpy(getattr(self, weight)).copy()
                rows[ids[mask] - begin] = ops.convert_to_numpy(new)
                getattr(self, weight).assign(rows)

    def table(self):
        """All rows, numpy float (V, D). Row 0 is not used."""
        rows = [
            self._take(name, ops.arange(end - begin, dtype="int32"))
            for name, begin, end in self._ranges()
        ]
        return ops.convert_to_numpy(ops.concatenate(rows))

    def compute_output_shape(self, input_shape):
        """(..., D)."""
        return (*input_shape, self.embedding_dim)


def random_vectors(keys, embedding_dim, stddev):
    """Pseudorandom vectors (..., D) that depend only on their keys, int32 (...).

    Component j of key k is `m(k + m(j + c))` in 32 bits, where m is the finalizer of
    MurmurHash3. Its highest 23 bits are scaled to (-1, 1) and multiplied by sqrt(3)
    `stddev`, with one rounding, so all backends return the same bits.
    """
    columns = ops.arange(embedding_dim, dtype="int32")
    columns = _mixed(ops.cast(columns, "uint32") + _word(0x9E3779B9))
    bits = _mixed(ops.cast(keys, "uint32")[..., None] + columns)
    numbers = ops.cast(ops.right_shift(bits, _word(32 - RANDOM_BITS)), "int32")
    half = 2 ** (RANDOM_BITS - 1)
    centred = ops.cast(numbers, "float32") - (half - 0.5)
    return centred * (math.sqrt(3) * stddev / half)


def _mixed(x):
    """The finalizer of MurmurHash3, uint32."""
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        x = ops.bitwise_xor(x, ops.right_shift(x, _word(shift))) * _word(factor)
    return ops.bitwise_xor(x, ops.right_shift(x, _word(16)))


def _word(number):
    return ops.convert_to_tensor(number, "uint32")
