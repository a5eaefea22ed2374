"""The names of a Transformer's arrays in each published layout."""

import dataclasses

from zoo.checkpoint import Row

SIDES = ("encoder", "decoder")
ATTENTIONS = ("attention", "cross_attention")
PROJECTIONS = ("query", "key", "value", "output_projection")
TORCH = {"kernel": "weight", "bias": "bias", "gamma": "weight", "beta": "bias"}

KERAS = {leaf: leaf for leaf in TORCH}


@dataclasses.dataclass(frozen=True)
class Naming:
    """How a layout names the arrays of a Transformer.

    Args:
        block: str, what the names of a block begin with. `{side}` is "encoder" or
            "decoder", and `{i}` the number of the block, counted from `first`.
        modules: dict of our module in a block to the rest of the name, in which `{}` is
            one of `leaves`.
        end: str, the norm after the last block, with `{side}` and `{}`.
        leaves: dict of "kernel", "bias", "gamma" and "beta" to the name of the array.
        transposed: bool, whether kernels are stored as (outputs, inputs).
        first: int.
        others: dict of our path to the name of an array outside the blocks, or to a
            tuple of the name, or of several, and an operation of `zoo.checkpoint.Row`.
    """

    block: str
    modules: dict
    end: str
    leaves: dict
    transposed: bool = False
    first: int = 0
    others: dict = dataclasses.field(default_factory=dict)

    def rows(self, config, expected):
        """The rows of a model, list of `zoo.checkpoint.Row`.

        Args:
            config: `TransformerConfig`.
            expected: container of the paths of its weights.
        """
        rows = []
        for path, source in self.others.items():
            source = source if isinstance(source, tuple) else (source,)
            rows.append(Row(path, *source))
        for side in SIDES:
            for i in range(getattr(config, f"num_{side}_layers")):
                begin = self.block.format(side=side, i=i + self.first)
                for module, name in self.modules.items():
                    rows += self._leaves(f"{side}_block_{i}/{module}", begin + name)
            end = self.end.replace("{side}", side)
            rows += self._leaves(f"{side}_layer_norm", end)
        return [row for row in rows if row.target in expected]

    def _leaves(self, module, name):
        """The rows of a dense layer or of a norm."""
        norm = module.endswith("layer_norm")
        for leaf in ("gamma", "beta") if norm else ("kernel", "bias"):
            turned = self.transposed and leaf == "kernel"
            operation = "transpose" if turned else "copy"
            yield Row(f"{module}/{leaf}", name.format(self.leaves[leaf]), operation)


def block_modules(attention, attentions, projections, norms, dense):
    """The modules of a block by our names.

    Args:
        attention: str with `{name}` and `{projection}`, and `{{}}` for the leaf.
        attentions, projections: their names, of the self-attention and the
            cross-attention, and of query, key, value and output.
        norms: names of the norms of both attentions and of the feed-forward network.
        dense: names of the two layers of the feed-forward network.
    """
    found = {}
    for ours, name in zip(ATTENTIONS, attentions, strict=True):
        for projection, other in zip(PROJECTIONS, projections, strict=True):
            theirs = attention.format(name=name, projection=other)
            found[f"{ours}/{projection}"] = theirs
    names = (*ATTENTIONS, "output")
    found |= {f"{k}_layer_norm": v for k, v in zip(names, norms, strict=True)}
    return found | dict(zip(("intermediate", "output_projection"), dense, strict=True))


