"""Layers whose weights can be stored as int8."""

import contextlib
import gc
import json

import keras
from keras import ops

from zoo.checks.ranges import check_choice
from zoo.keras_internals import all_layers, mark_quantized


class CompositeLayer(keras.layers.Layer):
    """A layer of other layers, some of which may be quantized."""

    # Keras rebuilds the inner layers from the arguments of the outer layer, in full
    # precision. The build config therefore records which inner layers are quantized,
    # and `build_from_config` quantizes them again, before Keras assigns the weights of
    # the file.
    def get_build_config(self):
        """Adds the quantized inner layers to the shapes of the inputs."""
        config = super().get_build_config()
        record = quantization_record(self._numbered())
        return {**config, "quantized": record} if config and record else config

    def build_from_config(self, config):
        """Builds the layer and quantizes the inner layers that the config names."""
        super().build_from_config(config)
        apply_quantization(self._numbered(), config.get("quantized", {}))

    def add_dense(self, name, width, units, initializer, **options):
        """Makes, builds and keeps a dense layer of vectors of a width."""
        options |= {"kernel_initializer": initializer, "dtype": self.dtype_policy}
        dense = keras.layers.Dense(units, name=name, **options)
        dense.build((None, width))
        setattr(self, name, dense)

    def _numbered(self):
        """Dict of number, as JSON has it, to inner layer; some may share a name."""
        return {str(k): layer for k, layer in enumerate(all_layers(self))}


def quantize_model(model, quantize, mode=None, config=None, **kwargs):
    """Quantizes the layers of a model that support it; see `quantize_layers`.

    The default config of "int8" does not quantize the inputs of layers, as Keras'
    default does. Files and presets hold the quantized weights.

    Args:
        model: a task or a backbone.
        quantize: the method of `keras.Model` of this name, for calls with `kwargs`.
        mode: str, such as "int8", or None with a config.
        config: `keras.quantizers.QuantizationConfig`, or None with a mode.
        **kwargs: of `keras.Model.quantize`, such as `filters`.
    """
    default = keras.quantizers.Int8QuantizationConfig
    # Keras has made a config of the mode before it calls the method of the model.
    if type(config) is default and config.get_config() == default().get_config():
        config = default(activation_quantizer=None)
    if kwargs:
        quantize(mode, config=config, **kwargs)
    else:
        quantize_layers(model, config)


def quantized_layers(model):
    """The record of what is quantized in a model; see `quantization_record`."""
    return quantization_record(own_layers(model))


def quantize_again(model, record):
    """Quantizes the layers of a record, from `quantized_layers` or None."""
    if record:
        apply_quantization(own_layers(model), record)


def own_layers(model):
    """Dict of path to layer of a task or backbone; the backbone adds no prefix."""
    tree = model.layer_tree().items()
    return {path.removeprefix("backbone/"): layer for path, layer in tree}


class MatrixLayer(keras.layers.Layer):
    """A layer whose own matrices `quantize("int8")` stores as int8.

    A matrix W becomes integers `Q = round(s W)` in [-127, 127] and a float scale
    `s = 127 / max |W|` for each column or row. The layer computes with `Q / s` in the
    compute dtype; unlike `keras.layers.Dense`, it does not quantize its inputs.
    Quantized matrices are not trainable.

    A subclass lists its matrices in `matrices`, creates them with `add_matrix`, and
    reads them with `matrix`.
    """

    # Name of each matrix: the axis over which the values share a scale.
    matrices = {}

    def add_matrix(self, name, shape, **options):
        """Creates the matrix `name` by `add_weight`, or an int8 one with its scale."""
        if self.quantization_mode == "int8":
            self._add_int8(name, shape)
        else:
            setattr(self, name, self.add_weight(name=name, shape=shape, **options))

    def _add_int8(self, name, shape):
        scales = shape[1 + self.matrices[name]]
        options = {"trainable": False, "autocast": False}
        integers = self.add_weight(
            name=name, shape=shape, initializer="zeros", dtype="int8", **options
        )
        scale = self.add_weight(
            name=f"{name}_scale", shape=(scales,), initializer="ones", **options
        )
        setattr(self, name, integers)
        setattr(self, f"{name}_scale", scale)

    def matrix(self, name):
        """The value of a matrix in the compute dtype."""
        weight = getattr(self, name)
        if self.quantization_mode == "int8":
            scale = ops.expand_dims(getattr(self, f"{name}_scale"), self.matrices[name])
            weight = ops.cast(weight, self.variable_dtype) / scale
        return ops.cast(weight, self.compute_dtype)

    def quantize(self, mode=None, type_check=True, config=None):
        """Replaces every matrix by int8 and scales; uses only a config's mode."""
        if mode != "int8":
            raise NotImplementedError(
                f'`mode` of a {type(self).__name__} must be "int8". Received: {mode}.'
            )
        for name, axis in self.matrices.items():
            weight = getattr(self, name)
            if weight is not None:
                integers, scale = int8_values(weight, axis)
                delattr(self, name)
                self._add_int8(name, integers.shape)
                getattr(self, name).assign(integers)
                getattr(self, f"{name}_scale").assign(scale)
        mark_quantized(self)
        self.dtype_policy = f"int8_from_{self.dtype_policy.name}"

    def quantized_call(self, *args, **kwargs):
        """Computes the layer with its int8 matrices, see `matrix`."""
        return self.call(*args, **kwargs)

    @classmethod
    def from_config(cls, config):
        """Creates the layer; the dtype policy is passed by its name."""
        # Keras cannot record a policy object among the arguments of a layer.
        policy = keras.dtype_policies.get(config.get("dtype"))
        return cls(**{**config, "dtype": policy.name})


