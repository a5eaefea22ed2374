"""Reads Transformers of the TensorFlow model garden, `Seq2SeqTransformer`."""

import re

from zoo.backbone.config import make_config
from zoo.checkpoint import find_activation, find_variables, open_checkpoint, read_json
from zoo.models.transformer.model import TransformerConfig
from zoo.models.transformer.published_files import (
    ARGUMENTS,
    GNMT,
    check_option,
    count_blocks,
    find_subwords,
    object_arrays,
)

TABLE = "embedding_lookup/embeddings"
# What the blocks of the encoder call their parts, and those of the decoder.
BLOCK_PARTS = {
    "_attention_layer": "self_attention",
    "_attention_layer_norm": "self_attention_layer_norm",
    "_intermediate_dense": "intermediate_dense",
    "_output_dense": "output_dense",
    "_output_layer_norm": "output_layer_norm",
}
# Our field to the argument of `TransformerEncoder`, whose default is 0.
DROPOUTS = {
    "dropout": "dropout_rate",
    "attention_dropout": "attention_dropout_rate",
    "activation_dropout": "intermediate_dropout",
}


def recognise(directory):
    """Whether a directory holds such a model, bool."""
    names = find_variables(directory)
    return any("encoder_layer/encoder_layers/0/_attention_layer/" in n for n in names)


def read(directory):
    """Config, arrays, and tokenizer and options of a checkpoint of the model garden.

    `transformer_config.json` must have the arguments of `TransformerEncoder`, and of
    `TransformerDecoder`, that the shapes do not say: norm_first, activation,
    norm_epsilon, dropout_rate, attention_dropout_rate and intermediate_dropout.
    """
    path = directory / ARGUMENTS
    values = read_json(path)
    arrays = {
        _name(name): array
        for name, array in object_arrays(open_checkpoint(directory)).items()
    }
    query, inner = (
        getattr(arrays.get(f"{_block('encoder', 0)}{name}/kernel"), "shape", ())
        for name in ("self_attention/_query_dense", "intermediate_dense")
    )
    if TABLE not in arrays or (len(query), len(inner)) != (3, 2):
        raise ValueError(
            f"`{directory}` must hold a table of embeddings and encoder blocks. "
            f"Received: the arrays {sorted(arrays)[:5]} and others."
        )
    check_option(values, "norm_epsilon", (1e-6,), path)
    size, width = arrays[TABLE].shape
    fields = {ours: values.get(theirs, 0.0) for ours, theirs in DROPOUTS.items()}
    fields |= {
        "vocabulary_size": size,
        "hidden_dim": width,
        "num_encoder_layers": count_blocks(arrays, _block("encoder", "{i}")),
        "num_decoder_layers": count_blocks(arrays, _block("decoder", "{i}")),
        "num_heads": query[1],
        "intermediate_dim": inner[1],
        "activation": find_activation(
            "keras", values.get("activation", "relu"), "activation", f"`{path}`"
        ),
        "norm_first": values.get("norm_first"),
        "final_layer_norm": True,  # also with `norm_first=False`
        "attention_bias": _block("encoder", 0) + "self_attention/_query_dense/bias"
        in arrays,
        "positions": "tensor2tensor",
    }
    config = make_config(TransformerConfig, fields, f"`{path}`", DROPOUTS)
    options = {"smoothing_kind": "uniform", "generation": dict(GNMT)}
    extras = {"tokenizer": find_subwords(directory, [size]), "options": options}
    return config, arrays, extras


def _block(side, number):
    """What the names of a block begin with."""
    return f"{side}_layer/{side}_layers/{number}/"


def _name(name):
    """The name of an array, with the decoder's names of the parts of a block."""
    match = re.fullmatch(r"(encoder_layer/encoder_layers/\d+/)(\w+)(/.*)", name)
    if match is None:
        return name
    begin, part, end = match.groups()
    return begin + BLOCK_PARTS.get(part, part) + end
