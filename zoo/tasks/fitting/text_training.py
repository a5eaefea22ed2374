"""Keras' fit, evaluate and predict for models that take text."""

import threading
import types

import keras
import numpy as np
import tensorflow as tf

from zoo.backbone.token_inputs import check_inputs
from zoo.data import plan_batches, untuned
from zoo.keras_internals import called_by_fit
from zoo.tasks.fitting.epochs import Run, keep_batches, with_callbacks
from zoo.tasks.inputs.text_batches import TextBatches
from zoo.tasks.inputs.text_input import (
    as_columns,
    check_sizes,
    count_columns,
    optional_count,
    rows_at_once,
)
from zoo.tasks.inputs.text_sources import plain_column
from zoo.tasks.inputs.text_streams import is_stream, text_stream
from zoo.tasks.inputs.validation_rows import check_parts, check_share, split_rows

PREDICTING = threading.RLock()  # Keras keeps the state of a prediction on the model


class TextTraining(TextBatches):
    """Overrides the methods of `keras.Model` that take data, so that they take text.

    The methods have Keras' arguments in Keras' order. Input that is not text goes to
    Keras unchanged. `class_weight` may also be a list in the order of the labels, or
    "balanced", see `zoo.tasks.inputs.targets.class_weights`.

    Attributes:
        rows_are_texts: bool, whether each text is a row of a batch, or several.
    """

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
            x: texts, pairs, a dataset of either, or what Keras takes.
            y: labels; None for a task that makes its own.
            epochs: int; None for that of the preset, or 1 with `steps_per_epoch`.
            validation_split: float in [0, 1) or None; see `inputs.validation_rows`.
            batch_size ... validation_freq: see `keras.Model.fit`.
            seed, token_budget: see `batches`, and `zoo.tasks.fitting.epochs.Run`.

        Raises:
            TypeError: if `x` is not a batch, such as one string or a list of pairs.
            ValueError: if labels are missing or unknown, or lengths differ.
        """
        epochs = self._number_of_epochs(epochs, steps_per_epoch)
        run = Run(epochs, initial_epoch, steps_per_epoch, shuffle, seed, token_budget)
        sizes = batch_size, validation_batch_size, validation_steps, validation_freq
        batch_size, rows, steps, often = check_sizes(*sizes)
        share, rows = check_share(validation_split), rows or batch_size
        data = self._checked(x, y, "fit", sample_weight, batch_size, run.permutation)
        columns = self._training_columns(data[0])
        data, held_out = self._split(data, share, self._held_out(validation_data))
        class_weight = self._class_weight(class_weight, *data[:2])
        x, y, sample_weight = run.read(data[0], self.optimizer), *data[1:]
        if self.takes_text(x):
            x = self._epochs((x, y, sample_weight, batch_size), run)
            y = sample_weight = batch_size = share = None
        held_out = self._evaluation_data(held_out, rows, steps, run.token_budget)
        callbacks = with_callbacks(callbacks, run.callbacks(), self, run.epochs)
        self.num_columns = columns  # after all checks
        return super().fit(
            x, y, batch_size, run.epochs, verbose, callbacks, share, held_out,
            run.shuffles(x), class_weight, sample_weight, run.initial_epoch, run.steps,
            steps, rows, often,
        )  # fmt: skip

    def _class_weight(self, class_weight, x, y):
        """The weights of class numbers, a dict, or None; see `encode_class_weight`."""
        if class_weight is None:
            return None
        return self.encode_class_weight(class_weight, y if self.takes_text(x) else None)

    def _training_columns(self, x):
        """The number of columns of the data of `fit`."""
        columns = count_columns(x) if self.takes_text(x) else self.num_columns
        self.check_training_columns(columns)
        return columns

    def _number_of_epochs(self, epochs, steps_per_epoch):
        """The default is that of the preset; with `steps_per_epoch` 1, as in Keras."""
        if epochs is not None:
            return epochs
        defaults = self.backbone.defaults_for(self.task_name)
        return (steps_per_epoch is None and defaults.get("epochs")) or 1

    def _split(self, data, share, held_out):
        """Data for training and validation, each a tuple x, y, sample_weight, or None.

        Args:
            data: x, y and sample_weight, as of `fit`. Keras splits token ids.
            share: float, `validation_split`.
            held_out: a tuple of validation data, or None.
        """
        x, *targets = data
        if not self.takes_text(x):
            return data, held_out
        self.check_columns(count_columns(x))
        if not share or held_out is not None:
            return data, held_out
        classes = None
        if not isinstance(x, tf.data.Dataset):
            # Before the split, whose parts have other row numbers than the user's data.
            found = self.targets(self.text_columns(x), *targets)
            classes = found[0].numpy() if self.stratified else None
        return split_rows(data, share, classes)

    def _epochs(self, data, run):
        """Batches of text for `fit`.

        Args:
            data: x, y, sample_weight and batch_size, as of `batches`.
            run: `zoo.tasks.fitting.epochs.Run`.
        """
        x, *_, batch_size = data
        order, budget = (run.shuffle, run.seed), run.token_budget
        if isinstance(x, tf.data.Dataset):
            return self.batches(*data, *order, run.number, budget)
        if not run.steps:
            found = self.batches(*data, *order, run.number, budget)
            run.set_count(int(found.cardinality()))
            return found
        # One long stream. Each of the user's epochs takes its steps from it.
        known = self.rows_are_texts and not budget  # how many batches a pass has
        rows = len(as_columns(x)[0])
        size = -(-rows // (batch_size or 32)) if known else 1
        stream = self.batches(*data, *order, run.passes(size), budget)
        # A callback may restore a model, and with it the epoch to begin with.
        rest = run.number.dataset().flat_map(
            lambda epoch: stream.skip(run.earlier.read() % size + epoch * run.steps)
        )
        return rest.with_options(untuned())

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
        if not called_by_fit(kwargs):  # else `fit` has checked the data
            batch_size = rows_at_once(batch_size, None)
            steps = optional_count(steps, "steps")
            data = self._checked(x, y, "evaluate", sample_weight, batch_size)
            x, y, sample_weight = data
            if self.takes_text(x):
                _refuse_steps(x, steps)
                x = self._evaluation_data(data, batch_size)
                y = sample_weight = batch_size = None
        return super().evaluate(
            x, y, batch_size, verbose, sample_weight, steps, callbacks, return_dict,
            **kwargs,
        )  # fmt: skip

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
        batch_size = rows_at_once(batch_size, None)
        steps = optional_count(steps, "steps")
        order, x = None, self.as_text(x)
        if self.takes_text(x):
            if not self.answers_tokens:
                raise TypeError(
                    "`predict` cannot return outputs of texts of different lengths. "
                    f"Received: text. Use `{'` or `'.join(self.text_methods)}`."
                )
            _refuse_steps(x, steps)
        if self.takes_text(x) and isinstance(x, tf.data.Dataset):
            if isinstance(x.element_spec, tuple):  # labels are ignored
                x = x.map(lambda texts, *_: (texts,))
            x = self.batches(x)
        elif self.takes_text(x):
            columns = self.text_columns(x)
            if not columns[0].shape[0]:
                return self._predict_nothing(len(columns))
            rows = self._tokenise(columns)
            lengths = self.preprocessor.lengths(rows)
            order = np.argsort(-lengths.numpy(), kind="stable")
            size = rows_at_once(batch_size, self.predict_batch_size)
            x = self._gathered(rows, plan_batches(lengths, size, False))
            batch_size = None
        with PREDICTING:
            outputs = super().predict(x, batch_size, verbose, steps, callbacks)
        if order is None:
            return outputs
        return keras.tree.map_structure(lambda part: part[np.argsort(order)], outputs)

    def train_on_batch(
        self, x, y=None, sample_weight=None, class_weight=None, return_dict=False
    ):
        """Keras' `train_on_batch`, on text or on token ids."""
        data = self._checked(x, y, "train_on_batch", sample_weight)
        class_weight = self._class_weight(class_weight, *data[:2])
        x, y, sample_weight = self._one_batch(*data)
        return super().train_on_batch(x, y, sample_weight, class_weight, return_dict)

    def test_on_batch(self, x, y=None, sample_weight=None, return_dict=False):
        """Keras' `test_on_batch`, on text or on token ids."""
        data = self._checked(x, y, "test_on_batch", sample_weight)
        x, y, sample_weight = self._one_batch(*data)
        return super().test_on_batch(x, y, sample_weight, return_dict)

    def predict_on_batch(self, x):
        """Keras' `predict_on_batch`, on text or on token ids."""
        with PREDICTING:
            outputs = super().predict_on_batch(self._one_batch(x)[0])
        # Under a strategy, Keras gives every replica the whole batch.
        replicas = self.distribute_strategy.num_replicas_in_sync
        return keras.tree.map_structure(lambda p: p[: len(p) // replicas], outputs)

    def _held_out(self, data):
        """`validation_data` as a tuple x, y, sample_weight, checked; or None."""
        if data is None:
            return None
        check_parts(data)
        # A tuple holds arguments; a list may, as in Keras, unless it holds texts.
        texts = isinstance(data, list) and (
            len(data) not in (1, 2, 3) or isinstance(data[0], (str, bytes))
        )
        x, y, weight = data, None, None
        if not texts and self.unpack_rows(data, None)[1] is None:
            x, y, weight = keras.utils.unpack_x_y_sample_weight(data)
        return self._checked(x, y, "validation_data", weight)

    def as_text(self, x):
        """See `TextColumns.as_text`. Arrays of token ids are checked."""
        x = super().as_text(x)
        check_inputs(x, self.input)
        return x

    def _checked(self, x, y, name, sample_weight=None, batch_size=None, order=None):
        """x, y and sample_weight as lists, arrays or datasets, checked.

        Args:
            x, y, name: see `check_data`, also for errors.
            sample_weight: as of `fit`.
            batch_size, order: see `text_stream`.
        """
        x, y = self.unpack_rows(x, y)
        if is_stream(x) and y is not None:
            targets = (y,) if sample_weight is None else (y, sample_weight)
            x, y, sample_weight = (
                text_stream(self, x, targets, batch_size, order),
                None,
                None,
            )
        x = self.as_text(text_stream(self, x, (), batch_size, order))
        y, sample_weight = map(plain_column, (y, sample_weight))
        self.check_data(x, y, name)
        return x, y, sample_weight

    def _evaluation_data(self, data, batch_size, steps=None, budget=None):
        """Batches of text; other data as Keras takes it, or None.

        Without a `batch_size`, they have at most so many tokens as `budget` says.

        Args:
            data: tuple of x, y and sample_weight, or None.
            batch_size, steps, budget: ints, or None.
        """
        if data is None:
            return None
        x, y, sample_weight = data
        if isinstance(x, types.GeneratorType) and steps is None:
            x = keep_batches(x)  # every epoch reads it
        if self.takes_text(x):
            _refuse_steps(x, steps, "validation_steps")
            budget = budget if batch_size is None else None
            return self.batches(*data, batch_size, token_budget=budget)
        return x if y is None else (x, y, sample_weight)


def _refuse_steps(x, count, name="steps"):
    """Raises ValueError if an argument limits the batches of an array of text."""
    if count is not None and not isinstance(x, tf.data.Dataset):
        raise ValueError(
            f"`{name}` counts the batches of a dataset. Arrays of text are sorted by "
            f"length. Received: {name}={count} and an array. Use a part of the array."
        )