def int8_values(matrix, axis):
    """A matrix (N, M) as int8 and scales: axis 0 for each column, -1 for each row."""
    integers, scale = keras.quantizers.abs_max_quantize(matrix, axis, to_numpy=True)
    return integers, ops.squeeze(scale, axis)


def quantize_layers(model, config=None):
    """Quantizes all layers of a model that support it, inner layers included.

    By default only weights are quantized, to int8. With Keras' default, which also
    quantizes the inputs of dense layers, a model on a CPU takes about five times as
    long; with ours a little longer than in float32. Layers that are already quantized,
    or do not support the config, do not change, without a warning.

    Args:
        model: built `keras.Model` or layer.
        config: `keras.quantizers.QuantizationConfig`; by default int8 without quantized
            inputs.
    """
    if config is None:
        config = keras.quantizers.Int8QuantizationConfig(activation_quantizer=None)
    with _without_old_garbage():
        for layer in list(all_layers(model)):
            # A layer without a method of its own, or of other layers, cannot.
            has_method = type(layer).quantize is not keras.layers.Layer.quantize
            single = has_method and len(all_layers(layer)) == 1
            if single and layer.quantization_mode is None:
                with contextlib.suppress(NotImplementedError):
                    layer.quantize(config=config)
    reset_functions(model)


def reset_functions(model):
    """Makes `fit`, `evaluate`, `predict` and `answer` trace their functions again."""
    # A traced function keeps using the variables that it was traced with.
    for layer in all_layers(model):
        if isinstance(layer, keras.Model):
            layer.train_function = layer.test_function = layer.predict_function = None
        if hasattr(layer, "answer_function"):
            layer.answer_function = None


def quantization_record(layers):
    """Dict of the key of each quantized layer to its config, or its mode."""
    record = {}
    for name, layer in layers.items():
        if layer.quantization_mode:
            config = getattr(layer, "quantization_config", None)
            config = config and keras.saving.serialize_keras_object(config)
            record[name] = config or layer.quantization_mode
    return record


def apply_quantization(layers, record):
    """Quantizes the layers of a record among built ones, unless they are quantized."""
    with _without_old_garbage():
        for name, layer in layers.items():
            config = record.get(name)
            if config and layer.quantization_mode is None:
                if isinstance(config, dict):
                    config = keras.saving.deserialize_keras_object(config)
                    layer.quantize(config=config)
                else:
                    layer.quantize(config)


def _known_configs():
    """What a preset can say of a layer: its word and the config for Keras."""
    config = keras.quantizers.Int8QuantizationConfig
    known = {"int8": config(activation_quantizer=None), "int8_and_inputs": config()}
    return {k: keras.saving.serialize_keras_object(c) for k, c in known.items()}


def quantization_words(record):
    """The record of quantized layers as a preset holds it, in words, dict of str."""
    known, words = {"int8": "int8"}, {}
    known |= {json.dumps(config): word for word, config in _known_configs().items()}
    for name, config in record.items():
        key = config if isinstance(config, str) else json.dumps(config)
        if key not in known:
            raise ValueError(
                "A preset holds weights of int8 or float. Received: layer "
                f"{name!r} quantized by {key:.200}. Save a `.keras` file instead."
            )
        words[name] = known[key]
    return words


def quantization_configs(words):
    """The inverse of `quantization_words`."""
    known = _known_configs()
    return {k: known[check_choice(k, word, known)] for k, word in words.items()}


@contextlib.contextmanager
def _without_old_garbage():
    """Hides existing objects from the garbage collector."""
    # Keras runs the collector for every weight that it deletes. With all objects of
    # TensorFlow, that takes a tenth of a second for each layer.
    was_frozen = gc.get_freeze_count()
    gc.freeze()
    try:
        yield
    finally:
        if not was_frozen:
            gc.unfreeze()
