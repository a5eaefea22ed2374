"""Files of Hugging Face and keras-nlp: their names, and the types of models."""

import re

from zoo.checkpoint.formats import open_checkpoint
from zoo.checkpoint.json_files import check_values, read_json

# The files of weights, in the order in which they are looked for.
HUGGING_FACE_WEIGHTS = (
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
)
KERAS_NLP_WEIGHTS = "model.weights.h5"
# What Hugging Face's classes begin with. Older config.json lack `model_type`.
PREFIXES = {
    "Bert": "bert",
    "GPT2": "gpt2",
    "Marian": "marian",
    "OpenAIGPT": "openai-gpt",
}


def find_hugging_face(directory):
    """The names of Hugging Face's files of weights in a directory, list of str."""
    return [name for name in HUGGING_FACE_WEIGHTS if (directory / name).is_file()]


def is_hugging_face(directory, *kinds):
    """Whether a directory holds a model of Hugging Face of one of the types, bool."""
    kind = find_model_type(read_json(directory / "config.json", optional=True))
    return kind in kinds and bool(find_hugging_face(directory))


def is_keras_nlp(directory, name):
    """Whether a directory holds a backbone of keras-nlp with this class name, bool."""
    found = read_json(directory / "config.json", optional=True).get("class_name")
    return found == name and (directory / KERAS_NLP_WEIGHTS).is_file()


def read_keras_nlp(path, name, fields):
    """The arguments `fields` of a backbone of keras-nlp in its config.json, dict.

    FileNotFoundError if there is none; ValueError if it is damaged, of another class
    than `name`, or lacks an argument.
    """
    values = read_json(path)
    if values.get("class_name") != name:
        raise ValueError(
            f"`class_name` must be {name!r}. Received: {values.get('class_name')!r} in "
            f"`{path}`."
        )
    config = values.get("config")
    config = config if isinstance(config, dict) else {}
    check_values(config, fields, path)
    return {field: config[field] for field in fields}


def open_hugging_face(directory, file=None):
    """Opens the weights of Hugging Face: those of a name, or the first ones found."""
    if file is None:
        file = (find_hugging_face(directory) or HUGGING_FACE_WEIGHTS)[0]
    return open_checkpoint(directory / file)


def find_model_type(values):
    """The kind of model that a config.json describes, such as "bert", or None."""
    if values.get("model_type") is not None:
        return values["model_type"]
    kinds = values.get("architectures")
    name = kinds[0] if isinstance(kinds, list) and kinds else None
    found = re.match(rf"({'|'.join(PREFIXES)})[A-Z]", str(name))
    return PREFIXES[found[1]] if found else None
