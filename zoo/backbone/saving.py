"""Models as preset directories and as `.keras` files."""

import dataclasses
import pathlib
import reprlib
import shutil
from typing import Literal

import keras
import numpy as np

from zoo.backbone.config import naming
from zoo.checkpoint import Converted, open_checkpoint, save_checkpoint
from zoo.checks.ranges import check_choice, check_values
from zoo.checks.user_warnings import warn_user
from zoo.family import FAMILIES
from zoo.files import buckets
from zoo.files.whole_files import check_file_name, removed_at_end, replacing
from zoo.layers import is_lora, merged_weights, quantization_words, quantized_layers
from zoo.presets import (
    check_weights,
    is_address,
    publishing,
    read_preset,
    repository_name,
    shipped_directory,
    write_card,
    write_preset,
)

SPARE_HEADS = "spare_heads.safetensors"
# What Keras writes into a directory with `zipped=False`.
KERAS_DIRECTORY = {"assets", "config.json", "metadata.json", "model.weights.h5"}


def preset_variables(model):
    """A model's variables that a preset stores: not the states of a run, nor LoRA's."""
    return [
        v for v in model.weights if "carried_state" not in v.path and not is_lora(v)
    ]


def save_preset(backbone, task, directory, layout="zoo", dtype="float32", heads=None):
    """Writes a preset to a directory or a hub, whole or not at all.

    A backbone, and a task that pretrains, also write the pretraining heads that came
    with the preset and that no task uses.

    Args:
        backbone: `zoo.backbone.Backbone`, with its tokenizer if it has one.
        task: `zoo.tasks.Task` on the backbone, or None.
        directory: path; must not exist, or be empty. Or `hf://owner/name`, a repository
            of Hugging Face, which gets the files and a model card in one commit. If
            there is none, a new one is made, with the visibility that is the default
            of the owner; `huggingface_hub.create_repo` makes a private one before.
        layout: "zoo", or another layout that the family writes, e.g. "hugging_face".
        dtype: "float32" or, for layout "zoo", "float16", of weights that are not int8.
        heads: tuple of str, the heads that another layout than "zoo" gets. By default
            the task's own heads, and those others that the layout can hold.

    Raises:
        FileExistsError: if the directory is not empty, or the repository has files
            that the preset lacks.
        PermissionError: if nobody is logged in to Hugging Face, or may not write there.
        OSError: if the disk is full, or the hub cannot be reached.
        ValueError: if the address is malformed, the layout or a head is unknown, the
            layout cannot hold the model or `dtype`, a weight is not finite in `dtype`,
            or a layer is quantized, but not to int8.
    """
    check_values(str, layout=layout)
    check_values(Literal["float32", "float16"], dtype=dtype)
    check_values(list[str] | tuple[str, ...] | None, heads=heads)
    if is_address(directory):
        with publishing(directory) as place:
            _write(backbone, task, place, layout, dtype, heads)
            facts = card_facts(backbone, task, layout)
            write_card(place, repository_name(directory), facts)
    else:
        _write(backbone, task, directory, layout, dtype, heads)


def _write(backbone, task, directory, layout, dtype, heads):
    """Writes a preset directory; see `save_preset`."""
    spare = backbone.spare_heads if task is None or task.pretrains else {}
    arrays = {**spare, **model_arrays(backbone, task)}
    record = task and task.preset_record()
    if layout != "zoo":
        if dtype != "float32":
            raise ValueError(
                f'`dtype` must be "float32" for the layout {layout!r}. Received: '
                f'{dtype!r}. Only layout "zoo" stores weights in 16 bits.'
            )
        _write_foreign(backbone, task, arrays, directory, layout, heads)
        return
    if heads is not None:
        raise ValueError(
            f'Layout "zoo" writes every head. Received: heads={tuple(heads)}. Leave '
            "`heads` out, or choose another layout."
        )
    record = {
        "family": backbone.family,
        "backbone": dataclasses.asdict(backbone.config),
        "parameters": int(sum(array.size for array in arrays.values())),
        "task": record,
        "head_options": backbone.head_options,
        "defaults": dict(backbone.defaults),
        "quantized": quantization_words(quantized_layers(task or backbone)),
    }
    if backbone.parts:
        record["parts"] = {}
        for name, part in backbone.parts.items():
            record["parts"][name], arrays = _part_record(name, part, arrays)
    files = None
    if backbone.tokenizer:
        arguments, files = backbone.tokenizer.to_files()
        kind = type(backbone.tokenizer).__name__
        record["tokenizer"] = {"class_name": kind, "arguments": arguments}
    write_preset(directory, record, arrays, files, dtype)


