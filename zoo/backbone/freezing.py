"""Frozen layers, which are not trainable, and groups of layers, by name."""

from zoo.keras_internals import sublayers


def layer_tree(layer, path):
    """Dict of path to layer: a layer and its inner layers, outer ones first."""
    tree = {path: layer}
    for own in sublayers(layer):
        tree |= layer_tree(own, f"{path}/{own.name}")
    return tree


def frozen_layers(model):
    """Paths of the layers that are not trainable.

    Args:
        model: backbone or task, with `layer_tree`.

    Returns:
        list of str.
    """
    tree = model.layer_tree().items()
    return [path for path, layer in tree if not layer.trainable]


def freeze_layers(model, frozen):
    """Freezes the layers that `frozen_layers` found, and no others.

    Args:
        model: backbone or task, with `layer_tree`.
        frozen: list of str; None changes nothing.

    Returns:
        The model.
    """
    if frozen is not None:
        for path, layer in model.layer_tree().items():
            layer.trainable = path not in frozen
    return model


def layer_groups(backbone):
    """The groups of layers of a backbone, from bottom to top.

    Args:
        backbone: with `groups`, `named_layers` and `parts`.

    Returns:
        list of tuples of str, the names of layers and parts.

    Raises:
        ValueError: if a name is not that of a layer or a part.
    """
    layers = {**backbone.parts, **backbone.named_layers}
    groups = [*map(tuple, backbone.groups())]
    unknown = [name for names in groups for name in names if name not in layers]
    if unknown:
        raise ValueError(
            "`groups()` of a backbone must return names of its layers. Received: "
            f"{unknown} of {type(backbone).__name__}, which has {sorted(layers)}."
        )
    return groups
