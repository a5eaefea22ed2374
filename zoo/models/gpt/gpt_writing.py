"""Writes a GPT as a directory that transformers or keras-nlp loads."""

from zoo.checkpoint import (
    ACTIVATIONS,
    GENERATION_FILE,
    HUGGING_FACE_WEIGHTS,
    KERAS_NLP_WEIGHTS,
    keras_object,
    name_activation,
    revert,
    write_directory,
    write_generation,
)
from zoo.checks.user_warnings import warn_user
from zoo.models.gpt.bpe_files import END_OF_TEXT, tokenizer_files
from zoo.models.gpt.hub_files import (
    ACTIVATION_FIELDS,
    FIELDS,
    GPT1,
    GPT2,
    KERAS_NLP,
    KERAS_NLP_FIELDS,
    PROGRAMS,
)
from zoo.models.gpt.tables import table

CLASSES = {
    GPT1: ("OpenAIGPTLMHeadModel", "OpenAIGPTTokenizer"),
    GPT2: ("GPT2LMHeadModel", "GPT2Tokenizer"),
}


def write_hugging_face(directory, contents):
    """Writes a directory that `transformers` loads as a language model.

    The tokenizer of Hugging Face always reads `<|endoftext|>` as the special token, and
    its GPT-1 splits words by other rules than OpenAI's.
    """
    config, tokenizer = contents.config, contents.tokenizer
    _check_heads(contents)
    kind = GPT2 if config.norm_first else GPT1
    values = _describe(config, kind)
    files = tokenizer_files("hugging_face", tokenizer, config)
    end = None
    if tokenizer and kind == GPT2:
        end = list(tokenizer["vocabulary"]).index(END_OF_TEXT)
    values["bos_token_id"] = values["eos_token_id"] = end
    files["config.json"] = values
    generation, lost = write_generation(contents.options.get("generation") or {})
    if lost:
        warn_user(
            f"{GENERATION_FILE} has no place for the options {', '.join(lost)}. They "
            "are left out; give them to `generate`."
        )
    if generation:
        files[GENERATION_FILE] = {**generation, "eos_token_id": end}
    if tokenizer:
        options = {
            "tokenizer_class": CLASSES[kind][1],
            "model_max_length": config.max_sequence_length,
        }
        if kind == GPT2:
            options |= dict.fromkeys(
                ("unk_token", "bos_token", "eos_token"), END_OF_TEXT
            )
            options["add_bos_token"] = tokenizer["start_token"]
        files["tokenizer_config.json"] = options
    arrays = revert(contents.weights, table("hugging_face", config))
    write_directory(directory, files, {HUGGING_FACE_WEIGHTS[0]: arrays})


def _describe(config, kind):
    """The values of a config.json, dict, but for the special tokens."""
    activation = name_activation(PROGRAMS[kind], config.activation)
    wide = kind == GPT2 or config.intermediate_dim == 4 * config.hidden_dim
    if activation is None or not wide:
        known = sorted({*ACTIVATIONS[PROGRAMS[kind]].values()})
        raise ValueError(
            f"A {kind} of Hugging Face has an activation of {known}, and an "
            "OpenAI GPT with norms after the sub-layers has `intermediate_dim` = 4 "
            f"`hidden_dim`. Received: activation={config.activation!r}, "
            f"intermediate_dim={config.intermediate_dim}, hidden_dim="
            f'{config.hidden_dim}. Write layout "zoo" instead.'
        )
    values = {theirs: getattr(config, ours) for ours, theirs in FIELDS.items()}
    values |= {
        "model_type": kind,
        "architectures": [CLASSES[kind][0]],
        ACTIVATION_FIELDS[kind]: activation,
        "tie_word_embeddings": True,
        "dtype": "float32",
    }
    if kind == GPT2:
        values["n_inner"] = config.intermediate_dim
    return values


def write_keras_nlp(directory, contents):
    """Writes a preset directory that `keras_nlp.models.GPT2CausalLM` loads.

    keras-nlp has no place for `initializer_range`, which changes no output. Its
    tokenizer splits rare characters by other rules, and always reads `<|endoftext|>` as
    the special token.
    """
    config, tokenizer = contents.config, contents.tokenizer
    _check_heads(contents)
    if not config.norm_first:
        raise ValueError(
            "keras-nlp has no GPT-1, in which a norm follows each sub-layer. Received: "
            'norm_first=False. Write layout "hugging_face" instead.'
        )
    rates = ("embedding_dropout", "attention_dropout")
    fixed = {**KERAS_NLP, **dict.fromkeys(rates, config.dropout)}
    received = {name: getattr(config, name) for name in fixed}
    if received != fixed:
        raise ValueError(
            f"keras-nlp's GPT-2 always has {fixed}. Received: {received}. Write layout "
            '"hugging_face" instead.'
        )
    fields = {n: getattr(config, n) for n in KERAS_NLP_FIELDS}
    backbone = keras_object("GPT2Backbone", "gpt2.gpt2_backbone", **fields)
    files = tokenizer_files("keras_nlp", tokenizer, config)
    task = {"backbone": backbone, "preprocessor": None}
    if tokenizer:
        options = keras_object(
            "GPT2Tokenizer", "gpt2.gpt2_tokenizer", config_file="tokenizer.json"
        )
        task["preprocessor"] = keras_object(
            "GPT2CausalLMPreprocessor",
            "gpt2.gpt2_causal_lm_preprocessor",
            tokenizer=options,
            config_file="preprocessor.json",
            sequence_length=config.max_sequence_length,
            add_start_token=tokenizer["start_token"],
        )
        files["tokenizer.json"] = options
        files["preprocessor.json"] = task["preprocessor"]
    files["config.json"] = backbone
    files["task.json"] = keras_object("GPT2CausalLM", "gpt2.gpt2_causal_lm", **task)
    rows = table("keras_nlp", config)
    arrays = revert(contents.weights, rows, config.num_heads)
    write_directory(directory, files, {KERAS_NLP_WEIGHTS: arrays})


def _check_heads(contents):
    """Raises ValueError if there are heads with weights."""
    if contents.heads:
        raise ValueError(
            "The layout holds a language model, whose head has no weights of its own. "
            f"Received: a model with {', '.join(contents.heads)}. Pass `heads=()` to "
            "leave them out."
        )
