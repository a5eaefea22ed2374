"""Low-rank adaptation (LoRA) of dense layers and embeddings."""

import contextlib
import difflib
import fnmatch

import keras
from keras import ops

from zoo.checks.ranges import Positive, Size, check_value
from zoo.keras_internals import all_layers
from zoo.layers.quantization import reset_functions

ADAPTED_LAYERS = (keras.layers.Dense, keras.layers.Embedding)


def enable_lora(model, rank, layers=None, alpha=None):
    """Adds LoRA to dense layers and embeddings, and freezes the weights beside them.

    Each kernel or table W becomes `W + alpha / rank A B`, where A (N, rank) and B
    (rank, M) are trained and W is not. B starts at zero, so the outputs do not change.
    Of a task, the backbone is adapted, in the layers that the task uses; the head is
    trained in full. Of another model, only A and B are trained.

    Inner dense layers are adapted, too; layers that are not trainable are not. Biases,
    layer norms, convolutions, recurrent layers and `zoo.layers.WordEmbedding` have no
    LoRA. They are frozen.

    Exports, presets, `.keras` files, weight files and pickles hold
    `W + alpha / rank A B` in place of W. A loaded task or backbone has no LoRA, and all
    its weights are trainable. So does a model with LoRA whose `trainable` is set to
    True. `save_adapter` of a task writes A, B and the head alone.

    Source: Hu et al. 2021, section 4.1; the computation is that of
    `keras.layers.Dense.enable_lora` and `keras.layers.Embedding.enable_lora`, and
    `rank` and `alpha` are the `r` and `lora_alpha` of peft.

    Args:
        model: task or other built `keras.Model`, or layer. If it is part of a task,
            compile the task after the call, also before `predict`.
        rank: int, width of A and height of B, at least 1.
        layers: str or list of str, the layers that are adapted; by default all that can
            be. A name is a path such as "block_0/attention/query", or names in it such
            as "query", "block_0" or "attention/value"; `*` and `?` stand for any text.
        alpha: float, factor of `A B`; by default `rank`, so that the factor is 1.

    Raises:
        ValueError: if the rank is not positive, a name fits no layer that can be
            adapted, there is no such layer, or LoRA is already enabled.

    Example:
        >>> dense = keras.layers.Dense(2, name="query")
        >>> dense.build((None, 3))
        >>> enable_lora(dense, rank=1, layers=["query"])
        >>> [tuple(weight.shape) for weight in dense.trainable_weights]
        [(3, 1), (1, 2)]
    """
    rank = check_value("rank", rank, Size)
    check_value("layers", layers, str | list[str] | tuple[str, ...] | None)
    alpha = check_value("alpha", alpha, Positive | None)
    known = _adaptable_layers(model)
    if lora_layers(model):
        raise ValueError(
            "LoRA can be enabled only once. Received: a model with LoRA. Save and load "
            "the model to merge the weights, then enable LoRA again."
        )
    strategy = getattr(model, "distribute_strategy", None)  # TensorFlow's models'
    with strategy.scope() if strategy else contextlib.nullcontext():
        for layer in _choose_layers(known, layers):
            layer.enable_lora(rank, lora_alpha=alpha)
    for variable in _body(model).weights:
        variable.trainable = is_lora(variable)
    reset_functions(model)


def _body(model):
    """The backbone of a task; another model itself."""
    return model.backbone if hasattr(model, "layers_used") else model


def _adaptable_layers(model):
    """The layers that can have LoRA; ValueError if there is none."""
    body = _body(model)
    unused = set() if body is model else {*body.named_layers} - model.layers_used()
    layers = [
        layer
        for layer in all_layers(body)
        if type(layer) in ADAPTED_LAYERS
        and layer.trainable
        and layer.path.split("/")[0] not in unused
    ]
    if not layers:
        raise ValueError(
            "`model` must have a trainable Dense or Embedding layer. Received: "
            f"{model.name!r}, which has none to adapt: recurrent layers have no LoRA. "
            "Set `trainable` to True for what is frozen, or train the head only with "
            "`model.backbone.trainable = False`."
        )
    return layers


def _choose_layers(known, names):
    """Those of the layers that names or patterns stand for, a list."""
    if names is None:
        return known
    names = [names] if isinstance(names, str) else names
    if not names:
        raise ValueError(
            "`layers` must have a name, or be None for all layers. Received: "
            f"{names!r}."
        )
    paths, chosen = {layer.path for layer in known}, set()
    for name in names:
        pattern = f"*/{name}/*"
        found = {path for path in paths if fnmatch.fnmatchcase(f"/{path}/", pattern)}
        found = {name} & paths or found
        if not found or not name:
            raise _unknown_layer(name, sorted(paths))
        chosen |= found
    return [layer for layer in known if layer.path in chosen]


def _unknown_layer(name, paths):
    """The error about a name that stands for no layer, with the nearest names."""
    parts = {part: None for path in paths for part in path.split("/")}
    near = difflib.get_close_matches(name, [*parts, *paths], n=3, cutoff=0.5)
    hint = f" Did you mean {', '.join(map(repr, near))}?" if near else ""
    return ValueError(
        "`layers` must name trainable Dense or Embedding layers of the model. "
        f"Received: {name!r:.80}.{hint} The names are {', '.join(map(repr, parts))}."
    )


def is_lora(variable):
    """Whether a variable is A or B of LoRA."""
    return variable.name.startswith("lora_")


def lora_layers(model):
    """The layers of a model that have LoRA, a list."""
    return [x for x in all_layers(model) if getattr(x, "lora_enabled", False)]


def restart_lora(model):
    """Lets LoRA learn again, after Keras loaded merged weights and set it to zero."""
    # If A and B are zero, so are their gradients.
    for layer in lora_layers(model):
        for variable in layer.weights:
            if is_lora(variable) and variable.name.endswith("_a"):
                if not ops.any(variable):
                    variable.assign(keras.initializers.HeUniform()(variable.shape))


def merged_weights(model):
    """Dict of `id` of a variable to the array that a file holds, with LoRA merged."""
    merged = {id(v): v.value for v in model.weights if not is_lora(v)}
    for layer in lora_layers(model):
        variables = {variable.name: variable for variable in layer.weights}
        store = {}
        layer.save_own_variables(store)
        names = layer.variable_serialization_spec[layer.quantization_mode]
        names = [name for name in names if name in variables]
        for name, value in zip(names, store.values(), strict=True):
            merged[id(variables[name])] = value
    return {key: ops.convert_to_numpy(value) for key, value in merged.items()}
