"""Low-rank adaptation (LoRA) of dense layers and embeddings."""

import keras
from keras import ops

from zoo.checks.ranges import Positive, Size, check_values
from zoo.keras_internals import all_layers
from zoo.layers.quantization import reset_functions

ADAPTED_LAYERS = (keras.layers.Dense, keras.layers.Embedding)


def enable_lora(model, rank, alpha=None):
    """Adds LoRA to the dense layers and embeddings of a model, and freezes the rest.

    Each kernel or table W becomes `W + alpha / rank A B`, where A (N, rank) and B
    (rank, M) are trained and W is not. B starts at zero, so the outputs do not change.
    Inner dense layers are adapted, too; layers that are not trainable are not. Then
    only A and B are trainable, so call it with a backbone to train the head in full.

    Files hold `W + alpha / rank A B` in place of W. A loaded task or backbone has no
    LoRA, and all its weights are trainable. So does a model with LoRA whose `trainable`
    is set to True.

    Source: Hu et al. 2021, section 4.1; the computation is that of
    `keras.layers.Dense.enable_lora` and `keras.layers.Embedding.enable_lora`.

    Args:
        model: built `keras.Model` or layer, such as the backbone of a task. Compile the
            task after the call, also before `predict`.
        rank: int, width of A and height of B, at least 1.
        alpha: float, factor of `A B`; by default `rank`.

    Raises:
        ValueError: if the rank is not positive, no layer can be adapted, or LoRA is
            already enabled.
    """
    layers = [
        layer
        for layer in all_layers(model)
        if type(layer) in ADAPTED_LAYERS and layer.trainable
    ]
    check_values(Size, rank=rank)
    check_values(Positive | None, alpha=alpha)
    if not layers:
        raise ValueError(
            "`model` must have a trainable Dense or Embedding layer. Received: "
            f"{model.name!r}, which has none. Set `trainable` to True first."
        )
    if any(layer.lora_enabled for layer in layers):
        raise ValueError(
            "LoRA can be enabled only once. Received: a model with LoRA. Save and load "
            "the model to merge the weights, then enable LoRA again."
        )
    for layer in layers:
        layer.enable_lora(rank, lora_alpha=alpha)
    for variable in model.weights:
        variable.trainable = is_lora(variable)
    reset_functions(model)


def is_lora(variable):
    """Whether a variable is A or B of LoRA."""
    return variable.name.startswith("lora_")


def merged_weights(model):
    """Dict of `id` of a variable to the array that a file holds, with LoRA merged."""
    merged = {id(v): v.value for v in model.weights if not is_lora(v)}
    for layer in all_layers(model):
        if getattr(layer, "lora_enabled", False):
            variables = {variable.name: variable for variable in layer.weights}
            store = {}
            layer.save_own_variables(store)
            names = layer.variable_serialization_spec[layer.quantization_mode]
            names = [name for name in names if name in variables]
            for name, value in zip(names, store.values(), strict=True):
                merged[id(variables[name])] = value
    return {key: ops.convert_to_numpy(value) for key, value in merged.items()}
