"""The names of a Transformer's arrays in each published layout."""

import dataclasses

from zoo.checkpoint import TORCH_LEAVES, Row, expand, module_rows
from zoo.models.transformer.model import Transformer

SIDES = ("encoder", "decoder")
ATTENTIONS = ("attention", "cross_attention")
PROJECTIONS = ("query", "key", "value", "output_projection")
KERAS = {leaf: f"/{leaf}" for leaf in ("kernel", "bias", "gamma", "beta")}


@dataclasses.dataclass(frozen=True)
class Naming:
    """How a layout names the arrays of a Transformer.

    Args:
        block: str, what the names of a block begin with. `{side}` is "encoder" or
            "decoder", and `{i}` or, from 1 on, `{n}` is the number of the block.
        modules: dict of our module in a block to the rest of the name.
        outer: dict of our module outside the blocks, without the side, to its name.
        leaves: dict of the arrays of a module, see `zoo.checkpoint.module_rows`.
        transposed, heads: bool, see there.
        single_rows: dict of our path to the name of another array, or to a tuple of the
            name, or of several, and an operation of `zoo.checkpoint.Row`.
    """

    block: str
    modules: dict
    outer: dict
    leaves: dict
    transposed: bool = False
    heads: bool = False
    single_rows: dict = dataclasses.field(default_factory=dict)

    def rows(self, config, expected):
        """The rows of a model for the paths in `expected`, list of `Row`."""
        rows = []
        for path, source in self.single_rows.items():
            source = source if isinstance(source, tuple) else (source,)
            rows.append(Row(path, *source))
        for side in SIDES:
            modules = {
                **{f"block_{{i}}/{k}": self.block + v for k, v in self.modules.items()},
                **self.outer,
            }
            modules = {
                f"{side}_{module}": name.replace("{side}", side)
                for module, name in modules.items()
            }
            found = module_rows(modules, self.leaves, self.transposed, self.heads)
            rows += expand(found, getattr(config, f"num_{side}_layers"), first=1)
        return [row for row in rows if row.target in expected]


