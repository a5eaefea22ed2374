"""Reads preset directories of all layouts."""

import dataclasses

from zoo import text
from zoo.checks.ranges import check_choice
from zoo.family import FAMILIES, only_layout
from zoo.presets import RECORD, check_weights, read_preset
from zoo.tasks import TASKS, TokenClassifier, find_task

OWN_LAYOUT = "zoo"

# Of models of sentence-transformers, whose pooler is not trained. The table in
# `benchmarks/defaults` shows what they lead to.
EMBEDDER_DEFAULTS = {
    "learning_rate": 1e-4,
    "head_multiplier": 10.0,
    "epochs": 3,
    "tasks": {TokenClassifier.task_name: {"learning_rate": 2e-4}},
}
EMBEDDER_POOLINGS = {"mean": "compare", "cls": "cls"}


@dataclasses.dataclass(frozen=True)
class Source:
    """The content of a preset of any layout."""

    path: object  # `pathlib.Path` of the preset.json, or of another layout's directory
    layout: str  # such as "zoo" or "hugging_face"
    family: object  # `zoo.Family`
    config: dict  # fields of the family's config
    weights: dict  # path of a variable, also of a head, to float32 or int8 array
    tokenizer: dict | None = None  # class_name and arguments
    files: dict | None = None  # of the tokenizer, name to bytes; None for other layouts
    task: type | None = None  # the saved task, a subclass of `zoo.tasks.Task`
    task_options: dict = dataclasses.field(default_factory=dict)  # of the saved task
    head_options: dict = dataclasses.field(default_factory=dict)  # of the stored heads
    # See `zoo.backbone.Backbone`, and `zoo.layers.quantization_words`.
    parts: dict = dataclasses.field(default_factory=dict)
    defaults: dict = dataclasses.field(default_factory=dict)
    quantized: dict = dataclasses.field(default_factory=dict)


def find_family(name):
    """The family of a name; ValueError if there is none."""
    return FAMILIES[check_choice("family", name, sorted(FAMILIES))]


def tokenizer_classes(family):
    """The tokenizer classes of a `zoo.Family`, a tuple."""
    return tuple(
        getattr(text, kind) if isinstance(kind, str) else kind
        for kind in family.tokenizers
    )


def find_layouts(directory):
    """The layouts of other programs in a directory, list of (`Family`, `Layout`)."""
    return [
        (family, layout)
        for family in FAMILIES.values()
        for layout in family.layouts
        if layout.recognise(directory)
    ]


def choose_layout(directory, name=None):
    """Finds the (`zoo.Family`, `zoo.Layout`) of a directory.

    The result is (None, None) for our own layout, and None if no family can read the
    directory. ValueError if it lacks the layout `name`, or has several and none was
    named.
    """
    has_record = (directory / RECORD).is_file()
    if has_record and name in (None, OWN_LAYOUT):
        return None, None
    found = find_layouts(directory)
    names = [layout.name for _, layout in found]
    if name is None:
        name = only_layout(names, directory)
    elif name not in names:
        known = ", ".join([OWN_LAYOUT, *names] if has_record else names)
        raise ValueError(
            f"`layout` must be one that {directory} holds: {known or 'none'}. "
            f"Received: {name!r}."
        )
    return found[names.index(name)] if name else None


def describe_tokenizer(arguments):
    """The description of a tokenizer, see `build_tokenizer`, from a flat dict."""
    arguments = dict(arguments)
    return {"class_name": arguments.pop("class_name", None), "arguments": arguments}


def read_own(directory):
    """Reads a directory of our own layout as a `Source`."""
    record, arrays, files = read_preset(directory)
    path, saved = directory / RECORD, record.get("task") or {}
    try:
        family = find_family(record["family"])
        task = find_task(saved["name"]) if saved else None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    options, head_options = saved.get("options") or {}, record.get("head_options") or {}
    if task and task.pretrains:
        # A backbone keeps the head of the task, and needs what it was made with.
        head_arguments = {k: v for k, v in options.items() if k.startswith("head_")}
        head_options = {**head_options, **head_arguments}
        head_options = {k: v for k, v in head_options.items() if v is not None}
    return Source(
        path=path,
        layout=OWN_LAYOUT,
        family=family,
        config=record["backbone"],
        weights=arrays,
        tokenizer=record.get("tokenizer"),
        files=files,
        task=task,
        task_options=options,
        head_options=head_options,
        **{name: record.get(name) or {} for name in ("parts", "defaults", "quantized")},
    )


def read_foreign(directory, family, layout, file=None, languages=None):
    """Reads a directory of another program as a `Source`; see `zoo.from_preset`."""
    options = {}
    if file is not None:
        names = layout.files(directory) if layout.files else []
        if file not in names:
            raise ValueError(
                f"`file` must be the name of a checkpoint of {directory}: "
                f"{', '.join(names) or 'there is no choice'}. Received: {file!r}."
            )
        options["file"] = file
    if languages is not None:
        if not layout.languages:
            raise ValueError(
                "`languages` must be None for a layout that does not need them. "
                f"Received: {languages!r:.80} for layout {layout.name!r} in "
                f"{directory}. Omit it."
            )
        options["languages"] = languages
    found = layout.read(directory, **options)
    check_weights(found.weights, path=directory)
    task = options = None
    for kind in TASKS.values():
        options = kind.recognise(found)
        if options is not None:
            task = kind
            break
    head_options, defaults = {}, {}
    if found.pooling:
        defaults = {**EMBEDDER_DEFAULTS, "pooling": EMBEDDER_POOLINGS[found.pooling]}
    if {*found.heads} & {*family.heads}:
        head_options = {f"head_{k}": v for k, v in found.head_options.items()}
    return Source(
        path=directory,
        layout=layout.name,
        family=family,
        config=dataclasses.asdict(found.config),
        weights=found.weights,
        tokenizer=found.tokenizer and describe_tokenizer(found.tokenizer),
        task=task,
        task_options=options or {},
        head_options=head_options,
        defaults=defaults,
    )
