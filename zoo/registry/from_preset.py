"""Makes a model from the name, the directory or the URI of a preset."""

import dataclasses
import difflib
import os

import keras
import numpy as np

from zoo.backbone.saving import preset_variables, top
from zoo.checkpoint import assign
from zoo.checks.user_warnings import warn_user
from zoo.layers import quantization_configs, quantize_again
from zoo.presets import find_preset, list_presets, preset_info, shipped_directory
from zoo.registry.building import (
    build_backbone,
    build_task,
    build_tokenizer,
    reading,
    task_arguments,
)
from zoo.registry.checking import read_source
from zoo.registry.sources import OWN_LAYOUT, describe_tokenizer, find_family
from zoo.tasks import TASKS, Task, TextClassifier, TextEnsemble, find_task
from zoo.tasks.classifiers.ensemble import find_members
from zoo.training.schedules import check_learning_rate

# The paths of learned tables of positions.
POSITION_TABLES = tuple(
    f"{side}position_embedding/embeddings" for side in ("", "encoder_", "decoder_")
)


def from_preset(
    preset,
    task="auto",
    *,
    dtype=None,
    load_weights=True,
    seed=None,
    layout=None,
    file=None,
    languages=None,
    learning_rate=None,
    **options,
):
    """Makes a model from a preset.

    Args:
        preset: the name of a shipped or published preset, see `zoo.list_presets()`; a
            directory, also one of another program such as Hugging Face's; or a URI,
            `hf://owner/name` or `kaggle://owner/...`.
        task: name of a task, such as "text_classifier". "auto" makes the saved task,
            or the backbone if none was saved. None makes the backbone, whose
            `.tokenizer` is that of the preset. `zoo.data.Packer` makes its inputs.
        dtype: policy of the model, such as "mixed_bfloat16".
        load_weights: bool, False leaves the weights random.
        seed: int, of random weights, such as those of a new head; sets Keras' seeds.
        layout: str, one of several layouts of a directory, such as "hugging_face".
        file: str, one of several checkpoints in a directory, such as "weights.hdf5".
        languages: pair of str, such as `("en", "de")`, if the files do not say them.
        learning_rate: float, of the optimizer; see `zoo.tasks.Task.compile`.
        **options: arguments of the task, such as `labels=["no", "yes"]` and
            `sequence_length=128`, and fields of the config, such as `dropout=0.0`. A
            learned table of positions is repeated or cut to `max_sequence_length`.

    Returns:
        a compiled `zoo.tasks.Task`, a `zoo.backbone.Backbone` or a `zoo.TextEnsemble`.

    Raises:
        KeyError: if the name is unknown. The message has the nearest names.
        FileNotFoundError: if files are missing and cannot be fetched.
        ValueError: if a task, an option, a layout or a file is unknown, the learning
            rate is not positive or is given for a backbone, or the preset is damaged
            or has more than `zoo.family.MOST_VALUES` weights.
    """
    task = task if task in ("auto", None) else find_task(task)
    directory = find_preset(preset)
    choices = {"layout": layout, "file": file, "languages": languages}
    if members := find_members(directory):
        options |= {"dtype": dtype, "load_weights": load_weights, "seed": seed}
        return _ensemble(members, task, choices, learning_rate, **options)
    source = read_source(directory, **choices)
    if learning_rate is not None:
        _check_rate(learning_rate, preset, source.task if task == "auto" else task)
    if seed is not None:
        keras.utils.set_random_seed(seed)
    model = build_model(source, task, dtype, load_weights, options, learning_rate)
    if load_weights and is_shipped(preset):
        # Other presets refer to a shipped preset by its name and checksum.
        backbone = model.backbone if isinstance(model, Task) else model
        backbone.origin = os.fspath(preset)
    return model


def _ensemble(members, task, choices, learning_rate, **options):
    """Makes the ensemble of a directory that `TextEnsemble.save_to_preset` wrote."""
    given = {k: v for k, v in choices.items() if v not in (None, OWN_LAYOUT)}
    if given:
        raise ValueError(
            f"An ensemble has no other layout and no {' or '.join(choices)}. Received: "
            f"{given}. Leave them out."
        )
    if task not in ("auto", TextClassifier):
        raise ValueError(
            f"The preset is an ensemble of text classifiers. Received: task="
            f"{task and task.task_name!r}. Load one of {members[0].parent}/member_*."
        )
    options["learning_rate"] = learning_rate
    return TextEnsemble([from_preset(path, "auto", **options) for path in members])


def is_shipped(preset):
    """Whether `preset` is the name of a preset that is part of the package."""
    name = os.fspath(preset)
    known = not os.path.isdir(name) and name in list_presets()
    return known and "weights" in preset_info(name)


def _check_rate(learning_rate, preset, task):
    """Raises ValueError if a rate is not positive, or the model is not a task."""
    check_learning_rate(learning_rate)
    if task is None:
        raise ValueError(
            "`learning_rate` needs a task, since a backbone is not compiled. Received: "
            f"{os.fspath(preset)!r} without a task. Name a task, such as "
            f"task={next(iter(TASKS))!r}, or leave `learning_rate` out."
        )


