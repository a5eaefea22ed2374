"""Reads Transformers of OpenNMT-tf."""

from zoo.backbone.config import make_config
from zoo.checkpoint import find_activation, find_variables, open_checkpoint, read_json
from zoo.models.transformer.model import TransformerConfig
from zoo.models.transformer.published_files import (
    ARGUMENTS,
    GNMT,
    count_blocks,
    object_arrays,
    read_token_lists,
)

TABLES = tuple(
    f"examples_inputter/{n}_inputter/embedding" for n in ("features", "labels")
)
BLOCK = "{side}/layers/{i}/"
QUERY = "self_attention/layer/linear_queries/"
# Our field to the argument of `opennmt.models.Transformer`, whose default is 0.1.
DROPOUTS = {
    "dropout": "dropout",
    "attention_dropout": "attention_dropout",
    "activation_dropout": "ffn_dropout",
}
GENERATION = {**GNMT, "length_penalty": 0.0, "max_new_tokens": 250}


def recognise(directory):
    """Whether a directory holds such a model, bool."""
    return any(QUERY in name for name in find_variables(directory))


def read(directory):
    """Config, arrays, and tokenizer and options of a directory of OpenNMT-tf.

    `transformer_config.json` must have the arguments of `opennmt.models.Transformer`
    that the shapes do not say: num_heads, ffn_activation, dropout, attention_dropout
    and ffn_dropout. See `read_token_lists` about the vocabularies.
    """
    path = directory / ARGUMENTS
    values = read_json(path)
    arrays = object_arrays(open_checkpoint(directory))
    inner = arrays.get(BLOCK.format(side="encoder", i=0) + "ffn/layer/inner/kernel")
    if TABLES[0] not in arrays or inner is None or inner.ndim != 2:
        raise ValueError(
            f"`{directory}` must hold a table of embeddings and encoder blocks. "
            f"Received: the arrays {sorted(arrays)[:5]} and others."
        )
    size, width = arrays[TABLES[0]].shape
    target = arrays.get(TABLES[1])
    bias = arrays.get("decoder/output_layer/bias")
    fields = {ours: values.get(theirs, 0.1) for ours, theirs in DROPOUTS.items()}
    activation = values.get("ffn_activation", "relu")
    fields |= {
        "vocabulary_size": size,
        "target_vocabulary_size": None if target is None else len(target),
        "hidden_dim": width,
        "num_heads": values.get("num_heads"),
        "intermediate_dim": inner.shape[1],
        "activation": find_activation(
            "keras", activation, "ffn_activation", f"`{path}`"
        ),
        "norm_first": "encoder/layer_norm/gamma" in arrays,
        "attention_bias": f"{BLOCK.format(side='encoder', i=0)}{QUERY}bias" in arrays,
        "positions": "tensor2tensor",
        "first_position": 1,
        "tied_output": "decoder/output_layer/kernel" not in arrays,
        "output_bias": bias is not None,
        "layer_norm_epsilon": 1e-3,  # of the legacy Keras
    }
    for side in ("encoder", "decoder"):
        form = BLOCK.replace("{side}", side)
        fields[f"num_{side}_layers"] = count_blocks(arrays, form)
    config = make_config(TransformerConfig, fields, f"`{path}`", DROPOUTS)
    # A norm has another name if it stands after its sub-layer.
    arrays = {
        name.replace("/output_layer_norm/", "/input_layer_norm/"): array
        for name, array in arrays.items()
    }
    options = {"smoothing_kind": "uniform", "generation": dict(GENERATION)}
    tokenizer = read_token_lists(directory, (size, config.target_size))
    return config, arrays, {"tokenizer": tokenizer, "options": options}
