"""Reads Transformers of tensor2tensor."""

import re

import numpy as np

from zoo.backbone.config import make_config, naming
from zoo.checkpoint import find_variables, open_checkpoint, read_json
from zoo.models.transformer.model import TransformerConfig
from zoo.models.transformer.published_files import GNMT, check_option, find_subwords

BODY = "transformer/body/"
# The step, and what training keeps: the slots of optimizers and averages of losses.
IGNORED = r"global_step|(training|losses_avg|train_stats)/.*"
TABLES = (
    r"transformer/symbol_modality_(\d+)_\d+/"
    r"(shared|input_emb|target_emb|softmax)/weights_(\d+)"
)
TARGET_SPACES = f"{BODY}target_space_embedding/kernel"
# The options that change what is computed, and the values that `Transformer` supports.
# The first value is the default.
SWITCHES = (
    "proximity_bias",
    "unidirectional_encoder",
    "attention_variables_3d",
    "symbol_modality_skip_top",
)
SUPPORTED = {
    "norm_type": ("layer",),
    "self_attention_type": ("dot_product",),
    "ffn_layer": ("dense_relu_dense", "conv_hidden_relu"),  # two names of one layer
    "causal_decoder_self_attention": (True,),
    "prepend_mode": ("none",),
    **dict.fromkeys(SWITCHES, (False,)),
    **dict.fromkeys(("hard_attention_k", "num_area_layers"), (0,)),
    **dict.fromkeys(("bottom", "top"), ({},)),
}
# What stands before and after each sub-layer, and whether that is `norm_first`.
SEQUENCES = {("none", "dan"): False, ("", "dan"): False, ("n", "da"): True}
POSITIONS = {"timing": "tensor2tensor", "emb": "learned"}
SCALES = {"sqrt_depth": True, "none": False, "": False}
# Our field to the option, and to the default of `transformer_base_v1`.
FIELDS = {
    "hidden_dim": ("hidden_size", None),
    "num_heads": ("num_heads", None),
    "intermediate_dim": ("filter_size", None),
    "dropout": ("layer_prepostprocess_dropout", 0.1),
    "attention_dropout": ("attention_dropout", 0.0),
    "activation_dropout": ("relu_dropout", 0.0),
    "layer_norm_epsilon": ("norm_epsilon", 1e-6),
}


def recognise(directory):
    """Whether a directory holds such a model, bool."""
    return any(name.startswith(BODY) for name in find_variables(directory))


def read(directory):
    """Config, arrays, and tokenizer and options of a directory of tensor2tensor."""
    path = directory / "hparams.json"
    values = read_json(path)
    checkpoint = open_checkpoint(directory)
    names = [name for name in checkpoint if not re.fullmatch(IGNORED, name)]
    tables = _read_tables(checkpoint, names, directory)
    # A norm has another name if it stands after its sub-layer.
    arrays = {
        n.replace("/layer_postprocess/", "/layer_prepostprocess/"): checkpoint[n]
        for n in names
        if not re.fullmatch(TABLES, n)
    }
    if TARGET_SPACES in arrays:
        row = _target_space(values, checkpoint, path)
        arrays["target_space"] = arrays.pop(TARGET_SPACES)[row][None]
    sizes = [len(tables[n]) for n in ("shared", "input_emb") if n in tables][:1]
    sizes += [len(tables[n]) for n in ("target_emb",) if n in tables]
    arrays |= tables
    with naming(f"`{path}`", path):
        config = _config(values, sizes, arrays, path)
        divisor = values.get("vocab_divisor", 1)
        tokenizer = find_subwords(directory, sizes, divisor)
    options = {
        "label_smoothing": values.get("label_smoothing", 0.1),
        "smoothing_kind": "paper",
        "generation": dict(GNMT),
    }
    return config, arrays, {"tokenizer": tokenizer, "options": options}


