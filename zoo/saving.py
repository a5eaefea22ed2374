"""Models as preset directories."""

import dataclasses

import keras
import numpy as np

from zoo import presets


def preset_variables(model):
    """A model's variables without the states of a run, which no preset holds."""
    return [v for v in model.weights if "carried_state" not in v.path]


def save_preset(backbone, weights, task, directory, layout="zoo", dtype="float32"):
    """Writes a preset directory, whole or not at all.

    Pretraining heads that came with the preset and that no task has taken go along
    with a backbone and with a language model.

    Args:
        backbone: `Backbone`, with its tokenizer attached if it has one.
        weights: iterable of keras.Variable, the backbone's and a head's.
        task: dict of name and options, or None.
        directory: path; must not exist, or be empty.
        layout: "zoo", or another that the family writes, e.g. "hugging_face".
        dtype: "float32" or "float16", of the stored weights; "zoo" only.

    Raises:
        FileExistsError: if the directory holds something.
        ValueError: if the layout is unknown or cannot hold the model.
    """
    paths = backbone.variable_paths()
    arrays = {
        paths.get(id(v), v.path): np.asarray(
            keras.ops.convert_to_numpy(v.value), "float32"
        )
        for v in weights
    }
    if task is None or task["name"] in ("masked_lm", "language_model"):
        arrays = {**backbone.spare_heads, **arrays}
    tokenizer = backbone.tokenizer and backbone.tokenizer.get_config()
    if layout != "zoo":
        options = {**backbone.head_options, **(task["options"] if task else {})}
        head = {
            name: options.get(f"head_{name}") or getattr(backbone.config, name, None)
            for name in ("activation", "layer_norm_epsilon")
        }
        labels = options.get("labels")
        backbone.write_layout(
            directory, layout, backbone.config, arrays, tokenizer, labels, head
        )
        return
    record = {
        "family": backbone.family,
        "backbone": dataclasses.asdict(backbone.config),
        "parameters": int(sum(array.size for array in arrays.values())),
        "task": task,
        "head_options": backbone.head_options,
    }
    if backbone.parts:
        record["parts"] = {}
        for name, part in backbone.parts.items():
            record["parts"][name], arrays = _part_record(name, part, arrays)
    vocabulary = None
    if tokenizer:
        record["tokenizer"] = dict(tokenizer)
        vocabulary = tokenizer.get("vocabulary")
    if vocabulary is not None:
        record["tokenizer"]["vocabulary"] = presets.VOCABULARY
    presets.write_preset(directory, record, arrays, vocabulary, dtype)


def _part_record(name, part, arrays):
    """How a preset names a part, and the arrays that it stores besides.

    A part that is still as its preset has it is referred to and not stored again.
    """
    own = {k: v for k, v in arrays.items() if k.startswith(f"{name}/")}
    if part.origin:
        known = presets.read_preset(presets.find_preset(part.origin))
        same = all(
            np.array_equal(array, known[1].get(path.removeprefix(f"{name}/")))
            for path, array in own.items()
        )
        if same:
            record = {"preset": part.origin, "sha256": known[0]["weights"]["sha256"]}
            return record, {k: v for k, v in arrays.items() if k not in own}
    record = {"family": part.family, "backbone": dataclasses.asdict(part.config)}
    record["tokenizer"] = part.tokenizer and part.tokenizer.get_config()
    return record, arrays
