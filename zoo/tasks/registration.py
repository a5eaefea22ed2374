"""The tasks by name."""

from zoo.checks.ranges import check_choice
from zoo.family import register_class
from zoo.tasks.base import Task
from zoo.text.tokenizer import KINDS

TASKS = {}  # name to class, see `register_task`

for tokenizer in KINDS.values():
    # The text room knows no Keras, whose files hold tokenizers.
    register_class(tokenizer)


def register_task(kind):
    """Makes a task known to `zoo.from_preset`, to the command line and to files.

    Args:
        kind: subclass of `zoo.tasks.Task`.

    Returns:
        The class.

    Raises:
        TypeError: if it is not such a class.
        ValueError: if it has no name, or another task has it.
    """
    if not (isinstance(kind, type) and issubclass(kind, Task)):
        raise TypeError(f"`kind` must be a subclass of Task. Received: {kind!r}.")
    known = TASKS.get(kind.task_name)
    if not kind.task_name or (known and known is not kind):
        raise ValueError(
            "A task must have a `task_name` of its own. Received: "
            f"{kind.task_name!r} of {kind.__name__}."
        )
    register_class(kind)
    TASKS[kind.task_name] = kind
    return kind


def find_task(name):
    """The class of a task by its name; ValueError if there is none."""
    return TASKS[check_choice("task", name, sorted(TASKS))]
