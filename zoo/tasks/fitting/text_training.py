"""Keras' fit, evaluate and predict for models that take text."""

import functools
import threading

import keras
import tensorflow as tf

from zoo.checks.ranges import check_values
from zoo.keras_internals import called_by_fit
from zoo.tasks.fitting.epochs import Run
from zoo.tasks.inputs.reading import (
    Columns,
    list_columns,
    read_columns,
    read_data,
    read_texts,
    read_validation_data,
    unpack_rows,
)
from zoo.tasks.inputs.targets import target_numbers
from zoo.tasks.inputs.text_batches import BatchPlan
from zoo.tasks.inputs.text_input import as_columns, optional_count
from zoo.tasks.inputs.text_streams import text_stream

# Keras keeps the state of a prediction on the model.
PREDICTION_LOCK = threading.RLock()


class TextTraining:
    """Overrides the methods of `keras.Model` that take data, so that they take text.

    The methods have Keras' arguments in Keras' order. What a user gives is read and
    checked once, see `zoo.tasks.inputs.reading.read_data`. Input that is not text goes
    to Keras unchanged. `class_weight` may also be a list in the order of the labels, or
    "balanced", see `zoo.tasks.inputs.targets.class_weights`; for sets of labels, see
    `zoo.tasks.classifiers.label_targets.LabelSets`.

    Attributes:
        columns, optional_columns: tuples of str, the columns of text, and those of the
            last ones that may be left out. A row of two columns, such as `text` and
            `text_pair`, becomes one row of tokens with two segments, unless the packer
            of a task makes a row of each column.
        joins_words: bool, whether a text may be a list of words.
        row_class: class of objects with the texts and targets of a row, or None.
        target_spec: tf.TensorSpec of encoded labels.
        rows_are_texts: bool, whether each text is a row of a batch, or several.
    """

    columns = ("text",)
    optional_columns = ()
    joins_words = False
    row_class = None
    target_spec = tf.TensorSpec(None, tf.float32)
    rows_are_texts = True

    def fit(
        self,
        x=None,
        y=None,
        batch_size=None,
        epochs=None,
        verbose="auto",
        callbacks=None,
        validation_split=0.0,
        validation_data=None,
        shuffle=True,
        class_weight=None,
        sample_weight=None,
        initial_epoch=0,
        steps_per_epoch=None,
        validation_steps=None,
        validation_batch_size=None,
        validation_freq=1,
        *,
        seed=0,
        token_budget=None,
    ):
        """Keras' `fit`, on text or on token ids; returns Keras' `History`.

        Batches have texts of similar length; a dataset keeps its own. The rate of the
        default optimizer falls to zero in this `fit`; see `zoo.training.PlanUpdates`.

        Args:
            x, y: texts, pairs or a dataset of either, and labels; or what Keras takes.
            epochs: int; None for that of the preset, or 1 with `steps_per_epoch`.
            validation_split: float in [0, 1) or None; see `zoo.tasks.inputs.texts`.
            batch_size ... validation_freq: see `keras.Model.fit`.
            seed, token_budget: see `batches`, and `zoo.tasks.fitting.epochs.Run`.

        Raises:
            TypeError: if `x` is not a batch, such as one string or a list of pairs.
            ValueError: if labels are missing or unknown, or lengths differ.
        """
        if epochs is None:
            defaults = self.backbone.defaults_for(self.task_name)
            epochs = 1 if steps_per_epoch is not None else (defaults.get("epochs") or 1)
        run = Run(
            epochs, initial_epoch, steps_per_epoch, batch_size, validation_batch_size,
            validation_steps, validation_freq, validation_split, shuffle, seed,
            token_budget,
        )  # fmt: skip
        data = read_data(self, (x, y, sample_weight), "fit", run)
        held_out = read_validation_data(self, validation_data)
        if run.validation_split and held_out is None:
            data, held_out = data.split(run.validation_split)
        data, class_weight = data.with_class_weight(class_weight)
        batches = data.epochs(run)
        options = {"verbose": verbose, "class_weight": class_weight, **run.numbers()}
        if held_out is not None:
            options["validation_data"] = held_out.validation(run)
        options["callbacks"] = run.with_callbacks(callbacks, self)
        options["shuffle"] = run.shuffles(batches["x"])
        self.num_columns = data.num_columns  # after all checks
        return super().fit(**batches, **options)

    def evaluate(
        self,
        x=None,
        y=None,
        batch_size=None,
        verbose="auto",
        sample_weight=None,
        steps=None,
        callbacks=None,
        return_dict=False,
        **kwargs,
    ):
        """Keras' `evaluate`, on text or on token ids.

        Most heads read pairs whether or not `fit` was given pairs, see the task.
        The arguments are those of `keras.Model.evaluate`.

        Raises:
            TypeError: if `x` is not a batch, such as one string or a list of pairs.
            ValueError: if labels are missing or unknown, or lengths differ.
        """
        arguments = {"x": x, "y": y, "sample_weight": sample_weight}
        arguments |= {"batch_size": batch_size, "steps": steps, **kwargs}
        if not called_by_fit(kwargs):  # else `fit` has checked the data
            batch_size = optional_count(batch_size, "batch_size")
            steps = optional_count(steps, "steps")
            data = read_data(self, (x, y, sample_weight), "evaluate")
            arguments = data.evaluation(batch_size, steps)
        options = {"verbose": verbose, "callbacks": callbacks}
        return super().evaluate(**arguments, **options, return_dict=return_dict)

    def predict(self, x, batch_size=None, verbose="auto", steps=None, callbacks=None):
        """Keras' `predict`, on text or on token ids.

        `predict` sorts arrays of text by length to save padding, and returns the rows
        in the caller's order. Several threads may call it; they run one at a time.

        With most heads, the number of columns may differ from the number that `fit` was
        given, but the model has not learned such rows then.

        Args:
            x: texts, pairs, or what Keras takes.
            batch_size: int, `predict_batch_size` by default.
            verbose, steps, callbacks: see `keras.Model.predict`.

        Returns:
            numpy float32 (B, ...), the outputs of the graph, or a nest of them.

        Raises:
            TypeError: if `x` is text, and the outputs of texts differ in shape.
        """
        batch_size = optional_count(batch_size, "batch_size")
        steps = optional_count(steps, "steps")
        options = {"verbose": verbose, "steps": steps, "callbacks": callbacks}
        predict = functools.partial(super().predict, **options)
        with PREDICTION_LOCK:
            return read_texts(self, x).predict(predict, batch_size, steps)

    def train_on_batch(
        self, x, y=None, sample_weight=None, class_weight=None, return_dict=False
    ):
        """Keras' `train_on_batch`, on text or on token ids."""
        data = read_data(self, (x, y, sample_weight), "train_on_batch")
        data, class_weight = data.with_class_weight(class_weight)
        x, y, sample_weight = data.one_batch()
        return super().train_on_batch(x, y, sample_weight, class_weight, return_dict)

    def test_on_batch(self, x, y=None, sample_weight=None, return_dict=False):
        """Keras' `test_on_batch`, on text or on token ids."""
        data = read_data(self, (x, y, sample_weight), "test_on_batch")
        x, y, sample_weight = data.one_batch()
        return super().test_on_batch(x, y, sample_weight, return_dict)

    def predict_on_batch(self, x):
        """Keras' `predict_on_batch`, on text or on token ids."""
        x, *_ = read_texts(self, x).one_batch()
        with PREDICTION_LOCK:
            outputs = super().predict_on_batch(x)
        # Under a strategy, Keras gives every replica the whole batch.
        replicas = self.distribute_strategy.num_replicas_in_sync
        return keras.tree.map_structure(lambda p: p[: len(p) // replicas], outputs)

    def batches(
        self,
        x,
        y=None,
        sample_weight=None,
        batch_size=None,
        shuffle=False,
        seed=0,
        epochs=(0,),
        token_budget=None,
    ):
        """The tokenised batches that `fit` and `evaluate` use.

        Args:
            x: texts, pairs, or a dataset of batches of either.
            y: targets (B, ...), or None. A dataset holds its own.
            sample_weight: float (B,), or None. A dataset holds its own.
            batch_size: int, 32 by default.
            shuffle, seed, epochs, token_budget: see `zoo.data.plan_batches`; ignored
                for datasets.

        Returns:
            tf.data.Dataset of x, (x, y) or (x, y, sample_weight), x a dict of int32
            (B, L). L is the longest row of the batch, or its bucket under XLA and
            in batches of a dataset.

        Raises:
            TypeError: if `x` is not text.
            ValueError: if a dataset is not batched, targets are given beside a
                dataset, the lengths of the arguments differ, or the task makes its
                own targets.
        """
        check_values(bool, shuffle=shuffle)
        budget = optional_count(token_budget, "token_budget")
        plan = BatchPlan(batch_size, shuffle, seed, epochs, budget)
        data = read_data(self, (x, y, sample_weight))
        return self.make_batches(data, plan)

    def make_batches(self, data, plan):
        """`batches` of data that were read.

        Args:
            data: `zoo.tasks.inputs.texts.Texts` or `TextDataset`.
            plan: `zoo.tasks.inputs.text_batches.BatchPlan`.
        """
        return data.batches(plan)

    # Texts and targets ---------------------------------------------------------

    @property
    def required_columns(self):
        """Names of the columns that a user must give."""
        return tuple(c for c in self.columns if c not in self.optional_columns)

    def check_columns(self, count, training=False):
        """Raises ValueError if a number of columns is not allowed.

        Args:
            count: int.
            training: bool, whether the model is to be trained on them.
        """
        if len(self.required_columns) <= count <= len(self.columns):
            return
        form = "one list of str"
        if len(self.columns) > 1:
            form = "one list for each column, in a tuple"
        noun = "column" if len(self.columns) == 1 else "columns"
        raise ValueError(
            f"{type(self).__name__} takes the {noun} {list_columns(self)}. Received: "
            f"{count} columns. Use {form}."
        )

    def text_columns(self, x):
        """The columns of text as a tuple of string tensors (B,), checked.

        Raises:
            TypeError: if `x` is not text.
            ValueError: if there are more columns than the task takes, or fewer.
        """
        columns = read_columns(self, text_stream(self, unpack_rows(self, x)[0]))
        if isinstance(columns, dict):
            raise TypeError(
                f"{type(self).__name__} needs texts here. Received: a dict of "
                f"{[*columns]}. Use `predict` for token ids."
            )
        return columns if isinstance(columns, Columns) else as_columns(columns)

    def encode_labels(self, y, columns=None):
        """Targets as an array (B, ...) of the type of `target_spec`, checked.

        Args:
            y: targets as the user gave them.
            columns: tuple of string tensors (B,), the texts, if they are known.

        Raises:
            ValueError: if a target is wrong, or does not fit its text.
        """
        return target_numbers(y)

    def encode_class_weight(self, class_weight, labels=None, weights=None):
        """Keras' `class_weight`, a dict of class numbers; or the weights of all parts.

        Keras knows one class for a row. If parts of rows have classes, such as words,
        the result is a `sample_weight` for them, an array (N, ...).

        Args:
            class_weight: as of `fit`.
            labels, weights: the encoded labels and `sample_weight`, if they are known.
        """
        raise ValueError(
            "`class_weight` needs a task with one label for each text. Received: "
            f"class_weight={class_weight} for {type(self).__name__}. Use "
            "`sample_weight`."
        )

    def per_row(self, columns, rows, targets):
        """Rows and targets, of a task that makes several rows of a text.

        Args:
            columns: tuple of string tensors (B,).
            rows: dict of ragged tensors, from `preprocessor.pack`.
            targets: list of tensors (B, ...).

        Returns:
            rows, and list of tensors with one entry for each row.
        """
        return rows, targets

    def row_lengths(self, rows, targets=()):
        """The tokens of each row, by which batches are made, int64 tensor (N,).

        Args:
            rows: dict of ragged tensors, from `preprocessor.pack`.
            targets: list of tensors (N, ...), labels and weights.
        """
        return self.preprocessor.lengths(rows)

    def finish(self, x, *targets):
        """An example from a batch: x, (x, y) or (x, y, sample_weight)."""
        return (x, *targets) if targets else x
