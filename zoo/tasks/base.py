"""The base of every task: a functional model that also takes text."""

import pathlib

import keras

from zoo.backbone.token_inputs import to_tensors
from zoo.checks.ranges import Share, check_values, plain_value
from zoo.data import Packer
from zoo.family import FAMILIES
from zoo.layers import recompute_layers
from zoo.tasks.answering import answer_texts
from zoo.tasks.files.table_answers import answer_table
from zoo.tasks.files.text_files import TextFiles
from zoo.tasks.fitting.distribution import STEPS, weighted_arguments
from zoo.tasks.fitting.rate_search import find_learning_rate
from zoo.tasks.fitting.text_training import TextTraining
from zoo.tasks.inputs.text_input import holds_text
from zoo.tasks.losses.weighted_means import named_metrics
from zoo.tasks.option_kinds import check_options
from zoo.tasks.signatures import export_task
from zoo.tasks.task_layers import fix_shapes, head_layers, used_variables
from zoo.tasks.task_saving import COMPILES_NEW_TASKS, TaskSaving
from zoo.training import AdamW, PlannedDecay, layer_depths


class Task(TextTraining, TaskSaving, STEPS, keras.Model):
    """A head on a backbone, which trains, predicts and exports from raw text.

    Text is a list, array, series or tensor of strings, or a `tf.data.Dataset` of
    batches of strings; a tuple of two is a pair. With `preprocessor = None` the same
    methods take tokenised batches, dicts as the backbone does.

    A subclass sets `task_name` and `columns`, builds its graph in `__init__` and gives
    `default_loss`, `default_metrics` and `answers`, or `answer_batch`. A new task is
    compiled with `default_optimizer`.

    Attributes:
        task_name: str.
        columns, optional_columns: tuples of str, the columns of text, and those of the
            last ones that may be left out.
        files: `zoo.tasks.files.text_files.TextFiles`, with the answers for the command
            line; a `LabelledFiles` also reads labelled rows, scores and reports.
        keyword_options: tuple of str, the arguments that `__init__` takes as
            `**kwargs`, except `pair` and the options of heads.
        pretrains: bool, whether the task makes its own targets from texts, and other
            pretraining heads are saved with it.
        learning_rate: float, instead of the family's, or None.
        new_heads: tuple of str, names of the layers beside the backbone whose weights
            do not come from a preset or a file.
        packer: `zoo.data.Packer` or a subclass.
        labels: tuple of str, names of the outputs, or None.
        output_kind: str, what the outputs are for the losses of Keras: "logits",
            "label logits" with a sigmoid for each, "numbers", or another word for what
            no loss of Keras fits. None for no check.
        padding_label: int, the class number of padding in targets, or None.
        answers_tokens: bool, whether each row of the outputs has an answer. If so,
            `answer` uses `predict`, and an export also takes tokens. If not, `predict`
            refuses text, and the task defines `answer_batch`.
        text_methods: tuple of str, the methods that take text if `predict` does not.
        predict_batch_size: int, the texts that `predict` and `answer` read together.
        encodes: bool, whether the task reads the vectors of one sequence. Of a model
            that reads a source and writes a target, it has the encoder.
        pads_targets: bool, whether targets are rows with padding, whose weight is 0.

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
    files = TextFiles()
    keyword_options = ("sequence_length", "name")
    pretrains = False
    learning_rate = None
    labels = None
    output_kind = None
    padding_label = None
    packer = Packer
    answers_tokens = True
    text_methods = ("answer",)
    predict_batch_size = 32
    encodes = False
    pads_targets = False

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
        check_options(locals())
        super().__init__(inputs=inputs, outputs=outputs, name=name or self.task_name)
        self.dtype_policy = backbone.dtype_policy  # float16 needs a loss scale
        self.options = plain_value(options)
        self.num_columns = len(self.columns if pair else self.required_columns)
        longest = backbone.config.max_sequence_length
        sequence_length = longest if sequence_length is None else sequence_length
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
        self.frozen_before = None
        self.new_heads = head_layers(self)
        if COMPILES_NEW_TASKS.get():
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
        self.answer_function = None  # it has the former preprocessor
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
            # Keras would take other features for inputs, in the order of their names.
            inputs = {key: inputs[key] for key in self.input if key in inputs}
        return super().__call__(inputs, *args, **kwargs)

    def complete(self, inputs):
        """Adds the inputs that can be derived from the others."""
        return {**to_tensors(inputs, self.input), **self.backbone.complete(inputs)}

    def default_loss(self):
        """The loss that `compile` uses when none is given."""
        raise NotImplementedError

    def default_metrics(self):
        """The weighted metrics that `compile` uses when none are given."""
        return []

    def layers_used(self):
        """Names of the backbone's layers that an output depends on, a set of str."""
        return self.backbone.layers_for("sequence_output")

    @property
    def trainable_variables(self):
        """Those that the graph uses; see `unused_layers`."""
        return used_variables(self, super().trainable_variables)

    @property
    def trainable_weights(self):
        """The same, see `trainable_variables`."""
        return used_variables(self, super().trainable_weights)

    @classmethod
    def recognise(cls, found):
        """The arguments with which a converted checkpoint is this task.

        Args:
            found: `zoo.checkpoint.Converted`.

        Returns:
            dict, or None if it is not.
        """
        return None

    def compile(
        self,
        optimizer=None,
        loss=None,
        metrics=None,
        weighted_metrics=None,
        *,
        learning_rate=None,
        remat=False,
        **kwargs,
    ):
        """Keras' `compile`, with the task's loss and metrics where none is given.

        Without an optimizer it is `default_optimizer`. A mean over the batch becomes
        a mean over weights: sum(weight x loss) / sum of weights, over all replicas.

        `model.optimizer.learning_rate = x`, which callbacks of Keras use, replaces the
        schedule for good: the rate is then constant, also in later calls of `fit`. Call
        `compile(learning_rate=x)` for the default schedule with another peak.

        Args:
            optimizer, loss, metrics, weighted_metrics: as of `keras.Model.compile`.
                With padded targets, `metrics` alone are weighted, see `named_metrics`.
            learning_rate: float, the peak of the default optimizer.
            remat: bool, whether gradients compute the activations of each block again,
                which needs less memory, and a third more time.
            **kwargs: of `keras.Model.compile`, such as `jit_compile`; also
                `accumulate`, see `zoo.tasks.fitting.distribution`.

        Raises:
            ValueError: if the rate is not a positive number, there are both an
                optimizer and a rate, or the model has no block for `remat`.
        """
        self.answer_function = None  # LoRA may have been enabled
        check_values(bool, remat=remat)
        if optimizer is not None and learning_rate is not None:
            raise ValueError(
                "`learning_rate` is that of the default optimizer. Received: "
                f"learning_rate={learning_rate} and an optimizer. Give the rate to the "
                "optimizer, or leave the optimizer out."
            )
        if optimizer is None:
            optimizer = self.default_optimizer(learning_rate)
        if kwargs.get("jit_compile") is True:
            fix_shapes(self)
        recompute_layers(self, remat)
        loss = self.default_loss() if loss is None else loss
        with self.distribute_strategy.scope():
            default_metrics = self.default_metrics()
        if metrics is None and weighted_metrics is None:
            weighted_metrics = default_metrics
        elif self.pads_targets and weighted_metrics is None:
            metrics, weighted_metrics = None, named_metrics(metrics, default_metrics)
        kwargs |= {"metrics": metrics, "weighted_metrics": weighted_metrics}
        super().compile(optimizer=optimizer, **weighted_arguments(self, loss, kwargs))
        self.loss_weights = kwargs.get("loss_weights")

    @property
    def default_learning_rate(self):
        """The learning rate of the preset, of the task, or of the family, float."""
        defaults = self.backbone.defaults_for(self.task_name)
        rate = defaults.get("learning_rate") or self.learning_rate
        return rate or FAMILIES[self.backbone.family].learning_rate

    @property
    def default_head_multiplier(self):
        """The factor of the rate of new heads, of the preset or the family, float."""
        defaults = self.backbone.defaults_for(self.task_name)
        family = FAMILIES[self.backbone.family]
        return defaults.get("head_multiplier") or family.head_multiplier

    def default_optimizer(self, learning_rate=None, layer_decay=1.0):
        """A new optimizer for fine-tuning.

        It is `zoo.training.AdamW` with `PlannedDecay` and the family's warm-up, and
        clips gradients to a global norm of 1. New heads learn at
        `default_head_multiplier` times the rate.

        Args:
            learning_rate: float, the peak. The default is that of the preset, of the
                task, or of the family.
            layer_decay: float in (0, 1], see `AdamW`.

        Returns:
            AdamW.

        Raises:
            ValueError: if a number is out of its range.
        """
        check_values(Share, layer_decay=layer_decay)
        if learning_rate is None:
            learning_rate = self.default_learning_rate
        warmup_share = FAMILIES[self.backbone.family].warmup_share
        with self.distribute_strategy.scope():
            return AdamW(
                PlannedDecay(learning_rate, warmup_share=warmup_share),
                global_clipnorm=1.0,
                layer_decay=layer_decay,
                depths=layer_depths(self.backbone) if layer_decay < 1 else None,
                head_multiplier=self.default_head_multiplier if self.new_heads else 1,
                heads=self.new_heads,
            )

    def answers(self, outputs):
        """Converts the graph's outputs to an answer, a dict of tensors (B, ...)."""
        raise NotImplementedError

    def answer_batch(self, *texts):
        """Converts string tensors (B,) to `answers`, in a graph, for an export."""
        return self.answers(self(self.preprocessor(texts), training=False))

    def answer_eagerly(self, *texts):
        """`answer_batch` outside a graph."""
        return self.answer_batch(*texts)

    def serving_methods(self):
        """The functions of texts in an export, dict of the name of a signature."""
        return {"serving_default": self.answer_batch}

    def answer(self, x, batch_size=None):
        """Returns what the exported model answers, as numpy.

        A pair is read as in `predict`.

        Args:
            x: texts, or a tuple of columns of texts. An empty list has no rows.
            batch_size: int, `predict_batch_size` by default.

        Returns:
            dict of numpy arrays (B, ...); strings as str objects.

        Raises:
            TypeError: if `x` is one string, or not text.
        """
        return answer_texts(self, x, batch_size)

    def answer_file(
        self, data, output, text_column=None, pair_column=None, *, batch_size=None,
        verbose=1,
    ):  # fmt: skip
        """Answers the rows of a file of any size; returns their number, int.

        `output` is the table `data` with more columns. If it ends in .json, both are
        files of SQuAD. See `zoo.tasks.files.table_answers.answer_table` for arguments
        and errors.
        """
        if pathlib.Path(output).suffix == ".json":
            return self.files.answer_file(self, data, output)
        options = {"batch_size": batch_size, "verbose": verbose}
        return answer_table(self, data, output, text_column, pair_column, **options)

    def find_learning_rate(
        self,
        x,
        y=None,
        batch_size=None,
        sample_weight=None,
        *,
        lowest=1e-7,
        highest=1.0,
        updates=100,
        seed=0,
    ):
        """Trains with rising learning rates, and suggests one for `compile`.

        The rate rises exponentially from update to update, until the loss diverges; see
        `zoo.training.RangeTest`. Few data are repeated. Afterwards the weights, the
        state of the optimizer and the random states are what they were before.

        Args:
            x, y, batch_size, sample_weight: as of `fit`.
            lowest, highest: float, the first and the last learning rate.
            updates: int, the largest number of updates.
            seed: int, of the order of the texts.

        Returns:
            `zoo.training.RateCurve`: rates, losses, smoothed losses and `suggestion`.
            `zoo.visualize.plot_rate_curve` draws it.

        Raises:
            TypeError: if the optimizer is one of Keras and has a schedule.
            ValueError: as of `fit`, or if the rates are not positive and rising.

        Example:
            found = model.find_learning_rate(texts, labels)
            model.compile(learning_rate=found.suggestion)
        """
        data = (x, y, sample_weight)
        return find_learning_rate(
            self, data, batch_size, lowest, highest, updates, seed
        )

    def export(self, directory, version=None, pair=None, **kwargs):
        """Writes the next version of a TF Serving model, string in, answer out.

        See `zoo.tasks.signatures.export_task` for arguments, signatures and errors.
        """
        return export_task(self, directory, version, pair, **kwargs)
