"""Frozen layers, which are not trainable, and groups of layers, by name."""

from zoo.keras_internals import sublayers


def layer_tree(layer, path):
    """Dict of path to layer: a layer and its inner layers, outer ones first."""
    tree = {path: layer}
    for sublayer in sublayers(layer):
        tree |= layer_tree(sublayer, f"{path}/{sublayer.name}")
    return tree


def frozen_layers(model):
    """Paths of the layers of a backbone or task that are not trainable, a list."""
    tree = model.layer_tree().items()
    return [path for path, layer in tree if not layer.trainable]


def freeze_layers(model, frozen):
    """Freezes the layers of `frozen_layers` and no others; None changes nothing."""
    if frozen is not None:
        for path, layer in model.layer_tree().items():
            layer.trainable = path not in frozen
    return model


def layer_groups(backbone):
    """`groups` of a backbone; ValueError if a name is not of a layer or a part."""
    layers = {**backbone.parts, **backbone.named_layers}
    groups = [*map(tuple, backbone.groups())]
    unknown = [name for names in groups for name in names if name not in layers]
    if unknown:
        raise ValueError(
            "`groups()` of a backbone must return names of its layers. Received: "
            f"{unknown} of {type(backbone).__name__}, which has {sorted(layers)}."
        )
    return groups
