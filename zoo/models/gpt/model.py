"""GPT: a Transformer decoder that predicts the next token."""

import dataclasses

import keras
from keras import ops

from zoo.backbone import Backbone
from zoo.backbone.config import check_heads
from zoo.checks.ranges import CheckedFields, Layers, Positive, Probability, Size
from zoo.layers import (
    CausalMask,
    LayerNorm,
    PositionEmbedding,
    TokenLogits,
    TransformerBlock,
    get_activation,
)
from zoo.layers.attention import stack


@dataclasses.dataclass(frozen=True)
class GPTConfig(CheckedFields):
    """Sizes and options of a GPT. The defaults are those of GPT-2 small.

    Source: Radford et al. 2018 and 2019, and the released code. That of GPT-2 has no
    dropout; 0.1 is that of Hugging Face's files.

    Args:
        vocabulary_size: V, tokens.
        hidden_dim: width D.
        num_layers: decoder blocks.
        num_heads: H, must divide `hidden_dim`.
        intermediate_dim: inner width F of the feed-forward network.
        max_sequence_length: positions.
        norm_first: whether a norm stands before each sub-layer and after the last
            block, as in GPT-2. In GPT-1 a norm follows each sub-layer.
        activation: str, see `zoo.layers.get_activation`.
        dropout: probability after sub-layers, in [0, 1).
        embedding_dropout: probability after the embeddings, in [0, 1).
        attention_dropout: probability on attention weights, in [0, 1).
        layer_norm_epsilon: added to the variance.
        initializer_range: standard deviation of the truncated normal initial weights.

    Raises:
        ValueError: if a value is out of its range or unknown.
    """

    vocabulary_size: Size = 50257
    hidden_dim: Size = 768
    num_layers: Layers = 12
    num_heads: Size = 12
    intermediate_dim: Size = 3072
    max_sequence_length: Size = 1024
    norm_first: bool = True
    activation: str = "gelu_tanh"
    dropout: Probability = 0.1
    embedding_dropout: Probability = 0.1
    attention_dropout: Probability = 0.1
    layer_norm_epsilon: Positive = 1e-5
    initializer_range: Positive = 0.02

    def __post_init__(self):
        """Checks the fields, and which values go together."""
        super().__post_init__()
        check_heads(self)
        get_activation(self.activation)


