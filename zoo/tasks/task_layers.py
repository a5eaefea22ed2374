"""Groups of the layers of a task, such as those of its head."""

from zoo.family import FAMILIES
from zoo.keras_internals import all_layers


def check_encodes(kind, backbone):
    """Raises ValueError unless a backbone gives vectors of one sequence."""
    if "sequence_output" not in backbone.output:
        fields = FAMILIES[backbone.family].encoder
        way = f"Make one with {fields}, as `zoo.from_preset` does."
        raise ValueError(
            f"{kind.__name__} needs a backbone that encodes one sequence. Received: "
            f"one of family {backbone.family!r}, which reads a source and a "
            f"target. {way if fields else 'Choose a model of another family.'}"
        )


def used_variables(task, variables):
    """Those of some variables that the graph of a task uses, a list."""
    unused = unused_layers(task)
    return [v for v in variables if v.path.split("/")[0] not in unused]


def head_layers(task):
    """Names of the layers whose weights are not the backbone's, tuple of str."""
    known = {*map(id, task.backbone.variables)}
    heads = {v.path.split("/")[0] for v in task.weights if id(v) not in known}
    return tuple(sorted(heads))


def unused_layers(task):
    """Names of the backbone's layers that no output depends on, a set of str."""
    return {*task.backbone.named_layers} - task.layers_used()


def fix_shapes(task):
    """Turns off shapes that depend on values, which XLA cannot compile."""
    for layer in all_layers(task):
        for name in ("distinct", "packed"):
            if hasattr(layer, name):
                setattr(layer, name, False)
