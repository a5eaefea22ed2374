"""Chooses what a fine-tuning trains: frozen groups of layers, and LoRA."""

from zoo.backbone.freezing import layer_groups
from zoo.layers import enable_lora

ALL_GROUPS = "all"  # the groups of a backbone


def train_parts(model, freeze=(), lora=None, lora_layers=()):
    """Freezes groups of layers of a task's backbone, and adds LoRA to the others.

    The head is trained in full. Compile the task afterwards.

    Args:
        model: task.
        freeze: iterable of str, layers whose groups are frozen, such as "block_0", see
            `Backbone.groups`; or "all", the whole backbone.
        lora: int, the rank of `zoo.enable_lora`, or None.
        lora_layers: tuple of str, the layers with LoRA; all that can be if it is empty.

    Raises:
        ValueError: if there is no such layer, or LoRA has nothing to adapt.
    """
    backbone = model.backbone
    groups = layer_groups(backbone)
    layers = {**backbone.parts, **backbone.named_layers}
    known = {name: group for group in groups for name in group}
    for name in freeze:
        if name not in known and name != ALL_GROUPS:
            raise ValueError(
                f"`freeze` must name layers of the backbone, or {ALL_GROUPS!r}. "
                f"Received: {name!r}. The groups are "
                f"{', '.join(map(' '.join, groups))}."
            )
        for layer in known if name == ALL_GROUPS else known[name]:
            layers[layer].trainable = False
    if lora is not None:
        enable_lora(model, lora, lora_layers or None)
    elif lora_layers:
        raise ValueError(
            f"`lora_layers` needs a rank. Received: {lora_layers} without `lora`. Give "
            "a rank, on the command line `--lora 8`."
        )
