"""Preset name, directory or URI to a model."""

import dataclasses
import difflib
import inspect
import pathlib
import warnings

import keras

from zoo.checkpoint import assign
from zoo.config import check_fields
from zoo.presets import find_preset, list_presets, preset_info
from zoo.registry.archives import check_archive
from zoo.registry.sources import find_family, read_source, tokenizer_classes
from zoo.saving import preset_variables
from zoo.tasks import Task, find_task

KERAS_MEMBERS = ("config.json", "metadata.json", "model.weights.h5")


def from_preset(
    preset, task="auto", *, dtype=None, load_weights=True, seed=None, **options
):
    """Makes a model from a preset.

    Args:
        preset: shipped or published name (`zoo.list_presets()`), a directory, or a
            URI, `hf://owner/name` or `kaggle://owner/...`. Directories of other
            libraries, such as Hugging Face or AllenNLP, are recognised and converted.
        task: name of a task, such as "text_classifier"; "auto" for the saved task, or
            the backbone if none was saved; None for the backbone, which has the
            `.tokenizer` attached and takes what `zoo.data.Packer` makes with it.
        dtype: policy of the model, such as "mixed_bfloat16".
        load_weights: bool, False leaves the weights random.
        seed: int, of random weights, such as a new head's; sets Keras' seeds.
        **options: arguments of the task, such as `labels=["no", "yes"]` and
            `sequence_length=128`, and fields of the config, such as `dropout=0.0`.

    Returns:
        keras.Model: a compiled `zoo.tasks.Task`, or a `zoo.backbone.Backbone`.

    Raises:
        KeyError: if the name is unknown, with the nearest ones.
        FileNotFoundError: if files are missing and cannot be fetched.
        ValueError: if a task or an option is unknown, or the weights do not fit.
    """
    task = task if task in ("auto", None) else find_task(task)
    source = read_source(find_preset(preset))
    if task == "auto":
        task = source.task
    config_options, task_options = _split_options(source, task, options)
    if seed is not None:
        keras.utils.set_random_seed(seed)
    backbone = build_backbone(
        source.family.name,
        {**source.config, **config_options},
        dtype,
        {name: _build_part(record, dtype) for name, record in source.parts.items()},
    )
    if source.tokenizer:
        backbone.tokenizer = build_tokenizer(
            source.family, source.tokenizer, source.files
        )
    backbone.head_options = source.head_options
    backbone.defaults = source.defaults
    model = backbone
    if task is not None:
        model = _build_task(backbone, task, task_options, source)
    if load_weights:
        if preset in list_presets() and preset_info(preset).get("weights"):
            # Only a shipped preset has a checksum that others can refer to.
            backbone.origin = preset
        _load(model, backbone, source)
    return model


def _build_task(backbone, task, options, source):
    """The task, with the saved options where it is the saved task."""
    accepted = task_arguments(task)
    saved = source.task_options if task is source.task else {}
    heads = {k: v for k, v in source.head_options.items() if k in accepted}
    saved = {**saved, **heads}
    return task(backbone, backbone.tokenizer, **{**saved, **options})


def task_arguments(task):
    """Names of the options that a task takes, a set of str."""
    accepted = {*inspect.signature(task.__init__).parameters, "sequence_length", "name"}
    if task.optional_columns:
        accepted.add("pair")
    return accepted - {"self", "backbone", "tokenizer", "kwargs"}


def load_model(path, **kwargs):
    """Loads a `.keras` file of this package, in any process.

    Args:
        path: str or path.
        **kwargs: of `keras.saving.load_model`.

    Returns:
        keras.Model, compiled if it was.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if the file is damaged, or is a directory.
    """
    path = pathlib.Path(path)
    if path.is_dir():
        raise ValueError(
            f"A `.keras` file is needed. Received: {path}, a directory. Load the "
            "directory of a preset with `from_preset`."
        )
    if not path.is_file():
        raise FileNotFoundError(
            f"No such file: {path}. For a preset directory, use `from_preset`."
        )
    if path.suffix == ".keras":
        # Keras does not compare all checksums, and calls a damaged file missing.
        check_archive(path, KERAS_MEMBERS)
    model = keras.saving.load_model(path, **kwargs)
    if isinstance(model, Task) and not model.compiled and kwargs.get("compile", True):
        model.compile()
    return model


