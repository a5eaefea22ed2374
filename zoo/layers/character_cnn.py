"""Word vectors from characters: a convolutional network with highway layers."""

import math

import keras
from keras import ops

from zoo.checks.ranges import Count, Number, Pairs, Size, check_values
from zoo.layers.activations import get_activation
from zoo.layers.checked_arguments import keep_checked
from zoo.layers.quantization import CompositeLayer

# At most 2 to this power words are computed at once.
BLOCK_POWER = 7


@keras.saving.register_keras_serializable(package="zoo")
class Highway(CompositeLayer):
    """A highway layer: a gate mixes a dense layer with its input.

    `y = g relu(x W + b) + (1 - g) x`, `g = sigmoid(x G + c)`.

    Source: Srivastava et al. 2015; bilm-tf, which calls G and c "carry". In AllenNLP g
    is the weight of the input, so its G and c have the opposite sign.

    Args:
        gate_bias: float, initial value of c. At -2.0 the output is close to the input.

    Inputs:
        (..., D).

    Returns:
        (..., D).

    Example:
        >>> tuple(Highway(gate_bias=-2.0)(ops.ones((2, 3))).shape)
        (2, 3)
    """

    def __init__(self, gate_bias=-2.0, **kwargs):
        super().__init__(**kwargs)
        keep_checked(self, Number, gate_bias=gate_bias)

    def build(self, input_shape):
        """Creates the two dense layers."""
        width = input_shape[-1]
        normal = keras.initializers.RandomNormal(stddev=1 / math.sqrt(width))
        for name, bias in (("gate", self.gate_bias), ("transform", 0.0)):
            options = {"bias_initializer": keras.initializers.Constant(bias)}
            self.add_dense(name, width, width, normal.clone(), **options)

    def call(self, x):
        """Applies the layer."""
        gate = ops.sigmoid(self.gate(x))
        return x + gate * (ops.relu(self.transform(x)) - x)


