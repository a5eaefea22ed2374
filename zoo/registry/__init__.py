"""Makes models from names. Only this package finds families and tasks by name."""

import zoo.models  # noqa: F401, which registers the families
from zoo import family as families
from zoo.family import FAMILIES, Family, Layout
from zoo.registry.building import build_backbone, build_tokenizer
from zoo.registry.describing import describe, saved_task
from zoo.registry.from_preset import from_preset
from zoo.registry.keras_files import load_model
from zoo.registry.sources import tokenizer_classes
from zoo.tasks import TASKS, find_task, register_task
from zoo.text import register_tokenizer

__all__ = [
    "FAMILIES",
    "Family",
    "Layout",
    "TASKS",
    "build_backbone",
    "build_tokenizer",
    "describe",
    "find_task",
    "from_preset",
    "load_model",
    "register_family",
    "register_task",
    "saved_task",
    "tokenizer_classes",
]


def register_family(family):
    """Registers a family for `zoo.from_preset`, the command line and `.keras` files.

    Args:
        family: `zoo.Family`.

    Returns:
        The family.

    Raises:
        TypeError: if it is not a `Family`.
        ValueError: if a family with another backbone has this name.
    """
    families.register_family(family)
    for kind in tokenizer_classes(family):
        register_tokenizer(kind)
    return family