def block_modules(attention, attentions, projections, norms, dense):
    """The modules of a block by our names.

    `attention` is a str with `{name}` and `{projection}`: `attentions` are those of the
    self-attention and the cross-attention, `projections` query, key, value and output.
    `norms` are those of both attentions and of the feed-forward network, and `dense` is
    the two layers of the latter.
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
    "{name}.{projection}",
    ("self_attn", "encoder_attn"),
    ("q_proj", "k_proj", "v_proj", "out_proj"),
    ("self_attn_layer_norm", "encoder_attn_layer_norm", "final_layer_norm"),
    ("fc1", "fc2"),
)
NAMINGS = {
    "hugging_face": Naming(
        block="model.{side}.layers.{i}.",
        modules=FAIRSEQ_MODULES,
        outer={"layer_norm": "model.{side}.layer_norm"},
        leaves=TORCH_LEAVES,
        transposed=True,
        single_rows={
            "token_embedding/embeddings": "model.shared.weight",
            "target_token_embedding/embeddings": "model.decoder.embed_tokens.weight",
            "token_logits/kernel": ("lm_head.weight", "transpose"),
            "token_logits/output_bias": ("final_logits_bias", "first"),
        },
    ),
    "fairseq": Naming(
        block="{side}.layers.{i}.",
        modules=FAIRSEQ_MODULES,
        outer={
            "layer_norm": "{side}.layer_norm",
            "embeddings_layer_norm": "{side}.layernorm_embedding",
            "position_embedding": "{side}.embed_positions",
        },
        leaves=TORCH_LEAVES,
        transposed=True,
        single_rows={
            "token_embedding/embeddings": "encoder.embed_tokens.weight",
            "target_token_embedding/embeddings": "decoder.embed_tokens.weight",
            "token_logits/kernel": ("decoder.output_projection.weight", "transpose"),
        },
    ),
    "tensor2tensor": Naming(
        block="transformer/body/{side}/layer_{i}/",
        modules=block_modules(
            "{name}/multihead_attention/{projection}",
            ("self_attention", "encdec_attention"),
            ("q", "k", "v", "output_transform"),
            tuple(
                f"{name}/layer_prepostprocess/layer_norm/layer_norm_{{}}"
                for name in ("self_attention", "encdec_attention", "ffn")
            ),
            ("ffn/conv1", "ffn/conv2"),
        ),
        outer={
            "layer_norm": (
                "transformer/body/{side}/layer_prepostprocess/layer_norm/layer_norm_{}"
            )
        },
        leaves={"kernel": "/kernel", "bias": "/bias", "gamma": "scale", "beta": "bias"},
        single_rows={
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
            "{name}/_{projection}_dense",
            ("self_attention", "encdec_attention"),
            ("query", "key", "value", "output"),
            (
                "self_attention_layer_norm",
                "encdec_attention_layer_norm",
                "output_layer_norm",
            ),
            ("intermediate_dense", "output_dense"),
        ),
        outer={"layer_norm": "{side}_layer/output_normalization"},
        leaves=KERAS,
        heads=True,
        single_rows={"token_embedding/embeddings": "embedding_lookup/embeddings"},
    ),
    "opennmt_tf": Naming(
        block="{side}/layers/{i}/",
        modules=block_modules(
            "{name}/layer/linear_{projection}",
            ("self_attention", "attention/0"),
            ("queries", "keys", "values", "output"),
            tuple(
                f"{name}/input_layer_norm"
                for name in ("self_attention", "attention/0", "ffn")
            ),
            ("ffn/layer/inner", "ffn/layer/outer"),
        ),
        outer={"layer_norm": "{side}/layer_norm"},
        leaves=KERAS,
        single_rows={
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
        block="{side}_l{n}_",
        modules=block_modules(
            "{name}_{{}}{projection}",
            ("self", "context"),
            ("q", "k", "v", "o"),
            ("self_Wo_ln_{}", "context_Wo_ln_{}", "ffn_ffn_ln_{}"),
            ("ffn_{}1", "ffn_{}2"),
        ),
        outer={
            "layer_norm": "{side}_top_ln_{}",
            "embeddings_layer_norm": "{side}_emb_ln_{}",
        },
        leaves={"kernel": "W", "bias": "b", "gamma": "scale", "beta": "bias"},
        single_rows={
            "token_embedding/embeddings": (("Wemb", "encoder_Wemb"),),
            "target_token_embedding/embeddings": "decoder_Wemb",
            "token_logits/kernel": "decoder_ff_logit_out_W",
            "token_logits/output_bias": "decoder_ff_logit_out_b",
        },
    ),
    "ctranslate2": Naming(
        block="{side}/layer_{i}/",
        modules=block_modules(
            "{name}/{projection}",
            ("self_attention", "attention"),
            ("query", "key", "value", "output"),
            (
                "self_attention/layer_norm",
                "attention/layer_norm",
                "ffn/layer_norm",
            ),
            ("ffn/linear_0", "ffn/linear_1"),
        ),
        outer={
            "layer_norm": "{side}/layer_norm",
            "embeddings_layer_norm": "{side}/layernorm_embedding",
        },
        leaves={**KERAS, "kernel": "/weight"},
        transposed=True,
        single_rows={
            "token_embedding/embeddings": "encoder/embeddings/weight",
            "target_token_embedding/embeddings": "decoder/embeddings/weight",
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


def shapes(config):
    """Dict of path to shape of the weights of a Transformer and of its logits."""
    found = Transformer.weight_shapes(config)
    if not config.tied_output:
        found["token_logits/kernel"] = (config.hidden_dim, config.target_size)
    if config.output_bias:
        found["token_logits/output_bias"] = (config.target_size,)
    return found