# fairseq and Hugging Face.
FAIRSEQ_MODULES = block_modules(
    "{name}.{projection}.{{}}",
    ("self_attn", "encoder_attn"),
    ("q_proj", "k_proj", "v_proj", "out_proj"),
    ("self_attn_layer_norm.{}", "encoder_attn_layer_norm.{}", "final_layer_norm.{}"),
    ("fc1.{}", "fc2.{}"),
)
NAMINGS = {
    "hugging_face": Naming(
        block="model.{side}.layers.{i}.",
        modules=FAIRSEQ_MODULES,
        end="model.{side}.layer_norm.{}",
        leaves=TORCH,
        transposed=True,
        others={
            "token_embedding/embeddings": "model.shared.weight",
            "target_token_embedding/embeddings": "model.decoder.embed_tokens.weight",
            "token_logits/kernel": ("lm_head.weight", "transpose"),
            "token_logits/output_bias": ("final_logits_bias", "first"),
        },
    ),
    "fairseq": Naming(
        block="{side}.layers.{i}.",
        modules=FAIRSEQ_MODULES,
        end="{side}.layer_norm.{}",
        leaves=TORCH,
        transposed=True,
        others={
            "token_embedding/embeddings": "encoder.embed_tokens.weight",
            "target_token_embedding/embeddings": "decoder.embed_tokens.weight",
            "token_logits/kernel": ("decoder.output_projection.weight", "transpose"),
            "encoder_position_embedding/embeddings": "encoder.embed_positions.weight",
            "decoder_position_embedding/embeddings": "decoder.embed_positions.weight",
            "encoder_embeddings_layer_norm/gamma": "encoder.layernorm_embedding.weight",
            "encoder_embeddings_layer_norm/beta": "encoder.layernorm_embedding.bias",
            "decoder_embeddings_layer_norm/gamma": "decoder.layernorm_embedding.weight",
            "decoder_embeddings_layer_norm/beta": "decoder.layernorm_embedding.bias",
        },
    ),
    "tensor2tensor": Naming(
        block="transformer/body/{side}/layer_{i}/",
        modules=block_modules(
            "{name}/multihead_attention/{projection}/{{}}",
            ("self_attention", "encdec_attention"),
            ("q", "k", "v", "output_transform"),
            tuple(
                f"{name}/layer_prepostprocess/layer_norm/layer_norm_{{}}"
                for name in ("self_attention", "encdec_attention", "ffn")
            ),
            ("ffn/conv1/{}", "ffn/conv2/{}"),
        ),
        end="transformer/body/{side}/layer_prepostprocess/layer_norm/layer_norm_{}",
        leaves={"kernel": "kernel", "bias": "bias", "gamma": "scale", "beta": "bias"},
        others={
            "token_embedding/embeddings": (("shared", "input_emb"),),
            "target_token_embedding/embeddings": "target_emb",
            "target_space_embedding/embeddings": "target_space",
            "encoder_position_embedding/embeddings": (
                "transformer/body/inputs_positional_embedding"
            ),
            "decoder_position_embedding/embeddings": (
                "transformer/body/targets_positional_embedding"
            ),
            "token_logits/kernel": ("softmax", "transpose"),
        },
    ),
    "model_garden": Naming(
        block="{side}_layer/{side}_layers/{i}/",
        modules=block_modules(
            "{name}/_{projection}_dense/{{}}",
            ("self_attention", "encdec_attention"),
            ("query", "key", "value", "output"),
            (
                "self_attention_layer_norm/{}",
                "encdec_attention_layer_norm/{}",
                "output_layer_norm/{}",
            ),
            ("intermediate_dense/{}", "output_dense/{}"),
        ),
        end="{side}_layer/output_normalization/{}",
        leaves=KERAS,
        others={"token_embedding/embeddings": "embedding_lookup/embeddings"},
    ),
    "opennmt_tf": Naming(
        block="{side}/layers/{i}/",
        modules=block_modules(
            "{name}/layer/linear_{projection}/{{}}",
            ("self_attention", "attention/0"),
            ("queries", "keys", "values", "output"),
            tuple(
                f"{name}/input_layer_norm/{{}}"
                for name in ("self_attention", "attention/0", "ffn")
            ),
            ("ffn/layer/inner/{}", "ffn/layer/outer/{}"),
        ),
        end="{side}/layer_norm/{}",
        leaves=KERAS,
        others={
            "token_embedding/embeddings": (
                "examples_inputter/features_inputter/embedding"
            ),
            "target_token_embedding/embeddings": (
                "examples_inputter/labels_inputter/embedding"
            ),
            "token_logits/kernel": "decoder/output_layer/kernel",
            "token_logits/output_bias": "decoder/output_layer/bias",
        },
    ),
    "marian": Naming(
        block="{side}_l{i}_",
        modules=block_modules(
            "{name}_{{}}{projection}",
            ("self", "context"),
            ("q", "k", "v", "o"),
            ("self_Wo_ln_{}", "context_Wo_ln_{}", "ffn_ffn_ln_{}"),
            ("ffn_{}1", "ffn_{}2"),
        ),
        end="{side}_top_ln_{}",
        leaves={"kernel": "W", "bias": "b", "gamma": "scale", "beta": "bias"},
        first=1,
        others={
            "token_embedding/embeddings": (("Wemb", "encoder_Wemb"),),
            "target_token_embedding/embeddings": "decoder_Wemb",
            **{
                f"{side}_embeddings_layer_norm/{ours}": f"{side}_emb_ln_{theirs}"
                for side in SIDES
                for ours, theirs in (("gamma", "scale"), ("beta", "bias"))
            },
            "token_logits/kernel": "decoder_ff_logit_out_W",
            "token_logits/output_bias": "decoder_ff_logit_out_b",
        },
    ),
    "ctranslate2": Naming(
        block="{side}/layer_{i}/",
        modules=block_modules(
            "{name}/{projection}/{{}}",
            ("self_attention", "attention"),
            ("query", "key", "value", "output"),
            (
                "self_attention/layer_norm/{}",
                "attention/layer_norm/{}",
                "ffn/layer_norm/{}",
            ),
            ("ffn/linear_0/{}", "ffn/linear_1/{}"),
        ),
        end="{side}/layer_norm/{}",
        leaves={"kernel": "weight", "bias": "bias", "gamma": "gamma", "beta": "beta"},
        transposed=True,
        others={
            "token_embedding/embeddings": "encoder/embeddings/weight",
            "target_token_embedding/embeddings": "decoder/embeddings/weight",
            **{
                f"{side}_embeddings_layer_norm/{leaf}": (
                    f"{side}/layernorm_embedding/{leaf}"
                )
                for side in SIDES
                for leaf in ("gamma", "beta")
            },
            "token_logits/kernel": ("decoder/projection/weight", "transpose"),
            "token_logits/output_bias": "decoder/projection/bias",
        },
    ),
}
# What an array of CTranslate2 holds, one below the other.
FUSED = {
    "self_attention/linear_0": ("query", "key", "value"),
    "self_attention/linear_1": ("output",),
    "attention/linear_0": ("query",),
    "attention/linear_1": ("key", "value"),
    "attention/linear_2": ("output",),
}
