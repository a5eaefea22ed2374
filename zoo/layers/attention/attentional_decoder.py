"""A recurrent decoder with attention to a source and input feeding."""

import functools

import keras
from keras import ops

from zoo.checks.ranges import NotNegative, Probability, Size
from zoo.layers.attention.attentional_steps import run_plain, run_trained
from zoo.layers.checked_arguments import keep_checked
from zoo.layers.quantization import MatrixLayer


@keras.saving.register_keras_serializable(package="zoo")
class AttentionalDecoder(MatrixLayer):
    """LSTMs that write a target, with attention to the vectors of a source.

    With the vector e_t of the token that is read, the attentional vector a_t and the
    vectors m_s of the source:

    `h_t = lstm([e_t; a_{t-1}], h_{t-1})`, of the last layer,
    `p_ts = softmax_s(h_t (m_s A))`, over the tokens of the source,
    `a_t = tanh([sum_s p_ts m_s; h_t] C)`.

    The LSTMs have the gates i, f, g, o in this order and no separate forget bias, as in
    PyTorch. The first a is zero. Dropout acts on e_t, between the layers and on a_t,
    which the next step reads after dropout. Softmax and cells are float32 under every
    policy.

    Source: Luong et al. 2015, sections 3.1 ("general") and 3.3 (input feeding);
    OpenNMT-py, `InputFeedRNNDecoder`, where e_t has no dropout.

    Args:
        vocabulary_size: int, V, tokens of the target.
        embedding_dim: int, E, width of e_t.
        units: int, W, width of the LSTMs and of a_t.
        num_layers: int, N, LSTMs.
        dropout: float in [0, 1).
        initializer_range: float, bound of the uniform initial weights.

    Inputs:
        token_ids int (B, T), the tokens that are read; memory (B, L, M), the vectors of
        the source; memory_mask (B, L), 1 = token; hidden and cell (B, N, W), the states
        before the first token.

    Returns:
        (B, T, W), the attentional vectors.

    Raises:
        ValueError: if a size is not positive, or `dropout` is not in [0, 1).

    Example:
        >>> layer = AttentionalDecoder(9, embedding_dim=4, units=6, num_layers=2)
        >>> memory, state = ops.ones((1, 5, 3)), ops.zeros((1, 2, 6))
        >>> tokens, mask = ops.ones((1, 7), "int32"), ops.ones((1, 5))
        >>> tuple(layer(tokens, memory, mask, state, state).shape)
        (1, 7, 6)
    """

    def __init__(
        self,
        vocabulary_size,
        embedding_dim,
        units,
        num_layers=2,
        dropout=0.0,
        initializer_range=0.1,
        **kwargs,
    ):
        super().__init__(**kwargs)
        keep_checked(
            self,
            Size,
            vocabulary_size=vocabulary_size,
            embedding_dim=embedding_dim,
            units=units,
            num_layers=num_layers,
        )
        keep_checked(self, Probability, dropout=dropout)
        keep_checked(self, NotNegative, initializer_range=initializer_range)
        self.seed_generator = keras.random.SeedGenerator() if dropout else None
        kernels = [f"recurrent_kernel_{i}" for i in range(num_layers)]
        kernels += ["kernel", "attention_kernel", "output_kernel"]
        self.matrices = {"embeddings": -1, **dict.fromkeys(kernels, 0)}

    def build(self, token_ids_shape, memory_shape, *args, **kwargs):
        """Creates the weights. `memory_shape` is (B, L, M)."""
        width, gates, memory = self.units, 4 * self.units, memory_shape[-1]
        bound = self.initializer_range
        uniform = keras.initializers.RandomUniform
        shapes = {
            "embeddings": (self.vocabulary_size, self.embedding_dim),
            "kernel": (self.embedding_dim, gates),
            "attention_kernel": (memory, width),
            "output_kernel": (memory + width, width),
        }
        for i in range(self.num_layers):
            # Of [a; h] in the first layer, of the lower layer's h and the own h above.
            shapes[f"recurrent_kernel_{i}"] = (2 * width, gates)
        for name, shape in shapes.items():
            self.add_matrix(name, shape, initializer=uniform(-bound, bound))
        self.biases = [
            self.add_weight(name=f"bias_{i}", shape=(gates,), initializer="zeros")
            for i in range(self.num_layers)
        ]

    def call(self, token_ids, memory, memory_mask, hidden, cell, training=None):
        """Reads the tokens; see the class for shapes."""
        source = self.read_source(memory, memory_mask)
        states = self.first_states(hidden, cell)
        return self.step(token_ids, states, source, 1, training)[0]

    def read_source(self, memory, mask):
        """Dict of memory (B, L, M), keys (B, W, L) and mask bool (B, L) for steps."""
        # It does not grow with the target.
        keys = ops.matmul(memory, self.matrix("attention_kernel"))
        return {
            "memory": memory,
            "keys": ops.transpose(keys, (0, 2, 1)),
            "mask": ops.cast(mask, "bool"),
        }

    def first_states(self, hidden, cell):
        """The states of rows before the first token, dict of tensors (B, ...)."""
        hidden = ops.cast(hidden, self.compute_dtype)
        # Of float64 the cell stays float64.
        wide = "float64" if self.compute_dtype == "float64" else "float32"
        attended = ops.zeros_like(hidden[:, 0])
        return {"attended": attended, "hidden": hidden, "cell": ops.cast(cell, wide)}

    def step(self, token_ids, states, source, beams=1, training=False):
        """Reads int (R, T), `beams` rows a source: (R, T, W) and the new states."""
        layers, masks = range(self.num_layers), []
        drop = functools.partial(
            keras.random.dropout, rate=self.dropout, seed=self.seed_generator
        )
        dropped = training and self.dropout
        x = ops.take(self.matrix("embeddings"), ops.transpose(token_ids), axis=0)
        x = ops.matmul(drop(x) if dropped else x, self.matrix("kernel"))
        if dropped:
            masks = [drop(ops.ones_like(x[:, :, : self.units])) for _ in layers]
        deep = [states[key][:, i] for key in ("hidden", "cell") for i in layers]
        first = states["attended"], *deep
        weights = (
            *(self.matrix(f"recurrent_kernel_{i}") for i in layers),
            *(ops.cast(bias, self.compute_dtype) for bias in self.biases),
            self.matrix("output_kernel"),
        )
        source = tuple(source[name] for name in ("memory", "keys", "mask"))
        run = run_trained if training else run_plain
        vectors, last = run(first, (x, *masks), weights, source)
        middle = 1 + self.num_layers
        return ops.transpose(vectors, (1, 0, 2)), {
            "attended": last[0],
            "hidden": ops.stack(last[1:middle], axis=1),
            "cell": ops.stack(last[middle:], axis=1),
        }

    def compute_output_spec(self, token_ids, *args, **kwargs):
        """(B, T, W)."""
        shape = (*token_ids.shape, self.units)
        return keras.KerasTensor(shape, dtype=self.compute_dtype)
