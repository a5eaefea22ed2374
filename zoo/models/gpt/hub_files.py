"""Reads the configurations of GPTs of Hugging Face and of keras-nlp."""

import numpy as np

from zoo import checkpoint
from zoo.checkpoint import check_supported, find_activation, find_model_type, read_json
from zoo.models.gpt.model import GPTConfig
from zoo.models.gpt.tables import LM_HEAD

# Our field to its name in Hugging Face's config.json.
FIELDS = {
    "vocabulary_size": "vocab_size",
    "hidden_dim": "n_embd",
    "num_layers": "n_layer",
    "num_heads": "n_head",
    "max_sequence_length": "n_positions",
    "dropout": "resid_pdrop",
    "embedding_dropout": "embd_pdrop",
    "attention_dropout": "attn_pdrop",
    "layer_norm_epsilon": "layer_norm_epsilon",
    "initializer_range": "initializer_range",
}
NAMES = {**FIELDS, "intermediate_dim": "n_inner"}
GPT1, GPT2 = "openai-gpt", "gpt2"
# The defaults of `OpenAIGPTConfig` and `GPT2Config`, for what a file may leave out.
DEFAULTS = {theirs: getattr(GPTConfig, ours) for ours, theirs in FIELDS.items()}
DEFAULTS["tie_word_embeddings"] = True
DEFAULTS = {
    GPT1: {**DEFAULTS, "vocab_size": 40478, "n_positions": 512, "afn": "gelu"},
    GPT2: {**DEFAULTS, "activation_function": "gelu_new"},
}
ACTIVATION_FIELDS = {GPT1: "afn", GPT2: "activation_function"}
PROGRAMS = {GPT1: "hugging_face_gpt1", GPT2: "hugging_face"}  # of activations
# Options, and the values that `GPT` computes. The first one is the default.
OPTIONS = {
    "scale_attn_weights": (True, None),
    "scale_attn_by_inverse_layer_idx": (False, None),
    "add_cross_attention": (False, None),
    "pruned_heads": ({}, None),
}
BACKBONES = ("GPT2Model", "OpenAIGPTModel")
# The first parts of the names of the arrays of other heads.
HEADS = ("score", "classifier", "qa_outputs", "multiple_choice_head")
KERAS_NLP_FIELDS = (
    "vocabulary_size",
    "hidden_dim",
    "num_layers",
    "num_heads",
    "intermediate_dim",
    "max_sequence_length",
    "dropout",
)
# What is a constant in keras-nlp.
KERAS_NLP = {"norm_first": True, "activation": "gelu_tanh", "layer_norm_epsilon": 1e-5}


def read_hugging_face(path):
    """The fields of `GPTConfig`, and the values of a config.json of Hugging Face."""
    values = read_json(path)
    kind = find_model_type(values)
    if kind not in (GPT1, GPT2):
        raise ValueError(
            f"`model_type` must be {GPT2!r} or {GPT1!r}. Received: {kind!r} in "
            f"`{path}`."
        )
    values = {**DEFAULTS[kind], **values}
    check_supported(values, OPTIONS, path, "GPT")
    name = ACTIVATION_FIELDS[kind]
    inner = values.get("n_inner") if kind == GPT2 else None
    if inner is None and isinstance(values["n_embd"], int):
        inner = 4 * values["n_embd"]
    fields = {
        **{ours: values[theirs] for ours, theirs in FIELDS.items()},
        "intermediate_dim": inner,
        "activation": find_activation(PROGRAMS[kind], values[name], name, f"`{path}`"),
        "norm_first": kind == GPT2,
    }
    return fields, values


def find_heads(values, arrays, path):
    """The heads of a model of Hugging Face, a tuple: "lm_head" or none."""
    heads = [name for name in arrays if name.split(".")[0] in HEADS]
    if heads:
        raise ValueError(
            f"A GPT of Hugging Face must be a backbone or a language model. Received: "
            f"{', '.join(heads)} of the head of {values.get('architectures')} beside "
            f"`{path}`. Save it without the head, with "
            "`model.transformer.save_pretrained`, and train a new one."
        )
    if not values["tie_word_embeddings"]:
        if LM_HEAD not in arrays:
            return ()
        ends = "wte.weight", "tokens_embed.weight"
        tables = [name for name in arrays if name.endswith(ends)]
        if tables and not np.array_equal(arrays[LM_HEAD], arrays[tables[0]]):
            raise ValueError(
                "`tie_word_embeddings` must be True; the head of `GPT` always is the "
                f"table of tokens. Received: False in `{path}`, and arrays {LM_HEAD!r} "
                f"and {tables[0]!r} that differ."
            )
    kinds = values.get("architectures")
    kind = kinds[0] if isinstance(kinds, list) and kinds else None
    return () if kind in BACKBONES else ("lm_head",)


def read_keras_nlp(path):
    """The fields of `GPTConfig` in a config.json of keras-nlp, dict."""
    fields = checkpoint.read_keras_nlp(path, "GPT2Backbone", KERAS_NLP_FIELDS)
    rates = dict.fromkeys(("embedding_dropout", "attention_dropout"), fields["dropout"])
    return {**fields, **KERAS_NLP, **rates}
