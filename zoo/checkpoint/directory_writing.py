"""Writes directories of models that other libraries load."""

import json

from zoo.checkpoint.formats import save_checkpoint
from zoo.files.whole_files import filling


def write_directory(directory, documents, arrays):
    """Writes all files of a directory, new or empty, or none of them.

    `documents` has bytes or str by file name, what a `.json` file holds, or a sequence
    of lines; `arrays` has dicts of str to array. FileExistsError if it is not empty.
    """
    with filling(directory) as partial:
        for name, content in documents.items():
            path = partial / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if not isinstance(content, (str, bytes)):
                if path.suffix == ".json":
                    content = json.dumps(content, indent=2) + "\n"
                else:
                    content = "".join(f"{line}\n" for line in content)
            if isinstance(content, str):
                content = content.encode("utf-8")
            path.write_bytes(content)
        for name, tensors in arrays.items():
            save_checkpoint(partial / name, tensors)


def keras_object(name, module, **config):
    """A class of keras-nlp and its arguments, as Keras serializes them, dict."""
    return {
        "module": f"keras_hub.src.models.{module}",
        "class_name": name,
        "config": config,
        "registered_name": f"keras_hub>{name}",
    }