def model_arrays(backbone, task=None):
    """Dict of path to float32 or int8 array: what a preset of a model stores."""
    paths, values = backbone.variable_paths(), merged_weights(task or backbone)
    arrays = {
        paths.get(id(v), v.path): np.asarray(values[id(v)])
        for v in preset_variables(task or backbone)
    }
    return {
        path: array if array.dtype == "int8" else array.astype("float32")
        for path, array in arrays.items()
    }


def card_facts(backbone, task, layout):
    """What the card of a published model says, see `model_card`, a dict."""
    return {
        "family": backbone.family,
        "parameters": sum(
            array.size for array in model_arrays(backbone, task).values()
        ),
        "task": task and task.task_name,
        "tag": task and task.files.pipeline_tag,
        "labels": task and task.options.get("labels"),
        "base": backbone.origin,
        "layout": layout,
    }


def top(path):
    """The first part of a variable's path: the name of the layer."""
    return path.split("/")[0]


def _write_foreign(backbone, task, arrays, directory, layout, heads):
    """Writes a directory that another program reads."""
    layouts = {known.name: known for known in FAMILIES[backbone.family].layouts}
    writers = [name for name, known in layouts.items() if known.write]
    way = f"These are the layouts of family {backbone.family!r}."
    check_choice("layout", layout, ["zoo", *writers], way)
    if any(array.dtype == "int8" for array in arrays.values()):
        raise ValueError(
            f'Only layout "zoo" can hold int8 weights. Received: {layout!r}, and a '
            "quantized model. Save the model with this layout before `quantize`."
        )
    saved = task.preset_record()["options"] if task else {}
    contents = Converted(
        layout,
        backbone.config,
        arrays,
        tokenizer=backbone.tokenizer and backbone.tokenizer.get_config(),
        options={**backbone.head_options, **saved},
        classifies=task and task.classifies,
    )
    body = {top(path) for path in model_arrays(backbone)}
    found = tuple(dict.fromkeys(top(path) for path in arrays if top(path) not in body))
    chosen = _choose_heads(layouts[layout], contents, found, backbone, heads)
    kept = {path: a for path, a in arrays.items() if top(path) in {*body, *chosen}}
    check_weights(kept, "float32")
    contents = dataclasses.replace(contents, weights=kept, heads=chosen)
    layouts[layout].write(directory, contents)


def _choose_heads(layout, contents, found, backbone, heads):
    """The heads that are written, a tuple of those that were found."""
    if heads is not None:
        unknown = [head for head in heads if head not in found]
        if unknown or isinstance(heads, str):
            raise ValueError(
                f"`heads` must be a tuple of names out of {found}, the heads of this "
                f"model. Received: {heads!r}."
            )
        return tuple(head for head in found if head in heads)
    spare = {top(path) for path in backbone.spare_heads}
    if layout.holds is None or not spare & {*found}:
        return found
    held = layout.holds(dataclasses.replace(contents, heads=found))
    left = tuple(head for head in found if head in spare and head not in held)
    if left:
        warn_user(
            f"Layout {layout.name!r} cannot hold {', '.join(left)} of this model: it "
            'is left out. Layout "zoo" keeps all heads; `heads=` chooses among them.'
        )
    return tuple(head for head in found if head not in left)