def _build_part(record, dtype):
    """A part of a backbone: of another preset, or with random weights.

    Raises:
        ValueError: if the other preset has changed since.
    """
    if "preset" not in record:
        part = build_backbone(record["family"], record["backbone"], dtype)
        tokenizer = dict(record.get("tokenizer") or {})
        if tokenizer:
            name = tokenizer.pop("class_name", None)
            described = {"class_name": name, "arguments": tokenizer}
            part.tokenizer = build_tokenizer(find_family(record["family"]), described)
        return part
    found = preset_info(record["preset"]).get("weights", {}).get("sha256")
    if found != record["sha256"]:
        raise ValueError(
            f"The preset refers to {record['preset']!r} with the checksum "
            f"{record['sha256']}. Received: one with {found}. Train it anew on that."
        )
    return from_preset(record["preset"], task=None, dtype=dtype)


def build_backbone(family, config, dtype=None, parts=None):
    """A backbone with random weights.

    Args:
        family: str, such as "bert".
        config: dict, fields of the family's config.
        dtype: policy of the model.
        parts: dict of name to backbone, for a family that has some.

    Returns:
        zoo.backbone.Backbone.

    Raises:
        ValueError: if the family or a field is unknown.
    """
    backbone_class = find_family(family).backbone
    check_fields(backbone_class.__name__, backbone_class.config_class, config)
    config = backbone_class.config_class(**config)
    return backbone_class(config, dtype=dtype, parts=parts)


def build_tokenizer(family, description, files=None):
    """The tokenizer of a preset.

    Args:
        family: `zoo.Family`.
        description: dict of arguments and class_name; without a name, the class is the
            first of the family that takes the arguments.
        files: dict of name to bytes.

    Returns:
        `zoo.text.Tokenizer`.

    Raises:
        ValueError: if the class is none of the family's.
    """
    name, arguments = description.get("class_name"), description.get("arguments", {})
    kinds = tokenizer_classes(family)
    for kind in kinds:
        known = inspect.signature(kind.__init__).parameters.keys()
        if kind.__name__ == name or (name is None and arguments.keys() <= known):
            return kind.from_files(arguments, files or {})
    names = [kind.__name__ for kind in kinds]
    raise ValueError(
        f"The tokenizer of a preset of family {family.name!r} must be one of {names}. "
        f"Received: {name or sorted(arguments)}."
    )


def _split_options(source, task, options):
    """Options of the config and options of the task; an unknown one is an error."""
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
                f"{near!r}? It takes {', '.join(known)}."
            )
    return (
        {k: v for k, v in options.items() if k not in accepted},
        {k: v for k, v in options.items() if k in accepted},
    )


def _load(model, backbone, source):
    """Assigns the weights of a preset; a head that it lacks stays random.

    The backbone's weights must all be there. A task's head is loaded if the task is
    the saved one with the saved labels, or if it is a pretrained head of the family.
    """
    paths, heads = backbone.variable_paths(), {*source.family.heads.values()}
    variables = {paths.get(id(v), v.path): v for v in preset_variables(model)}
    loaded = tuple(f"{name}/" for name, part in backbone.parts.items() if part.origin)
    variables = {k: v for k, v in variables.items() if not k.startswith(loaded)}
    own = {top(paths.get(id(v), v.path)) for v in backbone.variables}
    keeps_head, weights = _keeps_head(model, source), source.weights
    for head in {top(path) for path in variables} - own:
        of_head = {path: v for path, v in variables.items() if top(path) == head}
        fits = all(
            path in weights and weights[path].shape == tuple(variable.shape)
            for path, variable in of_head.items()
        )
        if keeps_head or (head in heads and fits):
            continue
        if head in heads:
            warnings.warn(
                f"The preset has no {head} that fits: it starts from random "
                "weights, and its answers mean nothing before training.",
                stacklevel=3,
            )
        variables = {k: v for k, v in variables.items() if k not in of_head}
    # Heads of other tasks may be left over, and layers that the config switches off.
    optional = {name for names in backbone.own_layers.values() for name in names}
    wanted = {
        path: array
        for path, array in weights.items()
        if path in variables or (top(path) in own and top(path) not in optional)
    }
    assign(variables, wanted)
    backbone.spare_heads = {
        path: array
        for path, array in weights.items()
        if path not in wanted and top(path) in heads
    }


def _keeps_head(model, source):
    """Whether the model is the saved task with the saved labels."""
    if source.task is None or type(model) is not source.task:
        return False
    return list(model.labels or ()) == list(source.task_options.get("labels") or ())


def top(path):
    """The first part of a variable's path: the name of the layer."""
    return path.split("/")[0]
