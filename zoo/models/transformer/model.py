"""The Transformer: an encoder of the source, and a decoder of the target."""

import keras
from keras import ops

from zoo.backbone import Backbone
from zoo.layers import (
    LayerNorm,
    PositionEmbedding,
    SinusoidalPositions,
    TokenLogits,
    TransformerBlock,
)
from zoo.layers.attention import stack
from zoo.models.transformer.configs import TransformerConfig

BLOCK_FIELDS = ("norm_first", "attention_bias", "activation_dropout")


@keras.saving.register_keras_serializable(package="zoo")
class Transformer(Backbone):
    """Encoder and decoder blocks over token and position embeddings.

    The encoder attends to all tokens of the source. A position of the decoder attends
    to itself, to earlier positions, and to the output of the encoder. With
    `num_decoder_layers=0`, there is the encoder only, as in tasks of one sequence.

    Source: Vaswani et al. 2017. `keras_nlp.models.BartBackbone` differs: its positions
    are learned only, and its norm stands after each sub-layer only.

    Args:
        config: `TransformerConfig`.
        dtype, name: see `zoo.backbone.Backbone`.

    Inputs:
        dict of int32: encoder_token_ids (B, L); optional encoder_padding_mask (B, L), 1
            = token, by default every one other than `pad_id`; decoder_token_ids (B, T),
            the target, moved by one position to the right. Its padding stands on its
            right, so it needs no mask. An encoder alone has token_ids and padding_mask.

    Returns:
        dict of encoder_sequence_output (B, L, D) and decoder_sequence_output (B, T, D).
        `with_outputs` also gives encoder_layer_outputs (B, N + 1, L, D),
        decoder_layer_outputs (B, N + 1, T, D), and, as float32,
        encoder_attention_scores (B, N, H, L, L), decoder_attention_scores
        (B, N, H, T, T) and cross_attention_scores (B, N, H, T, L). An encoder alone has
        sequence_output, layer_outputs and attention_scores.

    Example:
        >>> config = TransformerConfig(11, None, 4, 1, 1, num_heads=2)
        >>> ids = ops.ones((1, 3), "int32")
        >>> inputs = {"encoder_token_ids": ids, "decoder_token_ids": ids[:, :2]}
        >>> tuple(Transformer(config)(inputs)["decoder_sequence_output"].shape)
        (1, 2, 4)
    """

    family = "transformer"
    config_class = TransformerConfig

    @property
    def tokens(self):
        """The name of the tokens that the encoder reads."""
        return f"{self.config.sides['encoder']}token_ids"

    @property
    def derived_inputs(self):
        """The padding of what the encoder reads."""
        return {f"{self.config.sides['encoder']}padding_mask": _padding_mask}

    @property
    def on_request(self):
        """The names of the outputs of layers, and of attention scores."""
        names = tuple(self.config.sides.values())
        kinds = (*names, "cross_") if len(names) > 1 else names
        layers = (f"{name}layer_outputs" for name in names)
        return (*layers, *(f"{kind}attention_scores" for kind in kinds))

    @property
    def predicts(self):
        """The target, from a source, if there is a decoder."""
        return "target" if self.config.num_decoder_layers else None

    @property
    def num_layer_outputs(self):
        """Layer outputs of the encoder; a decoder's have no `layers_for(number=)`."""
        return self.config.num_encoder_layers + 1

    def groups(self):
        """Returns the embeddings as one group, and each block as a group."""
        return stack.block_groups(self.named_layers)

    def make_token_head(self, activation=None, layer_norm_epsilon=None):
        """A head that predicts tokens of the target, (B, T, D) to (B, T, V)."""
        config = self.config
        separate = config.target_vocabulary_size is not None
        table = "target_token_embedding" if separate else "token_embedding"
        return TokenLogits(
            config.target_size,
            self.named_layers[table] if config.tied_output else None,
            config.output_bias,
            dtype=self.dtype_policy,
            name="token_logits",
        )

    def input_shapes(self, config):
        """The shapes of a row of each input, dict."""
        target = {"decoder_token_ids": (None,)} if config.num_decoder_layers else {}
        return super().input_shapes(config) | target

    @staticmethod
    def make_layers(config, dtype):
        """Makes the layers by name; they are not built yet."""
        width, named = config.hidden_dim, {"dtype": dtype}

        def table(rows, name):
            normal = keras.initializers.RandomNormal(stddev=width**-0.5)
            return keras.layers.Embedding(rows, width, normal, **named, name=name)

        def positions(name):
            longest = config.max_sequence_length
            if config.positions == "learned":
                return PositionEmbedding(longest, width**-0.5, **named, name=name)
            kind, first = config.positions, config.first_position
            return SinusoidalPositions(longest, kind, first, **named, name=name)

        def norm(name):
            return LayerNorm(epsilon=config.layer_norm_epsilon, **named, name=name)

        layers = [table(config.vocabulary_size, "token_embedding")]
        if config.target_vocabulary_size and config.num_decoder_layers:
            layers.append(table(config.target_size, "target_token_embedding"))
        if config.target_space:
            layers.append(table(1, "target_space_embedding"))
        for side in config.sides:
            if config.positions != "none":
                layers.append(positions(f"{side}_position_embedding"))
            if config.embeddings_layer_norm:
                layers.append(norm(f"{side}_embeddings_layer_norm"))
            name = f"{side}_embeddings_dropout"
            layers.append(keras.layers.Dropout(config.dropout, **named, name=name))
            count = getattr(config, f"num_{side}_layers")
            names = [f"{side}_block_{i}" for i in range(count)]
            options = {key: getattr(config, key) for key in BLOCK_FIELDS}
            options |= dict.fromkeys(("causal", "cross"), side == "decoder")
            options |= {"stddev": None, **named}
            layers += stack.make_blocks(TransformerBlock, config, names, **options)
            if config.ends_in_norm:
                layers.append(norm(f"{side}_layer_norm"))
        return {layer.name: layer for layer in layers}

    @classmethod
    def connect(cls, config, layers, inputs, scores=False):
        """Connects the layers; `scores` adds the attention weights to the outputs."""
        sides, outputs = config.sides, {}
        mask = inputs[f"{sides['encoder']}padding_mask"]
        given = {"padding_mask": mask}
        for side, prefix in sides.items():
            x = cls._embed(config, layers, side, inputs[f"{prefix}token_ids"])
            blocks = stack.find_blocks(layers, f"{side}_block_")
            hidden, weights = stack.run_blocks(blocks, x, scores, **given)
            hidden[-1] = x = cls._end(config, layers, side, hidden[-1])
            given = {"memory": x, "memory_mask": mask}
            outputs[f"{prefix}sequence_output"] = x
            outputs[f"{prefix}layer_outputs"] = ops.stack(hidden, axis=1)
            for kind, found in zip((prefix, "cross_"), weights, strict=False):
                outputs[f"{kind}attention_scores"] = found
        return outputs

    @staticmethod
    def _embed(config, layers, side, ids, places=None):
        """Vectors of tokens (B, L, D), at the positions `places` (B, L)."""
        separate = side == "decoder" and config.target_vocabulary_size
        x = layers["target_token_embedding" if separate else "token_embedding"](ids)
        if config.scale_embeddings:
            x = x * config.hidden_dim**0.5
        if config.zero_padding:
            mask = ops.cast(ops.not_equal(ids, config.pad_id), x.dtype)
            x = x * ops.expand_dims(mask, 2)
        if side == "encoder" and config.target_space:
            x = x + layers["target_space_embedding"](ops.zeros_like(ids[:1, :1]))
        if config.positions != "none":
            x = x + layers[f"{side}_position_embedding"](x, places)
        if config.embeddings_layer_norm:
            x = layers[f"{side}_embeddings_layer_norm"](x)
        return layers[f"{side}_embeddings_dropout"](x)

    @staticmethod
    def _end(config, layers, side, x, **mode):
        """The last norm, if there is one."""
        return layers[f"{side}_layer_norm"](x, **mode) if config.ends_in_norm else x

    # Decoding ----------------------------------------------------------------------

    def make_states(self, rows, length=None, source=None, beams=1):
        """See `Steps.make_states`. The encoder and what projects its output run once.

        The states are those of `zoo.models.gpt.GPT`; `source` also has memory, pairs of
        keys and values (B, H, L, K) for each block, and mask int32 (B, L).
        """
        config, layers = self.config, self.named_layers
        ids, mask = source["encoder_token_ids"], source.get("encoder_padding_mask")
        if mask is None:
            mask = _padding_mask(ids, config)
        x = self._embed(config, layers, "encoder", ids)
        blocks = stack.find_blocks(layers, "encoder_block_")
        hidden, _ = stack.run_blocks(blocks, x, padding_mask=mask)
        x = self._end(config, layers, "encoder", hidden[-1])
        blocks = stack.find_blocks(layers, "decoder_block_")
        memory = tuple(b.cross_attention.keys_and_values(x) for b in blocks)
        sizes = len(blocks), rows, ops.shape(ids)[0], length * beams
        states = stack.new_states(config, *sizes, self.compute_dtype)
        states["source"] |= {"memory": memory, "mask": mask}
        return states

    def fuse(self):
        """The fused kernels of each block, see `MultiHeadAttention.fuse`."""
        blocks = stack.find_blocks(self.named_layers, "decoder_block_")
        return [block.attention.fuse() for block in blocks]

    def step(
        self, inputs, states, outputs=("decoder_sequence_output",), beams=1, fused=None
    ):
        """See `Steps.step`. The only output is decoder_sequence_output (R, T, D)."""
        if isinstance(inputs, dict):
            inputs = inputs["decoder_token_ids"]
        config, layers, position = self.config, self.named_layers, states["position"]
        count = ops.shape(inputs)[1]
        places = position[:, None] + ops.arange(count, dtype="int32")[None]
        x = self._embed(config, layers, "decoder", inputs, places)
        blocks = stack.find_blocks(layers, "decoder_block_")
        x, mask, source = stack.step_blocks(blocks, x, states, beams, fused)
        x = self._end(config, layers, "decoder", x, few_rows=True)
        seen = mask[:, -1]
        after = {"position": position + count, "seen": seen, "source": source}
        x = ops.reshape(x, (-1, count, config.hidden_dim))
        return {"decoder_sequence_output": x}, after


def _padding_mask(ids, config):
    """1 where a token is not padding, int32 (B, L)."""
    return ops.cast(ops.not_equal(ids, config.pad_id), "int32")
