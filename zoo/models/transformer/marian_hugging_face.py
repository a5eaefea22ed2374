"""Reads Marian's translators of Hugging Face, such as OPUS-MT."""

import numpy as np

from zoo.backbone.config import make_config
from zoo.checkpoint import (
    GENERATION_FILE,
    check_supported,
    check_values,
    find_activation,
    is_hugging_face,
    open_hugging_face,
    read_generation,
    read_json,
    warn_user,
    warn_without_tokenizer,
)
from zoo.models.transformer.model import TransformerConfig

# Our field to its name in config.json.
FIELDS = {
    "vocabulary_size": "vocab_size",
    "hidden_dim": "d_model",
    "num_encoder_layers": "encoder_layers",
    "num_decoder_layers": "decoder_layers",
    "num_heads": "encoder_attention_heads",
    "intermediate_dim": "encoder_ffn_dim",
    "max_sequence_length": "max_position_embeddings",
    "activation": "activation_function",
    "scale_embeddings": "scale_embedding",
    "dropout": "dropout",
    "attention_dropout": "attention_dropout",
    "activation_dropout": "activation_dropout",
    "pad_id": "pad_token_id",
}
# The defaults of `MarianConfig`, for what newer files may leave out.
DEFAULTS = {
    "scale_embedding": False,
    "dropout": 0.1,
    "attention_dropout": 0.0,
    "activation_dropout": 0.0,
    "share_encoder_decoder_embeddings": True,
    "tie_word_embeddings": True,
}
# What every `MarianMTModel` computes.
FIXED_VALUES = {
    "norm_first": False,
    "attention_bias": True,
    "positions": "marian_hugging_face",
    "output_bias": True,
    "layer_norm_epsilon": 1e-5,
}
# Options of earlier versions, and the values that are known here.
NORMS = "normalize_before", "normalize_embedding", "add_final_layer_norm"
OPTIONS = {
    **dict.fromkeys(NORMS, (False, None)),
    **dict.fromkeys(("static_position_embeddings", "is_encoder_decoder"), (True, None)),
}
SEARCH_OPTIONS = {"num_beams", "max_length", "bad_words_ids"}  # in older config.json
SEARCH_RULE = {"penalty": "hugging_face", "suppressed": []}  # of a search
SOURCE_TABLES = ("model.shared.weight", "model.encoder.embed_tokens.weight")
TARGET_TABLE, LOGITS_TABLE = "model.decoder.embed_tokens.weight", "lm_head.weight"
TOKENIZER_FILES = {
    "source_model": "source.spm",
    "target_model": "target.spm",
    "vocabulary": "vocab.json",
    "target_vocabulary": "target_vocab.json",
}


def recognise(directory):
    """Whether a directory holds such a model, bool."""
    return is_hugging_face(directory, "marian")


def read(directory):
    """Config, arrays and tokenizer of a directory with a `MarianMTModel`."""
    path = directory / "config.json"
    values = {**DEFAULTS, **read_json(path)}
    config = read_config(values, path)
    arrays = dict(open_hugging_face(directory))
    _drop_copies(arrays, config, path)
    _drop_positions(arrays, config, path)
    bias = np.zeros((1, config.target_size), "float32")
    arrays.setdefault("final_logits_bias", bias)
    if not (directory / GENERATION_FILE).is_file() and SEARCH_OPTIONS.isdisjoint(
        values
    ):
        warn_user(
            f"{directory} must hold {GENERATION_FILE}, which says how texts are "
            "searched. Received: no such file, and no such options in config.json. The "
            "search is greedy unless you pass `num_beams`."
        )
    end = values.get("eos_token_id", 0)
    tokenizer = read_tokenizer(directory, config, end)
    generation = read_generation(
        directory, end, config.max_sequence_length, {"forced_eos_token_id": 0}
    )
    options = {"generation": {**SEARCH_RULE, **generation}}
    return config, arrays, {"tokenizer": tokenizer, "options": options}


