"""The block of the Transformer."""

import dataclasses
import inspect

import keras
from keras import ops

from zoo.checks.ranges import CheckedFields, NotNegative, Positive, Probability, Size
from zoo.layers.activations import get_activation
from zoo.layers.attention.attention import MultiHeadAttention, make_initializer, sizes
from zoo.layers.normalization import LayerNorm
from zoo.layers.quantization import CompositeLayer
from zoo.layers.recomputation import RecomputedLayer


@dataclasses.dataclass(frozen=True)
class BlockOptions(CheckedFields):
    """The arguments of `TransformerBlock`, checked."""

    num_heads: Size
    intermediate_dim: Size
    activation: object = "gelu"  # `get_activation` checks it
    dropout: Probability = 0.0
    attention_dropout: Probability = 0.0
    layer_norm_epsilon: Positive = 1e-12
    stddev: NotNegative | None = 0.02
    causal: bool = False
    cross: bool = False
    norm_first: bool = False
    attention_bias: bool = True
    activation_dropout: Probability = 0.0


OPTIONAL_FIELDS = {field.name for field in dataclasses.fields(BlockOptions)[3:]}


@keras.saving.register_keras_serializable(package="zoo")
class TransformerBlock(RecomputedLayer, CompositeLayer):
    """Attention and a feed-forward network, each with residual and norm.

    For each sub-layer f, `x = norm(x + dropout(f(x)))`, as in the paper and in BERT, or
    with `norm_first` `x = x + dropout(f(norm(x)))`, as in GPT-2. With `cross`, a second
    attention stands between the two, to the vectors of another row, the memory.

    Source: Vaswani et al. 2017, section 3.1; Devlin et al. 2019.
    `keras_nlp.layers.TransformerEncoder` has one dropout rate and multiplies in three
    dimensions, here two. It is slower by a tenth in float32 and by a third in bfloat16.
    `keras_nlp.layers.TransformerDecoder` computes the keys and values of the memory
    again for every new token.

    Args:
        num_heads: int, H; must divide D.
        intermediate_dim: int, F.
        activation: str, see `zoo.layers.get_activation`.
        dropout: float in [0, 1), probability on the output of each sub-layer.
        attention_dropout: float in [0, 1), probability on attention weights.
        layer_norm_epsilon: float, added to the variance.
        stddev: float, standard deviation of the truncated normal initial kernels; None
            for Glorot's uniform kernels.
        causal: bool, whether a position attends only to itself and to earlier ones.
        cross: bool, whether the block attends to a memory.
        norm_first: bool, whether a norm stands before each sub-layer.
        attention_bias: bool, whether the projections of the attentions have biases.
        activation_dropout: float in [0, 1), probability after the activation.

    Inputs:
        x (B, L, D); optional padding_mask (B, L), bool or int, 1 = token, or (B, L, L),
        1 where a position may attend to another one; optional positions int32 (B, P),
        to compute the output there only; with `cross`, memory (B, M, D) and optional
        memory_mask (B, M). No position attends to padding.

    Returns:
        (B, L, D), or (B, P, D) with positions; with `return_scores=True` a tuple of it
        and of the weights of each attention, float32 (B, H, L, L) and (B, H, L, M).
        Norm statistics and softmax are float32 under every policy.

    Raises:
        ValueError: if H does not divide D, or the activation is unknown.

    Example:
        >>> block = TransformerBlock(num_heads=2, intermediate_dim=8)
        >>> tuple(block(keras.ops.ones((1, 3, 4))).shape)
        (1, 3, 4)
    """

    def __init__(self, num_heads, intermediate_dim, activation="gelu", **kwargs):
        given = {name: kwargs.pop(name) for name in OPTIONAL_FIELDS & kwargs.keys()}
        super().__init__(**kwargs)
        options = BlockOptions(num_heads, intermediate_dim, activation, **given)
        self.options = options
        self.activation = get_activation(activation)
        named, epsilon = {"dtype": self.dtype_policy}, options.layer_norm_epsilon
        names = "num_heads", "attention_dropout", "stddev", "attention_bias"
        arguments = [getattr(options, name) for name in names]

        def attention(name):
            return MultiHeadAttention(*arguments, **named, name=name)

        def norm(name):
            return LayerNorm(epsilon=epsilon, **named, name=name)

        def dropping(rate, name):
            return keras.layers.Dropout(rate, **named, name=name)

        self.attention = attention("attention")
        self.attention_layer_norm = norm("attention_layer_norm")
        self.cross_attention = attention("cross_attention") if options.cross else None
        self.cross_attention_layer_norm = (
            norm("cross_attention_layer_norm") if options.cross else None
        )
        self.output_layer_norm = norm("output_layer_norm")
        self.dropout = dropping(options.dropout, "dropout")
        # Earlier files number the layers of BERT, whose blocks do not have this one.
        self.activation_dropout = options.activation_dropout and dropping(
            options.activation_dropout, "activation_dropout"
        )

    def get_config(self):
        """Constructor arguments."""
        return {**super().get_config(), **dataclasses.asdict(self.options)}

    def build(self, input_shape, *args, **kwargs):
        """Creates all weights. `input_shape` is (B, L, D)."""
        hidden_dim = input_shape[-1]
        for attention in filter(None, (self.attention, self.cross_attention)):
            attention.build(input_shape)
        inner, stddev = self.options.intermediate_dim, self.options.stddev
        self.add_dense("intermediate", hidden_dim, inner, make_initializer(stddev))
        self.add_dense("output_projection", inner, hidden_dim, make_initializer(stddev))
        norms = self.attention_layer_norm, self.cross_attention_layer_norm
        for norm in filter(None, (*norms, self.output_layer_norm)):
            norm.build((None, hidden_dim))

    def call(
        self,
        x,
        padding_mask=None,
        positions=None,
        memory=None,
        memory_mask=None,
        return_scores=False,
        training=None,
    ):
        """Computes the block; see the class for shapes."""
        mode = {"training": training}
        key = self._before(x, self.attention_layer_norm, mode)
        query = key
        if positions is not None:
            index = ops.expand_dims(positions, 2)
            query, x = (ops.take_along_axis(t, index, axis=1) for t in (key, x))
        mask = padding_mask
        if mask is not None and len(mask.shape) == 2:
            mask = ops.expand_dims(mask, 1)
        elif mask is not None and positions is not None:
            mask = ops.take_along_axis(mask, ops.expand_dims(positions, 2), axis=1)
        if self.options.causal:
            key_places = ops.arange(ops.shape(key)[1], dtype="int32")[None]
            query_places = key_places if positions is None else positions
            query_places = ops.expand_dims(query_places, 2)
            before = query_places >= ops.expand_dims(key_places, 1)
            mask = before if mask is None else before & ops.cast(mask, "bool")
        options = {"return_scores": True, **mode}
        attended, scores = self.attention(query, mask, key=key, **options)
        x = self._after(x, attended, self.attention_layer_norm, mode)
        scores = [scores]
        if memory is not None:
            norm = self.cross_attention_layer_norm
            query = self._before(x, norm, mode)
            mask = None if memory_mask is None else ops.expand_dims(memory_mask, 1)
            attended, cross = self.cross_attention(query, mask, key=memory, **options)
            x = self._after(x, attended, norm, mode)
            scores.append(cross)
        x = self._feed_forward(x, mode)
        return (x, *scores) if return_scores else x

    def compute_output_spec(self, x, *args, **kwargs):
        """Shapes and types; Keras would trace `call`, most of the time of a model."""
        given = inspect.signature(self.call).bind(x, *args, **kwargs).arguments
        positions, memory = given.get("positions"), given.get("memory")
        read = x if positions is None else positions
        vectors = keras.KerasTensor((*read.shape[:2], x.shape[2]), self.compute_dtype)
        if not given.get("return_scores"):
            return vectors
        keys = [part.shape[1] for part in (x, memory) if part is not None]
        rows, length = read.shape[:2]
        shapes = [(rows, self.attention.num_heads, length, size) for size in keys]
        return vectors, *(keras.KerasTensor(shape, "float32") for shape in shapes)

    def step(self, x, cache, index, mask, memory=None, memory_mask=None, fused=None):
        """Computes new entries x (B, N, D) of rows, with keys and values from a cache.

        Args:
            x: the vectors of the new entries.
            cache: two pairs of keys and values, see `zoo.layers.attention.caching`.
            index: int32 (B * H * N, 3), from `entry_index`: where the new ones are
                written.
            mask: bool (B, N, C + C'), the entries that a new one attends to.
            memory: keys and values from `cross_attention.keys_and_values`, or None.
            memory_mask: (B, M), 1 = token.
            fused: what `attention.fuse` returned before, or None.

        Returns:
            (B, N, D), and the cache with the new keys and values.
        """
        mode = {"training": False, "few_rows": True}
        query = self._before(x, self.attention_layer_norm, mode)
        heads, *new = self.attention.project(query, fused)
        old, later = cache
        # TF Serving refuses `keras.ops.slice_update`, an operation of XLA.
        later = tuple(
            ops.scatter_update(part, index, ops.reshape(value, (-1, value.shape[-1])))
            for part, value in zip(later, new, strict=True)
        )
        parts = [later] if old[0].shape[2] == 0 else [old, later]
        attended = self.attention(query, mask, projected=parts, heads=heads)
        x = self._after(x, attended, self.attention_layer_norm, mode)
        if memory is not None:
            norm, mask = self.cross_attention_layer_norm, memory_mask[:, None]
            query = self._before(x, norm, mode)
            attended = self.cross_attention(query, mask, projected=[memory])
            x = self._after(x, attended, norm, mode)
        return self._feed_forward(x, mode), (old, later)

    def _before(self, x, norm, mode):
        """What a sub-layer reads; `mode` has arguments of the norm."""
        return norm(x, **mode) if self.options.norm_first else x

    def _after(self, x, output, norm, mode):
        """What the next sub-layer adds to."""
        flat = (-1, x.shape[-1])
        output = ops.reshape(output, flat)
        output = self.dropout(output, training=mode["training"])
        total = ops.reshape(x, flat) + output
        if not self.options.norm_first:
            total = norm(total, **mode)
        return ops.reshape(total, sizes(x))

    def _feed_forward(self, x, mode):
        """The last sub-layer."""
        flat = ops.reshape(x, (-1, x.shape[-1]))
        inner = self._before(flat, self.output_layer_norm, mode)
        inner = self.activation(self.intermediate(inner))
        if self.activation_dropout:
            inner = self.activation_dropout(inner, training=mode["training"])
        output = self.output_projection(inner)
        output = self._after(flat, output, self.output_layer_norm, mode)
        return ops.reshape(output, sizes(x))