def build_model(
    source, task="auto", dtype=None, load_weights=True, options=None, learning_rate=None
):
    """Makes the model of a preset that was read; see `from_preset`.

    `options` are arguments of the task and fields of the config.
    """
    task = source.task if task == "auto" else task
    if task is not None and task.encodes:
        config = {**source.config, **source.family.encoder}
        source = dataclasses.replace(source, config=config)
    config_options, task_options = _split_options(source, task, options or {})
    if dtype is not None:
        keras.dtype_policies.get(dtype)  # an error here is not in the preset
    backbone = _build(source, config_options, dtype)
    if "max_sequence_length" in config_options:  # checked by the config
        length = backbone.config.max_sequence_length
        task_options = {"sequence_length": length, **task_options}
        source = _with_positions(source, length)
    backbone.head_options = source.head_options
    backbone.defaults = source.defaults
    model = backbone
    if task is not None:
        model = build_task(backbone, task, task_options, source)
    new_heads = _find_new_heads(model, backbone, source)
    # The weights of a quantized layer are not trainable, so a new head has none.
    quantized = {k: v for k, v in source.quantized.items() if top(k) not in new_heads}
    if quantized:
        with reading(source.path, "quantized"):
            quantize_again(model, quantization_configs(quantized))
    if load_weights:
        with reading(source.path, "weights", not config_options):
            _load(model, backbone, source, new_heads)
    if task is not None:
        model.compile(learning_rate=learning_rate)  # once its new heads are known
    return model


def _build(source, options, dtype):
    """Makes the backbone of a preset, with its tokenizer and random weights."""
    parts = {}
    for name, record in source.parts.items():
        with reading(source.path, f"parts.{name}"):
            parts[name] = _build_part(record, dtype)
    with reading(source.path, "backbone", not options):
        config = {**source.config, **options}
        backbone = build_backbone(source.family.name, config, dtype, parts)
    if source.tokenizer:
        with reading(source.path, "tokenizer"):
            backbone.tokenizer = build_tokenizer(
                source.family, source.tokenizer, source.files
            )
    return backbone


def _build_part(record, dtype):
    """Makes a part of a backbone, from another preset or with random weights."""
    if "preset" not in record:
        part = build_backbone(record["family"], record["backbone"], dtype)
        if record.get("tokenizer"):
            family, tokenizer = find_family(record["family"]), record["tokenizer"]
            part.tokenizer = build_tokenizer(family, describe_tokenizer(tokenizer), {})
        return part
    found = preset_info(record["preset"]).get("weights", {}).get("sha256")
    if found != record["sha256"]:
        raise ValueError(
            f"The preset refers to {record['preset']!r} with the checksum "
            f"{record['sha256']}. Received: {found}. Train it again on the new one."
        )
    part = from_preset(shipped_directory(record["preset"]), task=None, dtype=dtype)
    part.origin = record["preset"]
    return part


def _with_positions(source, length):
    """The source with tables of so many positions, if it has learned ones."""
    weights = dict(source.weights)
    for path in weights.keys() & {*POSITION_TABLES}:
        table = weights[path]
        weights[path] = np.resize(table, (length, table.shape[1]))  # repeats the rows
    return dataclasses.replace(source, weights=weights)


def _split_options(source, task, options):
    """Splits options into those of the config and those of the task."""
    config_class = source.family.backbone.config_class
    fields = {field.name for field in dataclasses.fields(config_class)}
    accepted = task_arguments(task) if task else set()
    known = sorted(fields | accepted)
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.0)[0]
            called = task and task.task_name
            raise ValueError(
                f"Unknown option for task {called!r}. Received: {name!r}. Did you mean "
                f"{near!r}? The options are {', '.join(known)}."
            )
    task_options = {k: v for k, v in options.items() if k in accepted}
    return {k: v for k, v in options.items() if k not in accepted}, task_options


def _named_variables(model, backbone):
    """Dict of path to variable of a preset, and the names of the backbone's layers."""
    paths = backbone.variable_paths()
    variables = {paths.get(id(v), v.path): v for v in preset_variables(model)}
    return variables, {top(paths.get(id(v), v.path)) for v in backbone.variables}


def _find_new_heads(model, backbone, source):
    """The names of the layers of a task that have no stored weights, list of str."""
    saved = source.task is not None and type(model) is source.task
    if saved and model.has_saved_head(source.task_options):
        return []
    variables, body = _named_variables(model, backbone)
    heads = {*source.family.heads.values()}
    lacking = {
        top(path)
        for path, variable in variables.items()
        if path not in source.weights
        or source.weights[path].shape != tuple(variable.shape)
    }
    layers = sorted({top(path) for path in variables} - body)
    return [layer for layer in layers if layer not in heads or layer in lacking]


def _load(model, backbone, source, new_heads):
    """Assigns the weights of a preset. A head without stored weights stays random.

    All weights of the backbone must be there.
    """
    variables, body = _named_variables(model, backbone)
    heads = {*source.family.heads.values()}
    loaded = tuple(f"{name}/" for name, part in backbone.parts.items() if part.origin)
    loaded += tuple(f"{head}/" for head in new_heads)
    variables = {k: v for k, v in variables.items() if not k.startswith(loaded)}
    for head in heads & {*new_heads}:
        warn_user(
            f"The preset has no {head} that fits. The head starts from random weights, "
            "so its answers mean nothing before training."
        )
    if isinstance(model, Task):
        model.new_heads = tuple(new_heads)
    # The heads of other tasks, and layers that the config leaves out, are not used.
    optional = {name for names in backbone.own_layers.values() for name in names}
    wanted = {
        path: array
        for path, array in source.weights.items()
        if path in variables or (top(path) in body and top(path) not in optional)
    }
    assign(variables, wanted)
    backbone.spare_heads = {
        path: array
        for path, array in source.weights.items()
        if path not in wanted and top(path) in heads
    }
