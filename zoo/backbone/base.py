"""The base class of every family: a functional model made from a frozen config."""

import dataclasses
import functools

import keras
from keras import ops

from zoo.backbone.config import make_config, naming
from zoo.backbone.freezing import freeze_layers, frozen_layers, layer_tree
from zoo.backbone.saving import (
    check_keys,
    load_spare_heads,
    restore_part,
    save_preset,
    save_spare_heads,
    save_weights,
    save_whole,
)
from zoo.backbone.steps import Steps
from zoo.backbone.token_inputs import TokenInputs
from zoo.backbone.weight_shapes import find_shapes, without_values
from zoo.family import check_size
from zoo.files.buckets import local_path
from zoo.layers import (
    quantize_again,
    quantize_model,
    quantized_layers,
    restart_lora,
)


class Backbone(TokenInputs, Steps, keras.Model):
    """A Keras functional model made from one frozen config.

    A family sets `family` and `config_class`, and writes these functions:

    - `input_shapes(config)`: the shapes of other inputs than tokens (B, L) and what is
      derived from them; `make_inputs(config)` makes the symbolic inputs;
    - `make_layers(config, dtype)`: the layers by name;
    - `connect(config, layers, inputs, scores)`: the outputs of the connected layers;
      `connect_at` those at some positions, if that saves work;
    - `groups()`: the names of the layers from bottom to top;
    - `state_shapes(config)`: the shapes of the states of a recurrent model.

    Attributes:
        defaults: dict of a preset's values for fine-tuning: learning_rate,
            head_multiplier, epochs, pooling and pair_pooling, which replaces it for
            pairs, all optional, and `tasks`, which may hold such a dict for the name of
            a task. `save_to_preset` writes them.

    Args:
        config: instance of `config_class`.
        dtype: dtype or policy name of every layer; the global policy by default.
        name: str.
        parts: dict of name to `Backbone`, models whose outputs this one reads.

    Inputs:
        dict of the tokens, which are token_ids (B, L) in most families, and of inputs
        that `complete` may derive from them.

    Returns:
        dict of tensors, one for each output; see `with_outputs`.

    Raises:
        TypeError: if the config is of another class.
        ValueError: if the model has more than `zoo.family.MOST_VALUES` weights.
    """

    family = None
    config_class = None
    tokenizer = None
    spare_heads = {}  # arrays of the heads of the preset that no task uses
    head_options = {}  # arguments of a task with these heads
    origin = None  # name of the shipped preset that it was loaded from
    on_request = ("layer_outputs", "attention_scores")
    reverse = False  # whether the tokens are read from the last to the first
    own_layers = {}  # output to the names of layers that only it depends on
    adds_tokens = False  # whether `connect` takes a layer "special_embedding"
    answer_function = None  # what is compiled to answer texts

    def __init__(self, config, dtype=None, name=None, parts=None, **kwargs):
        if not isinstance(config, self.config_class):
            raise TypeError(
                f"`config` must be a {self.config_class.__name__}. Received: "
                f"{type(config).__name__}."
            )
        if not without_values.get():
            shapes = find_shapes(lambda: type(self)(config, parts=parts))
            check_size(shapes, type(config).__name__)
        policy = keras.dtype_policies.get(dtype or keras.config.dtype_policy())
        self.parts = dict(parts or {})
        self.config = config  # before the model is made: outputs may depend on it
        # By name: Keras cannot record a policy object among a layer's arguments.
        layers = self.make_layers(config, policy.name)
        inputs = self.make_inputs(config)
        outputs = self.connect(config, layers, inputs)
        requested = {*self.on_request, *self.state_shapes(config)}
        super().__init__(
            inputs=inputs,
            outputs={k: v for k, v in outputs.items() if k not in requested},
            name=name or type(self).__name__.lower(),
            **kwargs,
        )
        self.dtype_policy = policy  # a functional model drops the argument
        self.defaults = {}
        self.named_layers = layers
        # A function, which Keras does not track as it tracks lists and dicts of models.
        self._step_model = functools.cache(self.with_outputs)

    def defaults_for(self, task_name):
        """The values of `defaults` for the task of a name, dict."""
        tasks = self.defaults.get("tasks") or {}
        return {**self.defaults, **(tasks.get(task_name) or {})}

    @property
    def predicts(self):
        """What the model was pretrained to predict, str or None.

        "masked" or "next" tokens, "both" neighbours, or "target", a text that belongs
        to another one, the source.
        """
        return None

    @property
    def reads_forward(self):
        """Whether a token sees none after it; so the first one sees only itself."""
        return self.predicts == "next" and not self.reverse

    def with_outputs(self, *names):
        """A model with the same layers and weights, and with other outputs.

        Args:
            *names: str, names of outputs. An encoder also has "layer_outputs"
                (B, N + 1, L, D), the embeddings and the output of each layer, and
                "attention_scores" float32 (B, N, H, L, L).

        Returns:
            keras.Model, whose inputs and outputs are dicts.

        Raises:
            ValueError: if an output is unknown.
        """
        inputs = self.make_inputs(self.config)
        shapes = self.state_shapes(self.config)
        if {*names} & shapes.keys():
            inputs |= {k: keras.Input(shape, name=k) for k, shape in shapes.items()}
        scores = any(name.endswith("attention_scores") for name in names)
        outputs = self.connect(self.config, self.named_layers, inputs, scores=scores)
        for name in names:
            if name not in outputs:
                raise ValueError(
                    f"{type(self).__name__} has no output {name!r}. It has "
                    f"{', '.join(sorted({*outputs, *self.on_request}))}."
                )
        return keras.Model(inputs, {name: outputs[name] for name in names})

    def at_positions(self, inputs, positions):
        """The outputs at some positions; the last layer computes only these.

        Args:
            inputs: dict of symbolic tensors, all inputs of the model.
            positions: symbolic int32 (B, P); P may be 0.

        Returns:
            dict of symbolic sequence_output (B, P, D), and pooled_output if there is
            one.
        """
        symbols = self.make_inputs(self.config)
        chosen = keras.Input((None,), dtype="int32", name="positions")
        outputs = self.connect_at(self.config, self.named_layers, symbols, chosen)
        model = keras.Model({**symbols, "positions": chosen}, outputs, name=self.name)
        return model({**inputs, "positions": positions})

    def connect_at(self, config, layers, inputs, positions):
        """The outputs of `connect` at some positions."""
        x = self.connect(config, layers, inputs)["sequence_output"]
        taken = ops.take_along_axis(x, positions[:, :, None], axis=1)
        return {"sequence_output": taken}

    def make_token_head(self, activation=None, layer_norm_epsilon=None):
        """A new layer that predicts tokens from vectors, (B, L, D) to (B, L, V).

        Args:
            activation, layer_norm_epsilon: those of a head that has them, str and
                float; by default the backbone's.
        """
        raise NotImplementedError

    def make_decoder(self):
        """What reads a source and writes a target: the model, or one like it."""
        return self

    # Layers from bottom to top ---------------------------------------------------

    @property
    def num_layer_outputs(self):
        """The number N + 1 of `layer_outputs`; the first one is the embeddings."""
        return self.config.num_layers + 1

    def groups(self):
        """Names of the layers from bottom to top, tuple of tuples of str.

        Each of the last `num_layer_outputs` groups makes one layer output. A layer that
        only one other output depends on is in `own_layers` instead.
        """
        raise NotImplementedError

    def layers_for(self, output="sequence_output", number=None):
        """Names of the layers that an output depends on, set of str.

        Args:
            output: str, name of an output.
            number: int, the number of a layer output, in place of `output`.
        """
        groups, output_layers = self.groups(), ()
        if number is None:
            output_layers = self.own_layers.get(output, ())
        else:
            groups = groups[: len(groups) - self.num_layer_outputs + number + 1]
        return {*output_layers, *(name for group in groups for name in group)}

    # Files -----------------------------------------------------------------------

    @classmethod
    def weight_shapes(cls, config):
        """The shapes of the weights by path, of a model that is not built."""
        return find_shapes(lambda: cls(config))

    def variable_paths(self):
        """Dict of `id` to path, `part/variable`, of the variables of the parts."""
        return {
            id(variable): f"{name}/{variable.path}"
            for name, part in self.parts.items()
            for variable in part.variables
        }

    def save(self, filepath, overwrite=True, zipped=None, **kwargs):
        """Writes a complete `.keras` file; see `zoo.backbone.saving.save_whole`."""
        save_whole(super().save, filepath, overwrite, zipped, **kwargs)

    def quantize(self, mode=None, config=None, **kwargs):
        """Quantizes layers, such as to "int8"; see `zoo.layers.quantize_model`."""
        quantize_model(self, super().quantize, mode, config, **kwargs)

    def save_to_preset(self, directory, layout="zoo", dtype="float32", heads=None):
        """Writes a directory for `zoo.from_preset`; see `saving.save_preset`."""
        save_preset(self, None, directory, layout, dtype, heads)

    def load_weights(self, filepath, *args, **kwargs):
        """Reads a weight file of Keras, in which LoRA is merged, see `restart_lora`."""
        super().load_weights(str(local_path(filepath)), *args, **kwargs)
        restart_lora(self)

    def save_weights(self, filepath, *args, **kwargs):
        """Writes a weight file of Keras; see `zoo.backbone.saving.save_weights`."""
        save_weights(super().save_weights, filepath, *args, **kwargs)

    def save_assets(self, directory):
        """Adds the spare heads to a `.keras` file."""
        save_spare_heads(self, directory)

    def load_assets(self, directory):
        """Restores the spare heads."""
        load_spare_heads(self, directory)

    def layer_tree(self):
        """Dict of path to layer: the model itself, ".", and all inner layers."""
        tree = {".": self}
        for name, part in self.parts.items():
            inner = part.layer_tree().items()
            tree |= {name if k == "." else f"{name}/{k}": child for k, child in inner}
        for name, layer in self.named_layers.items():
            tree |= layer_tree(layer, name)
        return tree

    def get_config(self):
        """Plain values: the fields of the config, the policy, and the tokenizer."""
        serialize = keras.saving.serialize_keras_object
        config = {
            "config": dataclasses.asdict(self.config),
            "dtype": keras.dtype_policies.serialize(self.dtype_policy),
            "name": self.name,
            "tokenizer": self.tokenizer and serialize(self.tokenizer),
            "frozen": frozen_layers(self),
            "quantized": quantized_layers(self),
            "origin": self.origin,
            "defaults": dict(self.defaults),
            "head_options": self.head_options,
        }
        if self.parts:
            config["parts"] = {k: serialize(part) for k, part in self.parts.items()}
        return config

    @classmethod
    def from_config(cls, config, custom_objects=None):
        """Rebuilds the model; ValueError names a damaged field."""
        owner = cls.__name__
        check_keys(config, ("config", "dtype", "name"), owner)
        parts = config.get("parts") or {}
        with naming(f"The config of {owner}"):
            parts = {k: restore_part(parts, k, Backbone, owner) for k in parts}
            backbone = cls(
                make_config(cls.config_class, config["config"], f"`config` of {owner}"),
                dtype=keras.dtype_policies.deserialize(config["dtype"]),
                name=config["name"],
                parts=parts,
            )
            backbone.tokenizer = restore_part(config, "tokenizer", None, owner)
            backbone.origin = config.get("origin")
            backbone.defaults = config.get("defaults") or {}
            backbone.head_options = config.get("head_options") or {}
            quantize_again(backbone, config.get("quantized"))
            return freeze_layers(backbone, config.get("frozen"))