def _config(values, sizes, arrays, path):
    """The config of a model; `sizes` are the rows of the tables of both sides."""
    for name, known in SUPPORTED.items():
        check_option(values, name, known, path)
    fields = {
        ours: values.get(theirs, default)
        for ours, (theirs, default) in FIELDS.items()
        if theirs in values or default is not None
    }
    for name in ("attention_key_channels", "attention_value_channels"):
        check_option(values, name, (0, fields.get("hidden_dim", 0)), path)
    sequences = tuple(
        values.get(f"layer_{name}process_sequence", default)
        for name, default in (("pre", "none"), ("post", "dan"))
    )
    if sequences not in SEQUENCES:
        raise ValueError(
            "`layer_preprocess_sequence` and `layer_postprocess_sequence` must be "
            f"'none' and 'dan', or 'n' and 'da'. Received: {sequences} in `{path}`."
        )
    layers = values.get("num_hidden_layers")
    learned = arrays.get(f"{BODY}inputs_positional_embedding")
    longest = max(values.get("max_length", 0), TransformerConfig.max_sequence_length)
    fields |= {
        "vocabulary_size": sizes[0],
        "target_vocabulary_size": sizes[1] if sizes[1:] else None,
        "num_encoder_layers": values.get("num_encoder_layers") or layers,
        "num_decoder_layers": values.get("num_decoder_layers") or layers,
        "max_sequence_length": longest if learned is None else len(learned),
        "norm_first": SEQUENCES[sequences],
        "positions": POSITIONS[check_option(values, "pos", POSITIONS, path)],
        "scale_embeddings": SCALES[
            check_option(values, "multiply_embedding_mode", SCALES, path)
        ],
        "zero_padding": True,
        "target_space": "target_space" in arrays,
        "tied_output": "softmax" not in arrays,
    }
    names = {ours: theirs for ours, (theirs, _) in FIELDS.items()}
    missing = [n for n, v in fields.items() if v is None and n.startswith("num_")]
    missing += [n for n in names if n not in fields]
    if missing:
        missing = [names.get(name, "num_hidden_layers") for name in missing]
        raise ValueError(f"`{path}` must have the values {', '.join({*missing})}.")
    return make_config(TransformerConfig, fields, f"`{path}`", names)


def _read_tables(checkpoint, names, directory):
    """The tables (V, D) by their kinds, each put together from its shards, dict."""
    shards = {}
    for name in names:
        match = re.fullmatch(TABLES, name)
        if match:
            size, kind, number = match.groups()
            shards.setdefault((kind, int(size)), {})[int(number)] = checkpoint[name]
    kinds = [kind for kind, _ in shards]
    if len({*kinds}) < len(kinds) or not {"shared", "input_emb"} & {*kinds}:
        raise ValueError(
            f"`{directory}` must hold one table of the source. Received: the tables "
            f"{sorted(shards)}. A checkpoint with two tables that are called shared "
            "does not say which of them belongs to the source."
        )
    tables = {}
    for (kind, size), parts in shards.items():
        found = [parts[number] for number in sorted(parts)]
        shapes = [part.shape for part in found]
        rows = sum(shape[0] for shape in shapes if len(shape) == 2)
        gaps = sorted(parts) != [*range(len(parts))]
        if gaps or rows != size or len({shape[1:] for shape in shapes}) > 1:
            raise ValueError(
                f"The shards of the table {kind!r} must have {size} rows of one width. "
                f"Received: shards {sorted(parts)} of the shapes {shapes} in "
                f"`{directory}`. Download the checkpoint again."
            )
        tables[kind] = np.concatenate(found)
    return tables


def _target_space(values, checkpoint, path):
    """The number of the target space: which of 32 vectors is added to the source."""
    # Without `target_space_id`, it is the vector that the optimizer of the checkpoint
    # has moved, else 0, the default of tensor2tensor.
    count, moved = len(checkpoint[TARGET_SPACES]), set()
    for name in checkpoint:
        slot = name.startswith(f"training/{TARGET_SPACES}/")
        if slot and len(checkpoint[name]) == count:
            moved |= {*np.flatnonzero(np.any(checkpoint[name], axis=1)).tolist()}
    if "target_space_id" not in values and len(moved) > 1:
        raise ValueError(
            f"`{path}` must have `target_space_id`, because the checkpoint was trained "
            f"on several target spaces. Received: {sorted(moved)}."
        )
    space = values.get("target_space_id", min(moved, default=0))
    if not isinstance(space, int) or not 0 <= space < count:
        raise ValueError(
            f"`target_space_id` must be in [0, {count}). Received: {space!r} in "
            f"`{path}`."
        )
    return space
