"""A task in presets and in Keras' files."""

import contextlib
import contextvars

import keras

from zoo.backbone import Backbone
from zoo.backbone.config import check_options, naming
from zoo.backbone.freezing import freeze_layers, frozen_layers, layer_tree
from zoo.backbone.saving import (
    check_keys,
    restore_part,
    save_preset,
    save_weights,
    save_whole,
)
from zoo.checkpoint import default_labels
from zoo.checks.user_warnings import warn_user
from zoo.files.buckets import local_path
from zoo.layers import (
    quantize_again,
    quantize_model,
    quantized_layers,
    restart_lora,
)
from zoo.tasks.adapters import load_adapter, save_adapter
from zoo.tasks.losses.logit_losses import LossError

# Whether a new task is compiled; Keras compiles those that it loads from files.
COMPILES_NEW_TASKS = contextvars.ContextVar("COMPILES_NEW_TASKS", default=True)


@contextlib.contextmanager
def uncompiled():
    """A context in which a new task is not compiled."""
    token = COMPILES_NEW_TASKS.set(False)
    try:
        yield
    finally:
        COMPILES_NEW_TASKS.reset(token)


def without_state(config):
    """A record of `compile` whose optimizer has no state to load.

    The optimizer's record says it, since a model of Keras, such as a clone, takes no
    other entry of the whole record.
    """
    optimizer = config["optimizer"]
    if not isinstance(optimizer, dict):
        optimizer = keras.saving.serialize_keras_object(keras.optimizers.get(optimizer))
    return {**config, "optimizer": {**optimizer, "has_state": False}}


def split_state(config):
    """A record of `compile`, and whether its optimizer has a state to load."""
    config, optimizer = dict(config), config["optimizer"]
    has_state = config.pop("has_state", True)  # where files of 0.1 have it
    return config, has_state and not (
        isinstance(optimizer, dict) and optimizer.get("has_state") is False
    )


