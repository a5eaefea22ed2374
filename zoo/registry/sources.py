"""What a preset directory of any layout holds."""

import dataclasses

from zoo import text
from zoo.family import FAMILIES, only_layout
from zoo.presets import RECORD, read_preset
from zoo.tasks import TASKS, find_task


@dataclasses.dataclass(frozen=True)
class Source:
    """What a preset of any layout holds.

    Args:
        family: `zoo.Family`.
        config: dict, fields of the family's config.
        weights: dict of our variable path to float32 array, heads included.
        tokenizer: dict of class_name and arguments, or None.
        files: dict of name to bytes, the tokenizer's.
        task: subclass of `zoo.tasks.Task`, the saved one, or None.
        task_options: dict, arguments of the saved task.
        head_options: dict, arguments of a task for the heads among the weights.
        parts: dict of name to the record of a part, see `zoo.backbone.Backbone`.
        defaults: dict, what the preset says of fine-tuning: learning_rate, pooling,
            epochs.
    """

    family: object
    config: dict
    weights: dict
    tokenizer: dict | None = None
    files: dict = dataclasses.field(default_factory=dict)
    task: type | None = None
    task_options: dict = dataclasses.field(default_factory=dict)
    head_options: dict = dataclasses.field(default_factory=dict)
    parts: dict = dataclasses.field(default_factory=dict)
    defaults: dict = dataclasses.field(default_factory=dict)


def find_family(name):
    """The family of a name.

    Raises:
        ValueError: if there is none.
    """
    if name not in FAMILIES:
        raise ValueError(
            f"`family` must be one of {sorted(FAMILIES)}. Received: {name!r}."
        )
    return FAMILIES[name]


def tokenizer_classes(family):
    """The classes of a family's tokenizers, a tuple.

    Args:
        family: `zoo.Family`.
    """
    return tuple(
        getattr(text, kind) if isinstance(kind, str) else kind
        for kind in family.tokenizers
    )


def read_source(directory):
    """Reads a directory of any layout.

    Args:
        directory: pathlib.Path.

    Returns:
        Source.

    Raises:
        FileNotFoundError: if the directory holds nothing that a family reads.
        ValueError: if files are damaged or do not fit each other.
    """
    if (directory / RECORD).is_file():
        return _own(directory)
    found = {
        f"{family.name}, {layout.name}": (family, layout)
        for family in FAMILIES.values()
        for layout in family.layouts
        if layout.recognise(directory)
    }
    if found:
        family, layout = found[only_layout([*found], directory)]
        return _converted(family, layout.read(directory))
    raise FileNotFoundError(
        f"{directory} holds no preset that zoo knows: no {RECORD}, and no "
        "config, weights and vocabulary of Google, the model garden, Hugging Face, "
        "keras-nlp, bilm-tf, AllenNLP or ELMoForManyLangs. It holds "
        f"{sorted(p.name for p in directory.iterdir())[:10]}."
    )


def _own(directory):
    """The `Source` in a directory of our own layout."""
    record, arrays, files = read_preset(directory)
    saved = record.get("task") or {}
    return Source(
        family=find_family(record["family"]),
        config=record["backbone"],
        weights=arrays,
        tokenizer=record.get("tokenizer"),
        files=files,
        task=find_task(saved["name"]) if saved else None,
        task_options=saved.get("options", {}),
        head_options=record.get("head_options") or {},
        parts=record.get("parts") or {},
        defaults=record.get("defaults") or {},
    )


def _converted(family, found):
    """The `Source` of a `zoo.checkpoint.Converted`."""
    task = options = None
    for kind in TASKS.values():
        options = kind.recognise(found)
        if options is not None:
            task = kind
            break
    head_options = {}
    if {*found.heads} & {*family.heads}:
        head_options = {f"head_{k}": v for k, v in found.head_options.items()}
    return Source(
        family=family,
        config=dataclasses.asdict(found.config),
        weights=found.weights,
        tokenizer=found.tokenizer and {"arguments": found.tokenizer},
        task=task,
        task_options=options or {},
        head_options=head_options,
    )