@keras.saving.register_keras_serializable(package="zoo")
class CharacterCNN(CompositeLayer):
    """A vector for each word: convolutions over characters, highways, projection.

    The layer concatenates the maximum of each filter over the word, and applies the
    activation, the highway layers and a projection to `projection_dim`.

    A row may have fewer than `max_characters` characters. The layer then adds columns
    of padding until the widest filter covers padding alone at one place. The result
    equals that of `max_characters` columns bit for bit. One column less could change
    it, since the vector of padding is learned and takes part in the maximum.

    Source: Kim et al. 2015; Jozefowicz et al. 2016; Peters et al. 2018 (ELMo), whose
    released code `bilm/model.py` gives initializers and order.

    Args:
        filters: list of (width in characters, number of filters).
        embedding_dim: int, width of the vector of a character.
        num_highways: int, number of highway layers.
        projection_dim: int, P. If it equals the number of all filters, there is no
            projection.
        activation: str, "relu" or "tanh".
        num_characters: int, K. The ids of characters are 1 to K.
        max_characters: int, characters of a word, markers and padding included.
        pad_id: int, id of the padding inside a word; by default K, the last id.
        distinct: bool, whether a word that occurs several times in a batch is computed
            once, and outside training in blocks, which bounds the memory. In running
            text, two thirds of the positions are repetitions or padding. Other words of
            a batch then change a vector by rounding, about 1e-7. Needs TensorFlow
            without XLA.

    Inputs:
        int (B, L, C), C at most `max_characters`; 0 in all columns of a position
        without a word.

    Returns:
        (B, L, P).

    Raises:
        ValueError: if there is no filter, a filter is wider than `max_characters`, or
            the input has too many characters.

    Example:
        >>> layer = CharacterCNN([(1, 4), (3, 6)], embedding_dim=2, projection_dim=5)
        >>> tuple(layer(ops.ones((2, 3, 50), "int32")).shape)
        (2, 3, 5)
    """

    def __init__(
        self,
        filters,
        embedding_dim=16,
        num_highways=1,
        projection_dim=512,
        activation="relu",
        num_characters=261,
        max_characters=50,
        pad_id=None,
        distinct=True,
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_values(Pairs, filters=filters)
        keep_checked(
            self,
            Size,
            embedding_dim=embedding_dim,
            projection_dim=projection_dim,
            num_characters=num_characters,
            max_characters=max_characters,
        )
        keep_checked(self, Count, num_highways=num_highways)
        check_values(Count | None, pad_id=pad_id)
        keep_checked(self, bool, distinct=distinct)
        self.filters = [tuple(pair) for pair in filters]
        self.widest = max((width for width, _ in self.filters), default=0)
        if not 0 < self.widest <= max_characters:
            raise ValueError(
                "`filters` must be pairs of a width, from 1 to `max_characters`, and a "
                f"number of filters. Received: filters={filters}, "
                f"max_characters={max_characters}."
            )
        self.activation = get_activation(activation)
        self.is_relu = activation == "relu"
        self.pad_id = num_characters if pad_id is None else pad_id

    @property
    def distinct(self):
        """Whether repeated words are computed once."""
        return not self.supports_jit

    @distinct.setter
    def distinct(self, value):
        self.supports_jit = not value or keras.backend.backend() != "tensorflow"

    def build(self, input_shape):
        """Creates all weights."""
        uniform = keras.initializers.RandomUniform
        self.embeddings = self.add_weight(
            name="embeddings",
            shape=(self.num_characters, self.embedding_dim),
            initializer=uniform(-1.0, 1.0),
        )
        self.convolutions = []
        for index, (width, number) in enumerate(self.filters):
            fan_in = width * self.embedding_dim
            normal = keras.initializers.RandomNormal(stddev=math.sqrt(1 / fan_in))
            layer = keras.layers.Conv1D(
                number,
                width,
                kernel_initializer=uniform(-0.05, 0.05) if self.is_relu else normal,
                dtype=self.dtype_policy,
                name=f"convolution_{index}",
            )
            layer.build((None, None, self.embedding_dim))
            self.convolutions.append(layer)
        width = sum(number for _, number in self.filters)
        self.highways = [
            Highway(dtype=self.dtype_policy, name=f"highway_{index}")
            for index in range(self.num_highways)
        ]
        for layer in self.highways:
            layer.build((None, width))
        self.projection = None
        if width != self.projection_dim:
            normal = keras.initializers.RandomNormal(stddev=1 / math.sqrt(width))
            self.add_dense("projection", width, self.projection_dim, normal)

    def call(self, character_ids, training=None):
        """Encodes every word; see the class for shapes."""
        shape = ops.shape(character_ids)
        if isinstance(shape[2], int) and shape[2] > self.max_characters:
            raise ValueError(
                f"A word must have at most {self.max_characters} characters, markers "
                f"included. Received: an input of shape {tuple(character_ids.shape)}. "
                "Increase `max_characters` or truncate the words."
            )
        words = ops.reshape(character_ids, (-1, shape[2]))
        # TensorFlow's convolution of zero rows has a wrong shape, so one row is added.
        words = ops.pad(words, ((0, 1), (0, 0)))
        if self.distinct:
            rows = ops.shape(words)[0]
            import tensorflow as tf

            # The distinct words (U, C), and the index (W,) of each word.
            words, places = tf.raw_ops.UniqueV2(x=words, axis=[0])
            if training:
                vectors = self.encode(words)
            else:
                block = block_size(rows), self.projection_dim
                vectors = in_blocks(self.encode, words, block, self.compute_dtype)
            vectors = ops.take(vectors, places[:-1], axis=0)
        else:
            vectors = self.encode(words)[:-1]
        return ops.reshape(vectors, (*shape[:2], self.projection_dim))

    def encode(self, words):
        """Vectors (W, P) of words, int (W, C)."""
        columns = self.max_characters - ops.shape(words)[1]
        # A shape must not be traced in JAX; in a graph of TensorFlow it may be.
        smallest = min if isinstance(columns, int) else ops.minimum
        columns = smallest(columns, self.widest)
        pad = ops.where(words[:, :1] == 0, 0, self.pad_id)
        pad = ops.broadcast_to(pad, (ops.shape(words)[0], columns))
        words = ops.concatenate([words, ops.cast(pad, words.dtype)], axis=1)
        table = ops.cast(self.embeddings, self.compute_dtype)
        table = ops.concatenate([ops.zeros_like(table[:1]), table], axis=0)
        x = ops.take(table, words, axis=0)
        maxima = [
            ops.max(layer(x), axis=1, initial=-math.inf) for layer in self.convolutions
        ]
        x = self.activation(ops.concatenate(maxima, axis=-1))
        for layer in self.highways:
            x = layer(x)
        return x if self.projection is None else self.projection(x)

    def compute_output_shape(self, input_shape):
        """(B, L, P)."""
        return (*input_shape[:2], self.projection_dim)


def block_size(rows):
    """The number of words that are computed at once: a power of 2, at most 128."""
    powers = [2**power for power in range(1, BLOCK_POWER)]
    sizes = ops.convert_to_tensor(powers, "int32")
    return 2 ** (1 + ops.sum(ops.cast(sizes < rows, "int32")))


def in_blocks(function, rows, shape, dtype):
    """Applies a function (S, C) -> (S, P) to rows (U, C), S at a time."""
    import tensorflow as tf

    count, (size, width) = tf.shape(rows)[0], shape
    blocks = -(-count // size)
    rows = tf.pad(rows, [[0, blocks * size - count], [0, 0]])
    outputs = tf.TensorArray(dtype, blocks, element_shape=(None, width))

    def body(index, outputs):
        block = rows[index * size : (index + 1) * size]
        return index + 1, outputs.write(index, function(block))

    _, outputs = tf.while_loop(
        lambda index, _: index < blocks, body, (0, outputs), parallel_iterations=1
    )
    return outputs.concat()[:count]
