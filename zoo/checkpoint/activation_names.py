"""The names of activations in the files of other programs."""

from zoo.checks.ranges import check_choice

SHARED = {"relu": "relu", "silu": "silu", "swish": "silu"}
# Program to a dict of its name, or code, of an activation to ours; see
# `zoo.layers.get_activation`. The first name is the one that is written.
ACTIVATIONS = {
    "hugging_face": {
        **dict.fromkeys(("gelu", "gelu_python"), "gelu"),
        **dict.fromkeys(("gelu_new", "gelu_accurate", "gelu_fast"), "gelu_tanh"),
        "gelu_pytorch_tanh": "gelu_tanh",
        **SHARED,
        "tanh": "tanh",
    },
    # The "gelu" of `OpenAIGPTModel` is the approximation with tanh.
    "hugging_face_gpt1": {"gelu": "gelu_tanh", **SHARED},
    # As in Google's code of today and in the model garden.
    "google": {"gelu": "gelu_tanh", "relu": "relu", "tanh": "tanh"},
    "fairseq": {
        "relu": "relu",
        "gelu": "gelu",
        **dict.fromkeys(("gelu_accurate", "gelu_fast"), "gelu_tanh"),
        "tanh": "tanh",
    },
    "keras": {"gelu": "gelu", **SHARED, "tanh": "tanh"},
    "marian": {"relu": "relu", "swish": "silu"},
    # From `ops/activation.h`.
    "ctranslate2": {0: "relu", 1: "gelu_tanh", 2: "silu", 3: "gelu", 5: "tanh"},
}


def find_activation(program, value, name, where):
    """Our name of the activation that a file of a program calls `value`, str or int.

    ValueError, with the option's name and the file, if we have no such activation.
    """
    known = ACTIVATIONS[program]
    return known[check_choice(name, value, known, f"It is in {where}.")]


def name_activation(program, activation):
    """The name of our activation in the files of a program, str; None without one."""
    names = [name for name, ours in ACTIVATIONS[program].items() if ours == activation]
    return names[0] if names else None