def read_config(values, path):
    """The `TransformerConfig` of the values of a config.json."""
    check_supported(values, OPTIONS, path, "Transformer")
    for name in ("attention_heads", "ffn_dim"):
        sides = [values.get(f"{side}_{name}") for side in ("encoder", "decoder")]
        if sides[0] != sides[1]:
            raise ValueError(
                f"`encoder_{name}` and `decoder_{name}` must be equal. Received: "
                f"{sides} in `{path}`."
            )
    start, pad = (values.get(f"{n}_token_id") for n in ("decoder_start", "pad"))
    if start is None:  # newer files have it among the options of `generate`
        other = read_json(path.parent / GENERATION_FILE, optional=True)
        start = other.get("decoder_start_token_id")
    if start != pad:
        raise ValueError(
            "`decoder_start_token_id` must be `pad_token_id`. Received: "
            f"{start!r} and {pad!r} in `{path}`."
        )
    check_values(values, FIELDS.values(), path)
    fields = {ours: values[name] for ours, name in FIELDS.items()}
    fields["activation"] = find_activation(
        "hugging_face", fields["activation"], FIELDS["activation"], f"`{path}`"
    )
    fields["tied_output"] = values["tie_word_embeddings"]
    names = dict(FIELDS)
    if not values["share_encoder_decoder_embeddings"]:
        names["target_vocabulary_size"] = "decoder_vocab_size"
        size = values.get("decoder_vocab_size") or values["vocab_size"]
        fields["target_vocabulary_size"] = size
    return make_config(
        TransformerConfig, {**fields, **FIXED_VALUES}, f"`{path}`", names
    )


def _drop_copies(arrays, config, path):
    """Removes the copies of tied tables, which must be equal."""
    target = [TARGET_TABLE, LOGITS_TABLE] if config.tied_output else [TARGET_TABLE]
    groups = [[*SOURCE_TABLES], target]
    if config.target_vocabulary_size is None:
        groups = [[*SOURCE_TABLES, *target]]
    for names in groups:
        found = [name for name in names if name in arrays]
        for name in found[1:]:
            if not np.array_equal(arrays.pop(name), arrays[found[0]]):
                raise ValueError(
                    f"{name!r} and {found[0]!r} must be equal, since `{path}` ties "
                    "them by `share_encoder_decoder_embeddings` or by "
                    "`tie_word_embeddings`. Received: arrays that differ."
                )
        if found:
            arrays[names[0]] = arrays.pop(found[0])


def _drop_positions(arrays, config, path):
    """Removes tables of positions, which must be the sinusoids of Hugging Face."""
    width = config.hidden_dim
    rates = 10000.0 ** (-2 * np.arange((width + 1) // 2) / width)
    for side in ("encoder", "decoder"):
        table = arrays.pop(f"model.{side}.embed_positions.weight", None)
        if table is None:
            continue
        angles = np.arange(len(table))[:, None] * rates
        expected = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)[:, :width]
        # Uploads in half precision are rounded.
        if table.shape != expected.shape or np.abs(table - expected).max() > 1e-3:
            raise ValueError(
                f"The positions of the {side} must be sinusoids. Received: a table of "
                f"shape {table.shape} with other values beside `{path}`."
            )


def read_tokenizer(directory, config, end):
    """The arguments of `zoo.text.MarianTokenizer`, a dict; None without any file."""
    names = {**TOKENIZER_FILES}
    sizes = {"vocabulary": config.vocabulary_size}
    if config.target_vocabulary_size is None:
        names.pop("target_vocabulary")
    else:
        sizes["target_vocabulary"] = config.target_vocabulary_size
    there = [name for name in names.values() if (directory / name).is_file()]
    if not there:
        warn_without_tokenizer(directory, ", ".join(names.values()))
        return None
    if len(there) < len(names):
        raise FileNotFoundError(
            f"`{directory}` must have the files {', '.join(names.values())}, or none "
            f"of them. Received: only {', '.join(there)}."
        )
    found = {}
    for argument, name in names.items():
        path = directory / name
        if argument not in sizes:
            found[argument] = path.read_bytes()
            continue
        found[argument] = vocabulary = read_json(path)
        if len(vocabulary) != sizes[argument]:
            raise ValueError(
                "A vocabulary must have a piece for every row of its table. Received: "
                f"{len(vocabulary)} pieces in `{path}`, and {sizes[argument]} rows by "
                "`vocab_size` or `decoder_vocab_size`."
            )
        ids = [vocabulary.get(mark) for mark in ("<pad>", "</s>")]
        if ids != [config.pad_id, end]:
            raise ValueError(
                "The ids of <pad> and </s> must be `pad_token_id` and `eos_token_id`. "
                f"Received: {ids} in `{path}`, and {[config.pad_id, end]}."
            )
    return found
