"""Names to models: the only room that knows every family and every task by name."""

import zoo.models  # noqa: F401, which registers the families
from zoo.family import FAMILIES, Family, Layout, register_family
from zoo.registry.from_preset import (
    build_backbone,
    build_tokenizer,
    from_preset,
    load_model,
)
from zoo.tasks import TASKS, find_task, register_task

__all__ = [
    "FAMILIES",
    "Family",
    "Layout",
    "TASKS",
    "build_backbone",
    "build_tokenizer",
    "find_task",
    "from_preset",
    "load_model",
    "register_family",
    "register_task",
]