class TaskSaving:
    """How a task is written and read: presets, `.keras` files, plain configs.

    Attributes:
        classifies: str, what the layer "classifier" labels, see
            `zoo.checkpoint.Converted`; or None.
        frozen_before: tuple of str, the layers that were frozen before
            `GradualUnfreezing` froze others, during its `fit`; else None.
    """

    classifies = None

    def save(self, filepath, overwrite=True, zipped=None, **kwargs):
        """Writes a complete `.keras` file; see `zoo.backbone.saving.save_whole`."""
        save_whole(super().save, filepath, overwrite, zipped, **kwargs)

    def quantize(self, mode=None, config=None, **kwargs):
        """Quantizes layers, such as to "int8"; see `zoo.layers.quantize_model`."""
        quantize_model(self, super().quantize, mode, config, **kwargs)

    def save_to_preset(self, directory, layout="zoo", dtype="float32", heads=None):
        """Writes a directory for `zoo.from_preset`, see `backbone.saving`."""
        self.backbone.tokenizer = self.tokenizer
        save_preset(self.backbone, self, directory, layout, dtype, heads)

    def save_adapter(self, path):
        """Writes LoRA and the head alone, with a record of the weights beside them.

        The record names the shipped preset, if it is one, the checksum of the
        backbone's weights without LoRA, rank, alpha and layers of LoRA, and the task.

        Args:
            path: str or path that ends in `.safetensors`; a file there is replaced.

        Raises:
            ValueError: if the name has another ending, the model has no LoRA of
                `zoo.enable_lora`, or a weight is not finite.
        """
        save_adapter(self, path)

    def load_adapter(self, path):
        """Reads a file of `save_adapter`: enables LoRA as there, and sets the head.

        The task must be made as the saved one was, with the same preset, labels and
        other options, and it must not be trained before. A task with the same LoRA gets
        the values of the file, so that one backbone can serve several adapters in turn.
        Thresholds are those of the file. Compile the task before a further training.

        Args:
            path: str or path.

        Raises:
            FileNotFoundError: if there is no such file.
            ValueError: if the file is damaged, or belongs to another family, task,
                head, backbone or LoRA. Then the task does not change.
        """
        load_adapter(self, path)

    def load_weights(self, filepath, *args, **kwargs):
        """Reads a weight file of Keras, in which LoRA is merged, see `restart_lora`."""
        super().load_weights(str(local_path(filepath)), *args, **kwargs)
        restart_lora(self)

    def save_weights(self, filepath, *args, **kwargs):
        """Writes a weight file of Keras; see `zoo.backbone.saving.save_weights`."""
        save_weights(super().save_weights, filepath, *args, **kwargs)

    def preset_record(self):
        """What a preset says of the task, a dict of plain values."""
        options = {**self.options, "sequence_length": self.sequence_length}
        if self.optional_columns:
            options["pair"] = self.pair
        return {"name": self.task_name, "options": options}

    @classmethod
    def merge_options(cls, saved, given):
        """The arguments of a task: the given ones, else the saved ones."""
        return {**saved, **given}

    def has_saved_head(self, saved):
        """Whether the saved head of a preset fits, which has the same labels.

        Labels may also name the classes of a head without names. It warns of a head
        with these labels in another order.
        """
        labels = saved.get("labels")
        if labels is None:
            return True
        same = tuple(labels) in (tuple(self.labels), default_labels(len(self.labels)))
        if not same and sorted(self.labels) == sorted(labels):
            warn_user(
                "The saved head has the same labels in another order, so it is not "
                f"used: {list(labels)}. The head starts from random weights. Leave "
                "`labels` out, or give them in that order."
            )
        return same

    def layer_tree(self):
        """Dict of path to layer, from the model itself, ".", to inner layers."""
        backbone = self.backbone.layer_tree()
        tree = {
            ".": self,
            **{
                "backbone" if path == "." else f"backbone/{path}": layer
                for path, layer in backbone.items()
            },
        }
        known = {id(layer) for layer in tree.values()}
        for layer in self.layers:
            # Models that are parts of the graph share their layers with the backbone.
            if id(layer) not in known and not isinstance(layer, keras.Model):
                tree |= layer_tree(layer, layer.name)
        return tree

    def save_own_variables(self, store):
        """Adds the random states, so that training resumes as if never stopped."""
        super().save_own_variables(store)
        for name, state in random_states(self).items():
            store[name] = state.numpy()

    def load_own_variables(self, store):
        """Restores the random states."""
        states = random_states(self)
        variables = {name: store[name] for name in store.keys() if name not in states}
        super().load_own_variables(variables)
        for name, state in states.items():
            if name in store:
                state.assign(store[name])

    def clone_on(self, inputs):
        """The outputs of a copy, for `keras.models.clone_model`; see `ModelHooks`."""
        # Keras 3.15 clones each layer alone. Then layers no longer share weights, and
        # weights that the outputs do not need are lost.
        with uncompiled():
            return type(self).from_config(self.get_config())(inputs)

    def get_compile_config(self):
        """Keras' record of `compile`, and whether the optimizer has a state."""
        config = super().get_compile_config()
        return config if not config or self.optimizer.built else without_state(config)

    def compile_from_config(self, config):
        """Compiles as the saved model was, with room for the optimizer's state."""
        config, has_state = split_state(config)
        config = keras.saving.deserialize_keras_object(config)
        try:
            self.compile(**config)
        except LossError as error:  # earlier versions did not check it
            warn_user(f"{error} The defaults are used.")
            names = "loss", "metrics", "weighted_metrics"
            self.compile(**{**config, **dict.fromkeys(names)})
        if has_state:
            self.optimizer.build(self.trainable_variables)

    def get_config(self):
        """Plain values: backbone, tokenizer with its vocabulary, and options."""
        serialize = keras.saving.serialize_keras_object
        before = self.frozen_before
        backbone = serialize(self.backbone)
        backbone["config"]["tokenizer"] = None  # the task's own stands beside it
        return {
            "backbone": backbone,
            "tokenizer": self.tokenizer and serialize(self.tokenizer),
            **self.preset_record()["options"],
            "name": self.name,
            "frozen": frozen_layers(self),
            "quantized": quantized_layers(self),
            **({} if before is None else {"frozen_before": list(before)}),
        }

    @classmethod
    def from_config(cls, config, custom_objects=None):
        """Rebuilds the model; see `get_config`."""
        owner = cls.__name__
        check_keys(config, ("backbone",), owner)
        check_options(cls.__init__, config, f"the config of {owner}")
        parts = {
            "backbone": restore_part(config, "backbone", Backbone, owner),
            "tokenizer": restore_part(config, "tokenizer", None, owner),
        }
        config = dict(config)
        frozen, quantized = config.pop("frozen", None), config.pop("quantized", None)
        before = config.pop("frozen_before", None)
        with uncompiled(), naming(f"The config of {owner}"):
            model = cls(**{**config, **parts})
            quantize_again(model, quantized)
            model.new_heads = ()  # their weights follow
            model.frozen_before = None if before is None else tuple(before)
            return freeze_layers(model, frozen)


def random_states(model):
    """States of dropout, which Keras does not save, by what they are saved as."""
    states = [v for v in model.variables if "seed_generator" in v.path]
    return {f"random_{index}": state for index, state in enumerate(states)}