@keras.saving.register_keras_serializable(package="zoo")
class GPT(Backbone):
    """Blocks of causal self-attention over token and position embeddings.

    A row can hold several documents. A token attends to those of its document, and the
    positions of each document begin at 0, so it has the same vectors as alone.

    Source: Radford et al. 2018 (GPT-1) and 2019 (GPT-2). GPT-1 keeps words and
    positions in one table; here they are two. `keras_nlp.models.GPT2Backbone` has no
    GPT-1, and its blocks are the slower `TransformerDecoder`.

    Args:
        config: `GPTConfig`.
        dtype, name: see `zoo.backbone.Backbone`.

    Inputs:
        dict of int32 (B, L): token_ids, and optional padding_mask, 0 = padding, else
        the number of the document, by default 1.

    Returns:
        dict of sequence_output (B, L, D). `with_outputs` adds layer_outputs
        (B, N + 1, L, D) and attention_scores float32 (B, N, H, L, L).

    Example:
        >>> gpt = GPT(GPTConfig(11, 4, 1, 2, 8, 16))
        >>> tuple(gpt(keras.ops.ones((1, 3), "int32"))["sequence_output"].shape)
        (1, 3, 4)
    """

    family = "gpt"
    config_class = GPTConfig
    caches = adds_tokens = True
    derived_inputs = {"padding_mask": lambda ids, config: ops.ones_like(ids)}

    @property
    def predicts(self):
        """The next token."""
        return "next"

    def make_token_head(self, activation=None, layer_norm_epsilon=None):
        """Makes the language model's head, which shares the token embedding."""
        return TokenLogits(
            self.config.vocabulary_size,
            self.named_layers["token_embedding"],
            dtype=self.dtype_policy,
            name="lm_head",
        )

    def groups(self):
        """Returns the embeddings as one group, and each block as a group."""
        return stack.block_groups(self.named_layers)

    @staticmethod
    def make_layers(config, dtype):
        """Makes the layers by name; they are not built yet."""
        stddev, named = config.initializer_range, {"dtype": dtype}
        normal = keras.initializers.TruncatedNormal(stddev=stddev)
        shape = config.vocabulary_size, config.hidden_dim
        places, rate = config.max_sequence_length, config.embedding_dropout
        layers = [
            CausalMask(name="causal_mask"),
            keras.layers.Embedding(*shape, normal, **named, name="token_embedding"),
            PositionEmbedding(places, stddev, **named, name="position_embedding"),
            keras.layers.Dropout(rate, **named, name="embeddings_dropout"),
        ]
        names = [f"block_{i}" for i in range(config.num_layers)]
        options = {"stddev": stddev, "norm_first": config.norm_first, **named}
        layers += stack.make_blocks(TransformerBlock, config, names, **options)
        if config.norm_first:
            epsilon = config.layer_norm_epsilon
            layers.append(LayerNorm(epsilon=epsilon, **named, name="layer_norm"))
        return {layer.name: layer for layer in layers}

    @classmethod
    def connect(cls, config, layers, inputs, scores=False):
        """Connects the layers; `scores` adds the attention weights to the outputs."""
        x, mask = cls._begin(layers, inputs)
        hidden, weights = stack.run_blocks(
            stack.find_blocks(layers), x, scores, padding_mask=mask
        )
        hidden[-1] = x = cls._end(layers, hidden[-1])
        outputs = {"sequence_output": x, "layer_outputs": ops.stack(hidden, axis=1)}
        if scores:
            (outputs["attention_scores"],) = weights
        return outputs

    @classmethod
    def connect_at(cls, config, layers, inputs, positions):
        """Connects the layers; the last block computes `positions`."""
        x, mask = cls._begin(layers, inputs)
        *blocks, last = stack.find_blocks(layers)
        x = stack.run_blocks(blocks, x, padding_mask=mask)[0][-1]
        return {"sequence_output": cls._end(layers, last(x, mask, positions))}

    @classmethod
    def _begin(cls, layers, inputs):
        """Returns the embeddings (B, L, D) and the mask (B, L, L)."""
        mask, places = layers["causal_mask"](inputs["padding_mask"])
        return cls._embed(layers, inputs["token_ids"], places), mask

    @staticmethod
    def _embed(layers, ids, places):
        """Vectors of tokens (B, L, D) at `places`; a task may add special tokens."""
        words, special = layers["token_embedding"], layers.get("special_embedding")
        if special is None:
            x = words(ids)
        else:
            size = words.input_dim
            x = ops.where(
                ops.expand_dims(ids >= size, 2),
                special(ops.maximum(ids - size, 0)),
                words(ops.minimum(ids, size - 1)),
            )
        return layers["embeddings_dropout"](x + layers["position_embedding"](x, places))

    @staticmethod
    def _end(layers, x, **mode):
        """The last norm, if there is one."""
        return layers["layer_norm"](x, **mode) if "layer_norm" in layers else x

    # Steps -------------------------------------------------------------------------

    def make_states(self, rows, length=None, source=None, beams=1):
        """See `Steps.make_states`. The source are read tokens, padded on the right.

        The states are position int32 (R,), the tokens that were read; seen bool (R, C),
        the entries of the cache that a row attends to; and source, with B rows: cache,
        see `zoo.layers.attention.caching`, and used int32 (B,), later entries in use.
        """
        config, sizes = self.config, (rows, rows // beams, length * beams)
        first = stack.new_states(config, config.num_layers, *sizes, self.compute_dtype)
        if source is None:
            return first
        count, read = ops.shape(source["token_ids"])
        _, after = self.step(source, self.make_states(count, read))
        # What the rows have read become old entries, which all beams share.
        pairs = zip(after["source"]["cache"], first["source"]["cache"], strict=True)
        cache = tuple((read, room) for (_, read), (_, room) in pairs)
        position, seen = (
            ops.repeat(after[key], beams, axis=0) for key in ("position", "seen")
        )
        return {
            "position": position,
            "seen": ops.concatenate([seen, first["seen"]], axis=1),
            "source": {"cache": cache, "used": first["source"]["used"]},
        }

    def fuse(self):
        """The fused kernels of each block, see `MultiHeadAttention.fuse`."""
        return [
            block.attention.fuse() for block in stack.find_blocks(self.named_layers)
        ]

    def step(self, inputs, states, outputs=("sequence_output",), beams=1, fused=None):
        """See `Steps.step`. The only output is sequence_output (R, T, D).

        The inputs are int32 (R, T), or a dict of token_ids and optional padding_mask
        (R, T), with padding on the right. Tokens beyond the positions get the last one.
        """
        inputs = inputs if isinstance(inputs, dict) else {"token_ids": inputs}
        ids, padding = inputs["token_ids"], inputs.get("padding_mask")
        layers, position = self.named_layers, states["position"]
        count, width = ops.shape(ids)[1], self.config.hidden_dim
        places = position[:, None] + ops.arange(count, dtype="int32")[None]
        most = self.config.max_sequence_length - 1  # padding, whose vectors are unused
        x = self._embed(layers, ids, ops.minimum(places, most))
        x, mask, source = stack.step_blocks(
            stack.find_blocks(layers), x, states, beams, fused
        )
        x = ops.reshape(self._end(layers, x, few_rows=True), (-1, count, width))
        seen, read = mask[:, -1], count
        if padding is not None:
            real = ops.sum(ops.cast(ops.not_equal(padding, 0), "int32"), axis=1)
            last = ops.maximum(real - 1, 0)[:, None, None]
            seen = ops.take_along_axis(mask, last, axis=1)[:, 0]
            seen, read = ops.where(real[:, None] > 0, seen, states["seen"]), real
        after = {"position": position + read, "seen": seen, "source": source}
        return {"sequence_output": x}, after
