"""Makes backbones, tokenizers and tasks from their descriptions in a preset."""

import contextlib
import inspect
import reprlib

import tensorflow as tf

from zoo.backbone.config import ERRORS, make_config, naming
from zoo.registry.sources import find_family, tokenizer_classes
from zoo.tasks.heads.head import head_option_names
from zoo.tasks.task_saving import uncompiled

# TensorFlow raises this error if a size is impossible.
ERRORS = (*ERRORS, tf.errors.InvalidArgumentError)


def reading(path, field, when=True):
    """A context whose errors name `path`, a preset, and its field; see `naming`.

    `field` is None if it is unknown. `when` is False for an error that comes from an
    option of the user.
    """
    if not when:
        return contextlib.nullcontext()
    return naming(f"`{field}` of {path}" if field else f"{path}", path, ERRORS)


def build_backbone(family, config, dtype=None, parts=None):
    """Makes a backbone with random weights, of the family called `family`.

    `config` has fields of the family's config, `dtype` is the policy of the model, and
    `parts` has backbones by name, for a family that has parts. ValueError if the family
    or a field is unknown, or a value is out of range.
    """
    backbone_class = find_family(family).backbone
    config = make_config(backbone_class.config_class, config, backbone_class.__name__)
    return backbone_class(config, dtype=dtype, parts=parts)


def build_tokenizer(family, description, files=None):
    """Makes the tokenizer of a preset; ValueError if the family has none such.

    `description` has arguments and class_name; without class_name, the first class of
    the `zoo.Family` that takes the arguments is used. `files` has the bytes of files by
    name, or is None for another layout, whose reader may give paths.
    """
    name, arguments = description.get("class_name"), description.get("arguments") or {}
    kinds = tokenizer_classes(family)
    for kind in kinds:
        known = inspect.signature(kind.__init__).parameters.keys()
        if kind.__name__ == name or (name is None and arguments.keys() <= known):
            if files is None:
                return kind(**arguments)
            return kind.from_files(arguments, files)
    names = [kind.__name__ for kind in kinds]
    raise ValueError(
        f"The tokenizer of a preset of family {family.name!r} must be one of {names}. "
        f"Received: {reprlib.repr(name or sorted(arguments))}."
    )


def task_arguments(task):
    """Names of the arguments of a task except its backbone, a set of str."""
    accepted = {*inspect.signature(task.__init__).parameters, *task.keyword_options}
    if task.optional_columns:
        accepted.add("pair")
    if "head" in accepted:
        accepted |= head_option_names()
    return accepted - {"self", "backbone", "tokenizer", "kwargs"}


def build_task(backbone, task, options, source):
    """Makes a task on a backbone, not compiled; saved options are its defaults."""
    accepted, field = task_arguments(task), None
    saved = {k: v for k, v in source.head_options.items() if k in accepted}
    if saved:
        field = "head_options"
    if task is source.task:
        saved, field = {**saved, **source.task_options}, "task"
    with reading(source.path, field, field and not options), uncompiled():
        options = task.merge_options(saved, options)
        return task(backbone, backbone.tokenizer, **options)
