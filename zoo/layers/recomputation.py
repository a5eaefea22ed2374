"""Layers whose activations are computed again for the gradients, to save memory."""

import keras

from zoo.keras_internals import all_layers, autocast_to, set_recomputed


class RecomputedLayer:
    """Mixin of a layer that `recompute_layers` may choose, before `keras.layers.Layer`.

    In training, the layer then keeps its inputs only. `keras.remat` alone fails on the
    TensorFlow backend for a call with keyword arguments or variables (keras#21207), and
    draws another dropout the second time.
    """

    def rematerialized_call(self, layer_call, *args, **kwargs):
        """Keras' hook: the function that is called in place of `call`."""
        if not kwargs.get("training"):
            return layer_call

        def call(*args, **kwargs):
            return recompute(self, layer_call, args, kwargs)

        return call


def recompute(layer, function, args, kwargs):
    """Calls a function of a layer; gradients compute what is inside it again."""
    fixed, trained = layer.non_trainable_variables, layer.trainable_variables
    with autocast_to(None):
        values = [keras.ops.copy(v.value) for v in trained]
        # With the states of random numbers, so that both times they are the same.
        constants = [(v, keras.ops.copy(v.value)) for v in fixed]
    leaves = keras.tree.flatten([args, kwargs])
    places = [i for i, leaf in enumerate(leaves) if is_float_tensor(leaf)]

    def compute(inputs, values):
        given = list(leaves)
        for place, tensor in zip(places, inputs, strict=True):
            given[place] = tensor
        given_args, given_kwargs = keras.tree.pack_sequence_as([args, kwargs], given)
        mapping = [*zip(trained, values, strict=True), *constants]
        dtype = layer.compute_dtype if layer.autocast else None
        with keras.StatelessScope(state_mapping=mapping) as scope, autocast_to(dtype):
            outputs = function(*given_args, **given_kwargs)
        return outputs, [scope.get_current_value(v) for v in fixed]

    outputs, states = keras.remat(compute)([leaves[i] for i in places], values)
    for (variable, before), after in zip(constants, states, strict=True):
        if after is not before:
            variable.assign(after)
    return outputs


def is_float_tensor(value):
    """Whether a value is a tensor of numbers that may have a gradient."""
    return keras.ops.is_tensor(value) and "float" in keras.backend.standardize_dtype(
        value.dtype
    )


def recompute_layers(model, chosen=True):
    """Lets the gradients of a model compute the activations of its blocks again.

    Args:
        model: `keras.Model`.
        chosen: bool, False to keep the activations, as by default.

    Raises:
        ValueError: if the model has no layer that can do it.
    """
    layers = [x for x in all_layers(model) if isinstance(x, RecomputedLayer)]
    if chosen and not layers:
        raise ValueError(
            "`remat` needs a model with blocks, such as those of a Transformer. "
            f"Received: {type(model).__name__} without any. Leave it out, and use "
            "smaller batches or `accumulate`."
        )
    for layer in layers:
        set_recomputed(layer, chosen)
