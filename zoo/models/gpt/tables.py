"""Rows between the names of published GPTs and our paths."""

from zoo.checkpoint import KERAS_LEAVES, TORCH_LEAVES, Row, expand, module_rows

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
    k: v.replace("h{i}", "h.{i}").replace("/", ".") for k, v in OPENAI.items()
}
TABLES = {"token_embedding": "tokens_embed", "position_embedding": "positions_embed"}
HUGGING_FACE_GPT1 = {**HUGGING_FACE, **TABLES}
BLOCK = "transformer_decoder{_i}"
ATTENTION = f"{BLOCK}/_self_attention_layer"
KERAS_NLP = {
    "token_embedding": "reversible_embedding",
    "position_embedding": "position_embedding",
    **{f"block_{{i}}/attention/{k}": f"{ATTENTION}/{k}_dense" for k in THIRDS},
    "block_{i}/attention/output_projection": f"{ATTENTION}/output_dense",
    "block_{i}/attention_layer_norm": f"{ATTENTION}_norm",
    "block_{i}/intermediate": f"{BLOCK}/_feedforward_intermediate_dense",
    "block_{i}/output_projection": f"{BLOCK}/_feedforward_output_dense",
    "block_{i}/output_layer_norm": f"{BLOCK}/_feedforward_layer_norm",
    "layer_norm": "layer_normalization",
}
# What follows the name of a module in OpenAI's files.
OPENAI_LEAVES = {
    **{"embeddings": "", "kernel": "/w", "gamma": "/g"},
    **dict.fromkeys(("bias", "beta"), "/b"),
}
LM_HEAD = "lm_head.weight"  # a copy of the table of tokens
# Names of arrays that are not weights: of optimizers, and masks of earlier versions.
IGNORED = {
    "openai_gpt": (),
    "openai_gpt2": ("global_step", "beta[12]_power", ".*/Adam(_1)?"),
    "hugging_face": (r"(transformer\.)?h\.\d+\.attn\.(masked_)?bias",),
    "keras_nlp": ("optimizer/.*",),
}


def table(layout, config):
    """The rows of a model in a layout, list of `zoo.checkpoint.Row`."""
    operations = {f"block_{{i}}/attention/{k}": third for k, third in THIRDS.items()}
    if layout == "hugging_face":
        modules = HUGGING_FACE if config.norm_first else HUGGING_FACE_GPT1
        # A model without a head has no prefix. Torch's own files repeat tied arrays.
        modules = _prefixed(modules, "transformer.", "")
        tokens, *rows = module_rows(modules, TORCH_LEAVES, operations=operations)
        rows = [Row(tokens.target, (*tokens.sources, LM_HEAD)), *rows]
    elif layout == "keras_nlp":
        # The root of Keras 2 has another name.
        modules = _prefixed(KERAS_NLP, "layers/", "_layer_checkpoint_dependencies/")
        rows = module_rows(modules, KERAS_LEAVES, heads=True)
    else:
        modules = _prefixed(OPENAI, "model/")
        rows = module_rows(modules, OPENAI_LEAVES, operations=operations)
    if not config.norm_first:  # then there is no norm after the last block
        rows = [row for row in rows if not row.target.startswith("layer_norm/")]
    return expand(rows, config.num_layers)


def _prefixed(modules, *prefixes):
    """The modules with all names that they have by what may stand before them."""
    return {
        k: tuple(prefix + name for prefix in prefixes) for k, name in modules.items()
    }
