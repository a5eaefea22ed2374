"""What all readers of Hugging Face share: names of files and types of models."""

import re

# The files of weights, in the order in which they are looked for.
HUGGING_FACE_WEIGHTS = (
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
)
# What its classes begin with, where a config.json lacks `model_type`, as older ones do.
PREFIXES = {
    "Bert": "bert",
    "GPT2": "gpt2",
    "Marian": "marian",
    "OpenAIGPT": "openai-gpt",
}


def find_hugging_face(directory):
    """The names of Hugging Face's files of weights in a directory, list of str."""
    return [name for name in HUGGING_FACE_WEIGHTS if (directory / name).is_file()]


def find_model_type(values):
    """The kind of model that a config.json describes.

    Args:
        values: dict of the file.

    Returns:
        str, such as "bert"; None if it is unknown.
    """
    if values.get("model_type") is not None:
        return values["model_type"]
    kinds = values.get("architectures")
    name = kinds[0] if isinstance(kinds, list) and kinds else None
    found = re.match(rf"({'|'.join(PREFIXES)})[A-Z]", str(name))
    return PREFIXES[found[1]] if found else None
