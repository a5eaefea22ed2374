"""Rows between the names of published GPTs and our paths."""

from zoo.checkpoint import Row, expand
from zoo.models.gpt.shapes import weight_shapes

THIRDS = {"query": "first_third", "key": "second_third", "value": "last_third"}
# Our modules to those of OpenAI's code.
OPENAI = {
    "token_embedding": "wte",
    "position_embedding": "wpe",
    **{f"block_{{i}}/attention/{name}": "h{i}/attn/c_attn" for name in THIRDS},
    "block_{i}/attention/output_projection": "h{i}/attn/c_proj",
    "block_{i}/attention_layer_norm": "h{i}/ln_1",
    "block_{i}/intermediate": "h{i}/mlp/c_fc",
    "block_{i}/output_projection": "h{i}/mlp/c_proj",
    "block_{i}/output_layer_norm": "h{i}/ln_2",
    "layer_norm": "ln_f",
}
HUGGING_FACE = {
    module: name.replace("h{i}", "h.{i}").replace("/", ".")
    for module, name in OPENAI.items()
}
HUGGING_FACE_GPT1 = {
    **HUGGING_FACE,
    "token_embedding": "tokens_embed",
    "position_embedding": "positions_embed",
}
BLOCK = "transformer_decoder{_i}"
KERAS_NLP = {
    "token_embedding": "reversible_embedding",
    "position_embedding": "position_embedding",
    **{
        f"block_{{i}}/attention/{name}": f"{BLOCK}/_self_attention_layer/{name}_dense"
        for name in THIRDS
    },
    "block_{i}/attention/output_projection": (
        f"{BLOCK}/_self_attention_layer/output_dense"
    ),
    "block_{i}/attention_layer_norm": f"{BLOCK}/_self_attention_layer_norm",
    "block_{i}/intermediate": f"{BLOCK}/_feedforward_intermediate_dense",
    "block_{i}/output_projection": f"{BLOCK}/_feedforward_output_dense",
    "block_{i}/output_layer_norm": f"{BLOCK}/_feedforward_layer_norm",
    "layer_norm": "layer_normalization",
}
# What follows the name of a module, for embeddings, kernels, biases, gamma and beta.
LEAVES = ("embeddings", "kernel", "bias", "gamma", "beta")
OPENAI_ENDS = dict(zip(LEAVES, ("", "/w", "/b", "/g", "/b"), strict=True))
TORCH_ENDS = dict(
    zip(LEAVES, (".weight", ".weight", ".bias", ".weight", ".bias"), strict=True)
)
KERAS_ENDS = dict(
    zip(LEAVES, ("/vars/0", "/vars/0", "/vars/1", "/vars/0", "/vars/1"), strict=True)
)
LM_HEAD = "lm_head.weight"  # a copy of the table of tokens
# Names of arrays that are not weights: of optimizers, and masks of earlier versions.
IGNORED = {
    "openai_gpt": (),
    "openai_gpt2": ("global_step", "beta[12]_power", ".*/Adam(_1)?"),
    "hugging_face": (r"(transformer\.)?h\.\d+\.attn\.(masked_)?bias",),
    "keras_nlp": ("optimizer/.*",),
}


def table(layout, config):
    """Returns the rows of a model in a layout, list of `zoo.checkpoint.Row`.

    No kernel is transposed. The arrays of GPT-1's archive have no names; they get those
    of GPT-2, see `openai_files`.

    Args:
        layout: str, a key of `IGNORED`.
        config: `GPTConfig`.
    """
    if layout == "hugging_face":
        modules = HUGGING_FACE if config.norm_first else HUGGING_FACE_GPT1
        # A model without a head has no prefix. Torch's own files repeat tied arrays.
        tokens, *others = _rows(modules, ("transformer.", ""), TORCH_ENDS)
        rows = [Row(tokens.target, (*tokens.sources, LM_HEAD)), *others]
    elif layout == "keras_nlp":
        # The root of Keras 2 has another name.
        roots = ("layers/", "_layer_checkpoint_dependencies/")
        rows = _rows(KERAS_NLP, roots, KERAS_ENDS, split_heads=True)
    else:
        rows = _rows(OPENAI, ("model/",), OPENAI_ENDS)
    expected = dict(weight_shapes(config))
    return [r for r in expand(rows, config.num_layers) if r.target in expected]


def _rows(modules, prefixes, ends, split_heads=False):
    """Makes the rows of a layout, with placeholders for the number of a block.

    Args:
        modules: dict of our module to the layout's name.
        prefixes: tuple of str, what the names begin with.
        ends: dict of our array ("embeddings", "gamma", ...) to the end of the name.
        split_heads: bool, whether query, key and value have arrays of their own, and
            the kernels of attention are stored as (D, H, K) and (H, K, D).
    """
    rows = []
    for module, name in modules.items():
        leaves = ("kernel", "bias")
        if module.endswith("embedding"):
            leaves = ("embeddings",)
        elif module.endswith("layer_norm"):
            leaves = ("gamma", "beta")
        for leaf in leaves:
            sources = tuple(f"{prefix}{name}{ends[leaf]}" for prefix in prefixes)
            operation = _operation(module, leaf, split_heads)
            rows.append(Row(f"{module}/{leaf}", sources, operation))
    return rows


def _operation(module, leaf, split_heads):
    """The operation of one row."""
    part = module.removeprefix("block_{i}/attention/")
    if not split_heads:
        return THIRDS.get(part, "copy")
    if part == "output_projection" and leaf == "kernel":
        return "merge_first"
    return "merge_last" if part in THIRDS else "copy"