def _part_record(name, part, arrays):
    """How a preset names a part, and the arrays that it stores besides."""
    # A part that has not changed since it was loaded from a shipped preset is not
    # stored again: the record refers to that preset.
    part_arrays = {k: v for k, v in arrays.items() if k.startswith(f"{name}/")}
    if part.origin:
        known = read_preset(shipped_directory(part.origin))
        same = type(part.config)(**known[0]["backbone"]) == part.config and all(
            np.array_equal(array, known[1].get(path.removeprefix(f"{name}/")))
            for path, array in part_arrays.items()
        )
        if same:
            record = {"preset": part.origin, "sha256": known[0]["weights"]["sha256"]}
            return record, {k: v for k, v in arrays.items() if k not in part_arrays}
    record = {"family": part.family, "backbone": dataclasses.asdict(part.config)}
    if part.tokenizer:
        kind = type(part.tokenizer).__name__
        record["tokenizer"] = {"class_name": kind, **part.tokenizer.get_config()}
    return record, arrays


def save_whole(save, filepath, overwrite=True, zipped=None, **kwargs):
    """Writes a `.keras` file, which `zoo.load_model` reads, whole or not at all.

    Args:
        save: the method `keras.Model.save` of the model.
        filepath: str or path that ends in `.keras`; with `zipped=False` a directory; or
            an address such as `hf://owner/name`, where Keras writes as for any model.
        overwrite: bool, whether a file that exists is replaced.
        zipped: bool, False for a directory instead of one file.
        **kwargs: of `keras.Model.save`.

    Raises:
        FileExistsError: if the file exists and `overwrite` is False, or if a directory
            holds something other than a saved model.
        ValueError: if the name has another ending.
    """
    check_values(bool, overwrite=overwrite)
    check_values(bool | None, zipped=zipped)
    zipped = zipped is None or zipped
    path = buckets.local_path(filepath).absolute()
    check_file_name(path, zipped)
    if path.exists() and not overwrite:
        raise FileExistsError(
            f"{path} exists. Received: overwrite=False. Choose another name, or pass "
            "overwrite=True."
        )
    if not zipped and path.exists():
        names = {p.name for p in path.iterdir()} if path.is_dir() else {path.name}
        if names - KERAS_DIRECTORY:
            raise FileExistsError(
                f"{path} holds something other than a saved model. Received: "
                f"{sorted(names)[:5]}. Choose another directory."
            )
    with replacing(path) as temporary:
        save(temporary, zipped=zipped, **kwargs)
        if zipped or not path.is_dir():
            return
        for old in [p for p in path.iterdir() if p.name != temporary.name]:
            if old.is_dir():
                shutil.rmtree(old)
            else:
                old.unlink()


def save_weights(save, filepath, *args, **kwargs):
    """Writes a weight file with `save_weights` of Keras, also to an address."""
    if not buckets.is_address(filepath):
        save(filepath, *args, **kwargs)
        return
    with replacing(filepath) as temporary:
        # Keras asks for this ending.
        file = temporary.with_name(f"{temporary.stem}.weights.h5")
        with removed_at_end(file):
            save(file, *args, **kwargs)
            file.rename(temporary)


def save_spare_heads(backbone, directory):
    """Writes the spare heads of a backbone among the assets of a `.keras` file."""
    if backbone.spare_heads:
        path = pathlib.Path(directory) / SPARE_HEADS
        save_checkpoint(path, dict(backbone.spare_heads))


def load_spare_heads(backbone, directory):
    """Reads what `save_spare_heads` wrote, if it did; the directory may be None."""
    path = directory and pathlib.Path(directory) / SPARE_HEADS
    if path and path.is_file():
        backbone.spare_heads = dict(open_checkpoint(path))


def restore_part(config, name, kind, owner):
    """The part that a config records under `name`, of class `kind` or callable."""
    if config.get(name) is None:
        return None
    what = f"`{name}` in the config of {owner}"
    with naming(what):
        part = keras.saving.deserialize_keras_object(config[name])
    if not (isinstance(part, kind) if kind else callable(part)):
        raise ValueError(
            f"{what} must be a {kind.__name__ if kind else 'tokenizer'}. Received: "
            f"{reprlib.repr(config[name])}."
        )
    return part


def check_keys(config, names, owner):
    """Checks that a config is a dict with some keys; ValueError names a missing one."""
    values = config if isinstance(config, dict) else {}
    missing = [name for name in names if values.get(name) is None]
    if missing:
        raise ValueError(
            f"The config of {owner} must have {', '.join(missing)}. Received: "
            f"{reprlib.repr(config)}."
        )
