"""The memory of a training step of a preset."""

import dataclasses
import functools
import os

from zoo.checks.number_rules import numbers_checked
from zoo.presets import find_preset, list_presets, preset_info
from zoo.programs.costs.step_costs import step_costs
from zoo.registry import FAMILIES, build_backbone
from zoo.registry.checking import read_source
from zoo.tasks import TextClassifier, find_task


@numbers_checked()
def training_memory(
    preset,
    rows,
    sequence_length,
    task=None,
    dtype=None,
    optimizer="adamw",
    accumulate=1,
    remat=False,
    **options,
):
    """The memory that a training step of a preset needs on one device.

    It follows from the shapes of all tensors in the graph of a step on the TensorFlow
    backend, whose operations run one after the other. Nothing is computed, and a
    published preset is not fetched.

    Args:
        preset: name or directory of a preset.
        rows: int, texts of a batch on the device.
        sequence_length: int, tokens of each text.
        task: name of a task; by default the saved one, or "text_classifier".
        dtype: policy of the model, such as "mixed_bfloat16".
        optimizer: name of an optimizer of Keras, or one that is not built.
        accumulate, remat: see `zoo.tasks.Task.compile`.
        **options: arguments of the task, such as `labels=3`, and fields of the config.

    Returns:
        `zoo.programs.costs.step_costs.StepCosts`, with the bytes of weights, optimizer,
        gradients and activations, and their `total`.

    Raises:
        FileNotFoundError: if the preset is a URI that was not downloaded before.
        ValueError: if a text has more tokens than the model has positions, or the
            preset has parts that are models of their own.

    Example:
        >>> costs = training_memory("bert_mini_en_uncased_books", 8, 128)
        >>> costs.weights // 10**6
        21
    """
    family, config, saved, saved_options = described(preset)
    kind = find_task(task) if task else saved or TextClassifier
    options = {**(saved_options if kind is saved else {}), **options}
    names = {field.name for field in dataclasses.fields(family.backbone.config_class)}
    config |= {name: options.pop(name) for name in names & options.keys()}
    config |= family.encoder if kind.encodes else {}
    longest = config.get("max_sequence_length")
    if longest is not None and sequence_length > longest:
        raise ValueError(
            f"A text must have at most {longest} tokens, the positions of the model. "
            f"Received: {sequence_length}."
        )
    make = functools.partial(make_task, kind, family.name, config, dtype, options)
    return step_costs(make, rows, sequence_length, optimizer, accumulate, remat)


def make_task(kind, family, config, dtype, options):
    """A new task without a tokenizer."""
    return kind(build_backbone(family, config, dtype), None, **options)


def described(preset):
    """The family, config, saved task or None, and its options, of a preset."""
    name = os.fspath(preset)
    if not os.path.isdir(name) and name in list_presets():
        record = preset_info(name)
        task, parts = record.get("task") or {}, record.get("parts")
        kind = find_task(task["name"]) if task else None
        found = record["family"], record["backbone"], kind, task.get("options") or {}
    else:
        directory = find_preset(preset, fetch=False)
        source = read_source(directory)
        parts, kind = source.parts, source.task
        found = source.family.name, source.config, kind, source.task_options
    if parts:
        raise ValueError(
            "The preset must be one model. Received: one that has the parts "
            f"{', '.join(parts)}. Ask for these."
        )
    return FAMILIES[found[0]], dict(found[1]), *found[2:]
