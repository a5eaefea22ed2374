"""Writes a Transformer as a directory that Hugging Face loads as a `MarianMTModel`."""

import base64
import json

from zoo.checkpoint import (
    GENERATION_FILE,
    HUGGING_FACE_WEIGHTS,
    Row,
    convert,
    name_activation,
    revert,
    write_directory,
    write_generation,
)
from zoo.models.transformer.marian_hugging_face import (
    FIELDS,
    FIXED_VALUES,
    SOURCE_TABLES,
    TARGET_TABLE,
    TOKENIZER_FILES,
)
from zoo.models.transformer.tables import NAMINGS, shapes

REQUIRED_VALUES = {
    **FIXED_VALUES,
    "first_position": 0,
    "zero_padding": False,
    "embeddings_layer_norm": False,
    "ends_in_norm": False,
}


def write(directory, contents):
    """Writes a directory that `transformers.MarianMTModel` and its tokenizer read."""
    config = contents.config
    if not config.num_decoder_layers:
        raise ValueError(
            "Hugging Face's Marian always has a decoder. Received: an encoder only. "
            'Write layout "zoo" instead.'
        )
    given = {name: getattr(config, name) for name in REQUIRED_VALUES}
    if given != REQUIRED_VALUES:
        wrong = {k: v for k, v in given.items() if v != REQUIRED_VALUES[k]}
        raise ValueError(
            f"Hugging Face's Marian always has {REQUIRED_VALUES}, where `ends_in_norm` "
            f"is set by `final_layer_norm`. Received: {wrong}. Write layout "
            '"zoo" instead.'
        )
    expected = shapes(config)
    rows = NAMINGS["hugging_face"].rows(config, expected)
    kept = [Row(path, path) for path in expected]
    arrays = revert(convert(contents.weights, kept, expected), rows)
    if config.target_vocabulary_size is not None:
        arrays[SOURCE_TABLES[1]] = arrays.pop(SOURCE_TABLES[0])
    elif not config.tied_output:  # transformers 5 does not tie both sides then
        arrays[SOURCE_TABLES[1]] = arrays[TARGET_TABLE] = arrays[SOURCE_TABLES[0]]
    files = tokenizer_files(contents.tokenizer, config)
    vocabulary = (contents.tokenizer or {}).get("vocabulary") or {}
    tokens = {
        "pad_token_id": config.pad_id,
        "decoder_start_token_id": config.pad_id,
        "bos_token_id": vocabulary.get("</s>", 0),
        "eos_token_id": vocabulary.get("</s>", 0),
    }
    documents = {
        "config.json": {**describe(config), **tokens},
        GENERATION_FILE: {**generation(contents.options, config), **tokens},
    }
    write_directory(directory, documents | files, {HUGGING_FACE_WEIGHTS[0]: arrays})


def describe(config):
    """The values of a config.json, dict, but for the special tokens."""
    values = {theirs: getattr(config, ours) for ours, theirs in FIELDS.items()}
    activation = name_activation("hugging_face", config.activation)
    return {
        **values,
        "model_type": "marian",
        "architectures": ["MarianMTModel"],
        # The converter of Hugging Face keeps Marian's name.
        "activation_function": "swish" if activation == "silu" else activation,
        "decoder_attention_heads": config.num_heads,
        "decoder_ffn_dim": config.intermediate_dim,
        "decoder_vocab_size": config.target_size,
        "share_encoder_decoder_embeddings": config.target_vocabulary_size is None,
        "tie_word_embeddings": config.tied_output,
        "is_encoder_decoder": True,
        "static_position_embeddings": True,
        "normalize_embedding": False,
        "dtype": "float32",
    }


def generation(options, config):
    """The values of a generation_config.json, dict, but for the special tokens."""
    search = dict(options.get("generation") or {})
    rule = search.pop("penalty", "hugging_face")
    search.pop("extra_tokens", None)  # there is no such limit
    longest = options.get("sequence_length") or config.max_sequence_length
    values, missing = write_generation(search, longest)
    if missing or (rule != "hugging_face" and search.get("num_beams", 1) > 1):
        raise ValueError(
            'The rule of Hugging Face is penalty="hugging_face", and it does not have '
            f"all options. Received: penalty={rule!r} and {missing}. Give such options "
            "to `translate` when you call it."
        )
    return values


def tokenizer_files(tokenizer, config):
    """The contents of a tokenizer's files by their names; empty without one."""
    if not tokenizer:
        return {}
    if "vocabulary" not in tokenizer:
        raise ValueError(
            "Hugging Face's Marian needs a `zoo.text.MarianTokenizer`. Received: a "
            f"tokenizer with {', '.join(tokenizer)}. Leave the tokenizer out, or write "
            'layout "zoo".'
        )
    sizes = [config.vocabulary_size, config.target_vocabulary_size]
    sides = [tokenizer["vocabulary"], tokenizer["target_vocabulary"]]
    if [side and len(side) for side in sides] != sizes:
        raise ValueError(
            "A vocabulary must have a piece for every row of its table. Received: "
            f"{[side and len(side) for side in sides]} pieces and {sizes} rows."
        )
    files = {}
    for argument, name in TOKENIZER_FILES.items():
        value = tokenizer[argument]
        if isinstance(value, str):
            files[name] = base64.b64decode(value)
        elif value is not None:
            files[name] = json.dumps(value, ensure_ascii=False, indent=2) + "\n"
    files["tokenizer_config.json"] = {
        "tokenizer_class": "MarianTokenizer",
        "model_max_length": config.max_sequence_length,
        "separate_vocabs": config.target_vocabulary_size is not None,
    }
    return files
