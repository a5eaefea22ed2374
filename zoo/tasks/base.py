"""The base of every task: a functional model that also takes text."""

import copy

import keras
import numpy as np
import tensorflow as tf

from zoo.backbone import Backbone
from zoo.config import check_options, naming
from zoo.data import Packer
from zoo.family import FAMILIES
from zoo.freezing import freeze_layers, frozen_layers, layer_tree
from zoo.saving import KerasFile, check_keys, restore_part, save_preset
from zoo.tasks.answering import Answering
from zoo.tasks.distribution import DistributedTraining
from zoo.tasks.export import export_task
from zoo.tasks.labelled_files import LabelledFiles
from zoo.tasks.text_input import holds_text
from zoo.tasks.text_training import TextTraining
from zoo.training import AdamW, WarmupLinearDecay

WARMUP_STEPS = 50


class Task(
    LabelledFiles,
    Answering,
    TextTraining,
    DistributedTraining,
    KerasFile,
    keras.Model,
):
    """A head on a backbone, which trains, predicts and exports from raw text.

    Text is a list, array, series or tensor of strings, or a `tf.data.Dataset` of
    batches of strings; a tuple of two is a pair. With `preprocessor = None` the same
    methods take tokenised batches, dicts as the backbone does.

    A subclass sets `task_name` and `columns`, builds its graph in `__init__` and gives
    `default_loss`, `default_metrics` and `answers`, or `answer_batch`. What it reads
    from files and scores is in `zoo.tasks.labelled_files.LabelledFiles`. A new task is
    compiled with AdamW at the learning rate of the preset, the task or the family.

    Attributes:
        task_name: str.
        former_names, former_classes: tuples of str, names of the task and of its class
            in files of earlier versions.
        columns, optional_columns: tuples of str, the columns of text, and those of the
            last ones that may be left out.
        pretrains: bool, whether other pretraining heads are saved with the task.
        learning_rate: float, instead of the family's, or None.
        packer: `zoo.data.Packer` or a subclass.
        labels: tuple of str, names of the outputs, or None.

    Args:
        inputs, outputs: symbolic, of the functional graph.
        backbone: `zoo.backbone.Backbone`.
        tokenizer: callable, strings (B,) to ragged int32, or None.
        options: dict of plain values, the subclass' own arguments.
        sequence_length: int, longest row in tokens, special ones included; by default
            the backbone's.
        pair: bool, whether rows have the optional columns, which an export then takes;
            `fit` sets it from its data.
        name: str.

    Raises:
        ValueError: if the backbone is too short or too small for the arguments.
    """

    task_name = None
    former_names = ()
    former_classes = ()
    pretrains = False
    learning_rate = None
    labels = None
    packer = Packer

    def __init__(
        self,
        inputs,
        outputs,
        backbone,
        tokenizer,
        options,
        sequence_length=None,
        pair=False,
        name=None,
    ):
        super().__init__(inputs=inputs, outputs=outputs, name=name or self.task_name)
        self.dtype_policy = backbone.dtype_policy  # float16 needs a loss scale
        self.options = options
        self.num_columns = len(self.columns if pair else self.required_columns)
        longest = backbone.config.max_sequence_length
        sequence_length = sequence_length or longest
        if tokenizer and tokenizer.vocabulary_size > backbone.config.vocabulary_size:
            raise ValueError(
                "The tokenizer has more tokens than the backbone. Received: "
                f"{tokenizer.vocabulary_size} and {backbone.config.vocabulary_size}."
            )
        self.backbone = backbone
        self.tokenizer = tokenizer
        backbone.tokenizer = backbone.tokenizer or tokenizer
        self.preprocessor = None
        self.sequence_length = sequence_length
        self.truncation_reported = False
        self.compile()

    @property
    def pair(self):
        """Whether rows have the optional columns."""
        return bool(self.optional_columns) and self.num_columns == len(self.columns)

    @property
    def sequence_length(self):
        """Tokens in the longest row; to set it makes a new preprocessor."""
        return self._sequence_length

    @sequence_length.setter
    def sequence_length(self, length):
        longest = self.backbone.config.max_sequence_length
        if longest is not None and (length is None or length > longest):
            raise ValueError(
                f"`sequence_length` must be at most {longest}, the positions that the "
                f"backbone has. Received: {length}."
            )
        self._sequence_length = length
        if self.tokenizer:
            self.preprocessor = self.packer(self.tokenizer, length)

    def __call__(self, inputs, *args, **kwargs):
        """Calls the graph on a dict of token ids; text belongs to `predict`."""
        if holds_text(inputs):
            raise TypeError(
                f"{type(self).__name__} is called with token ids. Received: strings. "
                "Use `predict`, `answer`, `fit` or `evaluate`, which take text."
            )
        if isinstance(inputs, dict):
            inputs = self.complete(inputs)
        return super().__call__(inputs, *args, **kwargs)

    def complete(self, inputs):
        """Adds the inputs that can be derived from the others."""
        return self.backbone.complete(inputs)

    # What a subclass gives -----------------------------------------------------

    def default_loss(self):
        """The loss that `compile` uses when none is given."""
        raise NotImplementedError

    def default_metrics(self):
        """The weighted metrics that `compile` uses when none are given."""
        return []

    def encode_labels(self, y):
        """Targets as an array, checked; `y` as the user gave it."""
        return np.asarray(y, "float32")

    def encode_label_tensor(self, y):
        """`encode_labels` in a tf.data pipeline."""
        return tf.cast(y, tf.float32)

    def encode_class_weight(self, class_weight):
        """Class numbers for the keys of Keras' `class_weight`."""
        return class_weight

    def layers_used(self):
        """Names of the backbone's layers that an output depends on, a set of str."""
        return self.backbone.layers_for("sequence_output")

    @property
    def trainable_variables(self):
        """Those that the graph uses; see `unused_layers`."""
        return self._used(super().trainable_variables)

    @property
    def trainable_weights(self):
        """Those that the graph uses; see `unused_layers`."""
        return self._used(super().trainable_weights)

    def _used(self, variables):
        unused = self.unused_layers()
        return [v for v in variables if v.path.split("/")[0] not in unused]

    def unused_layers(self):
        """Names of the backbone's layers that no output depends on, a set of str."""
        return {*self.backbone.named_layers} - self.layers_used()

    @classmethod
    def recognise(cls, found):
        """The arguments with which a converted checkpoint is this task.

        Args:
            found: `zoo.checkpoint.Converted`.

        Returns:
            dict, or None if it is not.
        """
        return None

    # Training ------------------------------------------------------------------

    def compile(
        self,
        optimizer=None,
        loss=None,
        metrics=None,
        weighted_metrics=None,
        **kwargs,
    ):
        """Keras' `compile`, with the task's loss and metrics where none is given.

        Without an optimizer it is `default_optimizer`. A mean over the batch becomes
        a mean over weights: sum(weight x loss) / sum of weights, over all replicas.
        """
        optimizer = optimizer or self.default_optimizer()
        if kwargs.get("jit_compile") is True:
            # Shapes that depend on values, which XLA cannot compile.
            for layer in self._flatten_layers():
                for name in ("distinct", "packed"):
                    if hasattr(layer, name):
                        setattr(layer, name, False)
        loss = self.default_loss() if loss is None else loss
        if isinstance(loss, str):
            loss = keras.losses.get(loss)
        if getattr(loss, "reduction", None) == "sum_over_batch_size":
            loss = copy.copy(loss)  # the caller's own stays as it is
            loss.reduction = "mean_with_sample_weight"
        if metrics is None and weighted_metrics is None:
            weighted_metrics = self.default_metrics()
        super().compile(
            optimizer=optimizer,
            loss=loss,
            metrics=metrics,
            weighted_metrics=weighted_metrics,
            **kwargs,
        )

    def default_optimizer(self):
        """A new AdamW at the rate of the preset, of the task, or of the family."""
        backbone = self.backbone
        rate = backbone.defaults.get("learning_rate") or self.learning_rate
        rate = rate or FAMILIES[backbone.family].learning_rate
        return AdamW(WarmupLinearDecay(rate, WARMUP_STEPS))

    def get_compile_config(self):
        """Keras' record of `compile`, and whether the optimizer has a state."""
        config = super().get_compile_config()
        if config and not self.optimizer.built:
            config = {**config, "has_state": False}
        return config

    def compile_from_config(self, config):
        """Compiles as the saved model was, with room for the optimizer's state."""
        config = dict(config)
        has_state = config.pop("has_state", True)
        self.compile(**keras.saving.deserialize_keras_object(config))
        if has_state:
            self.optimizer.build(self.trainable_variables)

    def export(self, directory, version=None, pair=None, **kwargs):
        """Writes the next version of a TF Serving model, string in, answer out.

        See `zoo.tasks.export.export_task` for arguments, signatures and errors.
        """
        return export_task(self, directory, version, pair, **kwargs)

    # Files ---------------------------------------------------------------------

    def save_to_preset(self, directory, layout="zoo", dtype="float32", heads=None):
        """Writes a directory that `zoo.from_preset` reads.

        See `zoo.saving.save_preset` for arguments and errors.
        """
        self.backbone.tokenizer = self.tokenizer
        save_preset(self.backbone, self, directory, layout, dtype, heads)

    def preset_record(self):
        """What a preset says of the task, a dict of plain values."""
        options = {**self.options, "sequence_length": self.sequence_length}
        if self.optional_columns:
            options["pair"] = self.pair
        return {"name": self.task_name, "options": options}

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

    def _random_states(self):
        """States of dropout, which Keras does not save, by what they are saved as."""
        states = [v for v in self.variables if "seed_generator" in v.path]
        return {f"random_{index}": state for index, state in enumerate(states)}

    def save_own_variables(self, store):
        """Adds the random states, so that training resumes as if never stopped."""
        super().save_own_variables(store)
        for name, state in self._random_states().items():
            store[name] = state.numpy()

    def load_own_variables(self, store):
        """Restores the random states."""
        states = self._random_states()
        own = {name: store[name] for name in store.keys() if name not in states}
        super().load_own_variables(own)
        for name, state in states.items():
            if name in store:
                state.assign(store[name])

    def get_config(self):
        """Plain values: the backbone, the tokenizer and the options."""
        serialize = keras.saving.serialize_keras_object
        backbone = serialize(self.backbone)
        backbone["config"]["tokenizer"] = None  # the task's own stands beside it
        return {
            "backbone": backbone,
            "tokenizer": self.tokenizer and serialize(self.tokenizer),
            **self.preset_record()["options"],
            "name": self.name,
            "frozen": frozen_layers(self),
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
        frozen = config.pop("frozen", None)
        with naming(f"The config of {owner}"):
            return freeze_layers(cls(**{**config, **parts}), frozen)
