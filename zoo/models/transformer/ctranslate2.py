"""Reads Transformers of CTranslate2."""

import re

import numpy as np

from zoo.checkpoint import find_activation, read_ctranslate2, read_json, warn_user
from zoo.models.transformer.model import TransformerConfig
from zoo.models.transformer.published_files import count_blocks, read_token_lists
from zoo.models.transformer.tables import FUSED

CTRANSLATE2_OPTIONS = {
    "activation",
    "alignment_heads",
    "alignment_layer",
    "embeddings_merge",
    "num_heads",
    "pre_norm",
    "scale_embeddings",
}
# Options that `Transformer` does not have. In files of its models they are 0.
UNSUPPORTED = {
    "alibi",
    "alibi_use_positive_positions",
    "multi_query_attention",
    "scale_alibi",
    "scale_outputs",
    "start_from_zero_embedding",
}
# The number of heads of models whose files do not say it, by the name of the model.
HEADS = {"": 8, "TransformerBase": 8, "TransformerBig": 16}
FIRST_WITH_CONFIG = 6  # the version of a model.bin that has a config.json beside it
# Newer files number the tables of the source, of which there may be several.
TABLE, NUMBERED_TABLE = "encoder/embeddings/", r"encoder/embeddings_\d+/"
TABLES = (
    "encoder/embeddings/weight",
    "decoder/embeddings/weight",
    "decoder/projection/weight",
)
NORM_ARRAY = "encoder/layernorm_embedding/gamma"
# A text has at least one token before the end.
GENERATION = {
    "penalty": "ctranslate2",
    "num_beams": 2,
    "min_new_tokens": 2,
    "max_new_tokens": 256,
}


def recognise(directory):
    """Whether a directory holds such a model, bool."""
    return (directory / "model.bin").is_file()


def read(directory):
    """Config, arrays and tokenizer of a CTranslate2 directory."""
    # What no file says is as in OpenNMT-tf: sinusoids from position 1, and an epsilon
    # of 1e-5, that of CTranslate2. Newer directories also say which tokens are special.
    path = directory / "config.json"
    values = read_json(path, optional=True)
    name, version, arrays = read_ctranslate2(directory / "model.bin")
    if version >= FIRST_WITH_CONFIG and not path.is_file():
        warn_user(
            f"{directory} must hold config.json, which says what stands around a "
            "source. Received: no such file. Nothing is added, and the epsilon is 1e-5."
        )
    values["num_heads"] = HEADS.get(name)
    named = {re.sub(NUMBERED_TABLE, TABLE, name): a for name, a in arrays.items()}
    if len(named) < len(arrays):
        raise ValueError(
            "The source must have one table of embeddings. Received: "
            f"{sorted(n for n in arrays if re.match(NUMBERED_TABLE, n))} in "
            f"`{directory}`."
        )
    arrays = split_fused(named)
    known = CTRANSLATE2_OPTIONS | UNSUPPORTED
    options = {k: arrays.pop(k) for k in [*arrays] if _leaf(k) in known}
    wrong = [k for k, v in options.items() if _leaf(k) in UNSUPPORTED and np.any(v)]
    if wrong:
        raise ValueError(
            f"The options {', '.join(sorted(UNSUPPORTED))} must be 0. Received: "
            f"another value of {', '.join(wrong)} in `{directory}`."
        )
    if not {*TABLES} <= {*arrays}:
        raise ValueError(
            f"`{directory}` must hold an encoder and a decoder. Received: the arrays "
            f"{sorted(arrays)[:5]} and others."
        )
    shared = np.array_equal(arrays[TABLES[0]], arrays[TABLES[1]])
    if shared:
        arrays.pop(TABLES[1])
    sizes = [len(arrays[name]) for name in (TABLES[0], TABLES[2])]
    extras = {"options": {"generation": dict(GENERATION)}}
    tokenizer = read_token_lists(directory, sizes, values)
    if tokenizer:
        values["pad_id"] = tokenizer["tokens"].index(tokenizer["pad"])
        extras["tokenizer"] = tokenizer
    config = _config(arrays, options, shared, values, f"`{directory}`")
    return config, arrays, extras


def _config(arrays, options, shared, values, where):
    """The config of a CTranslate2 model, from the shapes of its arrays."""

    def option(name, default):
        found = {int(np.squeeze(v)) for k, v in options.items() if _leaf(k) == name}
        if len(found) > 1:
            raise ValueError(
                f"Both sides must have the same `{name}`. Received: {sorted(found)}."
            )
        return found.pop() if found else default

    size, width = arrays[TABLES[0]].shape
    num_heads = option("num_heads", values["num_heads"])
    if num_heads is None:  # newer files say it
        raise ValueError(f"{where} must hold `num_heads`. Received: none.")
    return TransformerConfig(
        vocabulary_size=size,
        target_vocabulary_size=None if shared else len(arrays[TABLES[2]]),
        hidden_dim=width,
        num_encoder_layers=count_blocks(arrays, "encoder/layer_{i}/"),
        num_decoder_layers=count_blocks(arrays, "decoder/layer_{i}/"),
        num_heads=num_heads,
        intermediate_dim=len(arrays["encoder/layer_0/ffn/linear_0/weight"]),
        activation=find_activation(
            "ctranslate2", option("activation", 0), "activation", where
        ),
        norm_first=bool(option("pre_norm", 1)),
        attention_bias="encoder/layer_0/self_attention/query/bias" in arrays,
        positions="tensor2tensor",
        first_position=1,
        scale_embeddings=bool(option("scale_embeddings", 1)),
        embeddings_layer_norm=NORM_ARRAY in arrays,
        tied_output=False,
        output_bias="decoder/projection/bias" in arrays,
        layer_norm_epsilon=values.get("layer_norm_epsilon") or 1e-5,
        pad_id=values.get("pad_id", 0),
    )


def _leaf(name):
    """The last part of a name."""
    return name.rsplit("/", 1)[-1]


def split_fused(arrays):
    """Divides arrays that hold several of ours, one below the other, see `FUSED`."""
    found = {}
    for name, array in arrays.items():
        match = re.fullmatch(r"(.*/)((?:self_)?attention/linear_\d)/(\w+)", name)
        parts = FUSED.get(match[2]) if match else None
        if parts is None or len(array) % len(parts):
            found[name] = array
            continue
        begin = match[1] + match[2].split("/")[0]
        for part, piece in zip(parts, np.split(array, len(parts)), strict=True):
            found[f"{begin}/{part}/{match[3]}"] = piece
    return found