@keras.saving.register_keras_serializable(package="zoo")
class TransformerEncoderBlock(TransformerBlock):
    """The block of BERT, a `TransformerBlock`. Files of BERT have this name.

    Example:
        >>> block = TransformerEncoderBlock(num_heads=2, intermediate_dim=8)
        >>> tuple(block(ops.ones((1, 3, 4)), ops.ones((1, 3))).shape)
        (1, 3, 4)
    """


@keras.saving.register_keras_serializable(package="zoo")
class WithScores(keras.layers.Layer):
    """Calls a block and also returns its attention weights.

    A functional model needs it, since Keras expects the same number of outputs from
    every call of a layer. It has the weights of the block.

    Args:
        block: `TransformerBlock`.

    Inputs:
        x (B, L, D), optional padding_mask, memory and memory_mask, as of the block.

    Returns:
        Tuple of the output of the block (B, L, D) and the weights of each attention,
        float32 (B, H, L, L) and (B, H, L, M).

    Example:
        >>> block = TransformerBlock(num_heads=2, intermediate_dim=8)
        >>> output, weights = WithScores(block)(ops.ones((1, 3, 4)))
        >>> tuple(output.shape), tuple(weights.shape)
        ((1, 3, 4), (1, 2, 3, 3))
    """

    def __init__(self, block, **kwargs):
        super().__init__(dtype=block.dtype_policy, **kwargs)
        self.block = block

    def get_config(self):
        """The name and the config of the block."""
        block = keras.saving.serialize_keras_object(self.block)
        return {"name": self.name, "block": block}

    @classmethod
    def from_config(cls, config):
        """Restores the block, then the layer."""
        block = keras.saving.deserialize_keras_object(config["block"])
        return cls(**{**config, "block": block})

    def call(self, x, padding_mask=None, memory=None, memory_mask=None, training=None):
        """Calls the block."""
        given = {"memory": memory, "memory_mask": memory_mask}
        return self.block(
            x, padding_mask, **given, return_scores=True, training=training
        )

    def compute_output_spec(self, x, *args, **kwargs):
        """Shapes and types, see `TransformerBlock.compute_output_spec`."""
        given = inspect.signature(self.call).bind(x, *args, **kwargs).arguments
        memory = given.get("memory")
        return self.block.compute_output_spec(x, memory=memory, return_scores=True)
