"""Scaled dot-product attention over several heads."""

import keras
from keras import ops

from zoo.checks.ranges import NotNegative, Probability, Size, check_values
from zoo.layers.checked_arguments import keep_checked
from zoo.layers.quantization import CompositeLayer


@keras.saving.register_keras_serializable(package="zoo")
class MultiHeadAttention(CompositeLayer):
    """Multi-head attention with flat kernels, of a row to itself or to another row.

    For head h: `softmax(q_h k_h^T / sqrt(K) - 1e9 (1 - mask)) v_h`. The layer
    concatenates the heads and applies the output projection. Kernels are (D, D), with
    head h in columns hK to (h + 1)K. The softmax is float32 under every policy.

    Source: Vaswani et al. 2017, section 3.2. `keras.layers.MultiHeadAttention` computes
    the same from (D, H, K) kernels, whose einsum products cost a third of the step in
    bfloat16.

    Args:
        num_heads: int, H. Must divide the width D of the input.
        dropout: float in [0, 1), probability of zeroing an attention weight.
        stddev: float, standard deviation of the truncated normal initial kernels (BERT:
            0.02). None for Glorot's uniform kernels.
        use_bias: bool, whether the four projections have biases (tensor2tensor: none).

    Inputs:
        query (B, L, D); optional attention_mask, bool or int, broadcast to (B, L, M), 1
        = the query may attend to the position; optional key (B, M, D), by default the
        query, or in its place `projected`, a list of pairs from `keys_and_values`,
        whose positions follow each other; optional heads (B, H, L, K), the query from
        `project`.

    Returns:
        (B, L, D); with `return_scores=True` also the attention weights, float32
        (B, H, L, M).

    Raises:
        ValueError: if `num_heads` does not divide D.

    Example:
        >>> layer = MultiHeadAttention(num_heads=2)
        >>> output, weights = layer(ops.ones((1, 3, 4)), return_scores=True)
        >>> tuple(output.shape), tuple(weights.shape)
        ((1, 3, 4), (1, 2, 3, 3))
    """

    def __init__(self, num_heads, dropout=0.0, stddev=0.02, use_bias=True, **kwargs):
        super().__init__(**kwargs)
        keep_checked(self, Size, num_heads=num_heads)
        check_values(Probability, dropout=dropout)
        keep_checked(self, NotNegative | None, stddev=stddev)
        keep_checked(self, bool, use_bias=use_bias)
        self.dropout = keras.layers.Dropout(
            dropout, dtype=self.dtype_policy, name="dropout"
        )

    def build(self, query_shape, *args, **kwargs):
        """Creates the four projections. `query_shape` is (B, L, D)."""
        hidden_dim = query_shape[-1]
        if hidden_dim % self.num_heads:
            raise ValueError(
                "`num_heads` must divide the width of the input. Received: "
                f"num_heads={self.num_heads}, width={hidden_dim}."
            )
        shape, options = (hidden_dim, hidden_dim), {"use_bias": self.use_bias}
        for name in ("query", "key", "value", "output_projection"):
            self.add_dense(name, *shape, make_initializer(self.stddev), **options)

    def call(
        self,
        query,
        attention_mask=None,
        key=None,
        projected=None,
        return_scores=False,
        training=None,
        heads=None,
    ):
        """Computes the attention; see the class for shapes."""
        hidden_dim = query.shape[-1]
        q = self._heads(self.query, query) if heads is None else heads
        if projected is None:
            projected = [self.keys_and_values(query if key is None else key)]
        # TensorFlow merges product, scale and mask into one operation only if they
        # come in this order, with no cast between them. -1e9 overflows in float16.
        scale = (hidden_dim // self.num_heads) ** -0.5
        scores = [
            ops.matmul(q, ops.transpose(k, (0, 1, 3, 2))) * scale for k, _ in projected
        ]
        scores = scores[0] if len(scores) == 1 else ops.concatenate(scores, axis=-1)
        if attention_mask is not None:
            dtype = "float32" if self.compute_dtype == "float16" else scores.dtype
            # oneDNN takes 200 times as long to add one mask to the scores of all rows.
            if attention_mask.shape[0] == 1:
                shape = (ops.shape(query)[0], *ops.shape(attention_mask)[1:])
                attention_mask = ops.broadcast_to(attention_mask, shape)
            bias = -1e9 * (1.0 - ops.cast(attention_mask, "float32"))
            scores = ops.cast(scores, dtype) + ops.cast(bias, dtype)[:, None]
        weights = ops.softmax(ops.cast(scores, "float32"), axis=-1)
        dropped = self.dropout(ops.cast(weights, self.compute_dtype), training=training)
        mixed = _mix(dropped, [v for _, v in projected])
        if query.shape[1] != 1:
            mixed = ops.transpose(mixed, (0, 2, 1, 3))
        mixed = ops.reshape(mixed, (-1, hidden_dim))
        output = ops.reshape(self.output_projection(mixed), sizes(query))
        return (output, weights) if return_scores else output

    def keys_and_values(self, x):
        """Projects x (B, M, D) to keys and values, each (B, H, M, K)."""
        return self._heads(self.key, x), self._heads(self.value, x)

    def fuse(self):
        """Kernels and biases of q, k and v as one; None if quantized or with LoRA."""
        # A decoder has few rows, for which one product is faster than three.
        layers = self.query, self.key, self.value
        if any(d.quantization_mode or d.lora_enabled for d in layers):
            return None

        def join(name):
            parts = [ops.cast(getattr(d, name), self.compute_dtype) for d in layers]
            return ops.concatenate(parts, axis=-1)

        return join("kernel"), join("bias") if self.use_bias else None

    def project(self, x, fused=None):
        """Projects x (B, L, D) to q, k and v, each (B, H, L, K), perhaps by `fuse`."""
        if fused is None:
            return self._heads(self.query, x), *self.keys_and_values(x)
        kernel, bias = fused
        flat = ops.matmul(ops.reshape(x, (-1, x.shape[-1])), kernel)
        flat = flat if bias is None else ops.add(flat, bias)
        parts = ops.split(flat, 3, axis=-1)
        return tuple(self._split(part, x) for part in parts)

    def _heads(self, projection, x):
        """(B, L, D) to (B, H, L, K)."""
        return self._split(projection(ops.reshape(x, (-1, x.shape[-1]))), x)

    def _split(self, flat, x):
        """(B L, D) to (B, H, L, K), for x (B, L, D)."""
        width = x.shape[-1]
        size = self.num_heads, width // self.num_heads
        if x.shape[1] == 1:  # nothing to transpose
            return ops.reshape(flat, (-1, size[0], 1, size[1]))
        split = ops.reshape(flat, (*sizes(x)[:2], *size))
        return ops.transpose(split, (0, 2, 1, 3))


def sizes(x):
    """The sizes of a tensor for a reshape; a single unknown one is -1."""
    # A decoder computes few rows at a step, where every operation counts.
    known = tuple(x.shape)
    if known.count(None) == 1:
        return tuple(-1 if size is None else size for size in known)
    return ops.shape(x)


def _mix(weights, parts):
    """Products of weights (B, H, L, M) and values in parts, (B, H, L, K)."""
    if len(parts) == 1:
        return ops.matmul(weights, parts[0])
    mixed, start = 0.0, 0
    for values in parts:
        end = start + ops.shape(values)[2]
        mixed, start = mixed + ops.matmul(weights[..., start:end], values), end
    return mixed


def make_initializer(stddev):
    """The initializer of a kernel: truncated normal, or Glorot's uniform for None."""
    if stddev is None:
        return keras.initializers.GlorotUniform()
    return keras.initializers.TruncatedNormal(stddev=stddev)
