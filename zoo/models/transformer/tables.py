"""The names of a Transformer's arrays in each published layout."""

import dataclasses

from zoo.checkpoint import TORCH_LEAVES, Row, expand, module_rows
from zoo.models.transformer.model import Transformer

SIDES = ("encoder", "decoder")
ATTENTIONS = ("attention", "cross_attention")
PROJECTIONS = ("query", "key", "value", "output_projection")
FEED_FORWARD = ("output_layer_norm", "intermediate", "output_projection")
KERAS = {leaf: f"/{leaf}" for leaf in ("kernel", "bias", "gamma", "beta")}


@dataclasses.dataclass(frozen=True)
class Naming:
    """How a layout names the arrays of a Transformer."""

    # What names of a block begin with. `{side}` is "encoder" or "decoder", and `{i}`
    # or, from 1 on, `{n}` is the number of the block.
    block: str
    modules: dict  # our module in a block to the rest of the name
    outer: dict  # our module outside the blocks, without the side, to its name
    leaves: dict  # these three: see `zoo.checkpoint.module_rows`
    transposed: bool = False
    heads: bool = False
    # Our path to another array: its name, or a tuple of arguments of `Row`.
    single_rows: dict = dataclasses.field(default_factory=dict)

    def rows(self, config, expected):
        """The rows of a model for the paths in `expected`, list of `Row`."""
        rows = []
        for path, source in self.single_rows.items():
            source = source if isinstance(source, tuple) else (source,)
            rows.append(Row(path, *source))
        blocks = {f"block_{{i}}/{k}": self.block + v for k, v in self.modules.items()}
        for side in SIDES:
            modules = {
                f"{side}_{module}": name.replace("{side}", side)
                for module, name in {**blocks, **self.outer}.items()
            }
            found = module_rows(modules, self.leaves, self.transposed, self.heads)
            rows += expand(found, getattr(config, f"num_{side}_layers"), first=1)
        return [row for row in rows if row.target in expected]


def block_modules(attention, norm, attentions, projections, feed_forward):
    """The modules of a block by our names, from those of its parts in a layout."""
    found = {}
    for ours, name in zip(ATTENTIONS, attentions, strict=True):
        for projection, other in zip(PROJECTIONS, projections, strict=True):
            theirs = attention.format(name=name, projection=other)
            found[f"{ours}/{projection}"] = theirs
        found[f"{ours}_layer_norm"] = norm.format(name=name)
    return found | dict(zip(FEED_FORWARD, feed_forward, strict=True))


T2T_BODY, T2T_NORM = "transformer/body/", "layer_prepostprocess/layer_norm/layer_norm_"
# fairseq and Hugging Face.
FAIRSEQ_MODULES = block_modules(
    "{name}.{projection}",
    "{name}_layer_norm",
    ("self_attn", "encoder_attn"),
    ("q_proj", "k_proj", "v_proj", "out_proj"),
    ("final_layer_norm", "fc1", "fc2"),
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
        block=f"{T2T_BODY}{{side}}/layer_{{i}}/",
        modules=block_modules(
            "{name}/multihead_attention/{projection}",
            f"{{name}}/{T2T_NORM}{{{{}}}}",
            ("self_attention", "encdec_attention"),
            ("q", "k", "v", "output_transform"),
            (f"ffn/{T2T_NORM}{{}}", "ffn/conv1", "ffn/conv2"),
        ),
        outer={"layer_norm": f"{T2T_BODY}{{side}}/{T2T_NORM}{{}}"},
        leaves={"kernel": "/kernel", "bias": "/bias", "gamma": "scale", "beta": "bias"},
        single_rows={
            "token_embedding/embeddings": (("shared", "input_emb"),),
            "target_token_embedding/embeddings": "target_emb",
            "target_space_embedding/embeddings": "target_space",
            **{
                f"{ours}_position_embedding/embeddings": (
                    f"{T2T_BODY}{theirs}_positional_embedding"
                )
                for ours, theirs in zip(SIDES, ("inputs", "targets"), strict=True)
            },
            "token_logits/kernel": ("softmax", "transpose"),
        },
    ),
    "model_garden": Naming(
        block="{side}_layer/{side}_layers/{i}/",
        modules=block_modules(
            "{name}/_{projection}_dense",
            "{name}_layer_norm",
            ("self_attention", "encdec_attention"),
            ("query", "key", "value", "output"),
            ("output_layer_norm", "intermediate_dense", "output_dense"),
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
            "{name}/input_layer_norm",
            ("self_attention", "attention/0"),
            ("queries", "keys", "values", "output"),
            ("ffn/input_layer_norm", "ffn/layer/inner", "ffn/layer/outer"),
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
            "{name}_Wo_ln_{{}}",
            ("self", "context"),
            ("q", "k", "v", "o"),
            ("ffn_ffn_ln_{}", "ffn_{}1", "ffn_{}2"),
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
            "{name}/layer_norm",
            ("self_attention", "attention"),
            ("query", "key", "value", "output"),
            ("ffn/layer_norm", "ffn/linear_0", "ffn/linear_1"),
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
