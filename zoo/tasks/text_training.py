"""Keras' fit, evaluate and predict for models that take text."""

import concurrent.futures
import os
import threading
import warnings

import keras
import numpy as np
import tensorflow as tf

from zoo.data import Epoch, plan_batches, untuned
from zoo.tasks.epochs import with_epoch
from zoo.tasks.text_columns import TextColumns
from zoo.tasks.text_input import as_columns, count_columns, holds_text, split_rows

PREDICTING = threading.RLock()  # Keras keeps the state of a prediction on the model
ROWS_PER_CALL = 2048


class TextTraining(TextColumns):
    """Overrides the methods of `keras.Model` that take data, so that text may be data.

    What is not text goes to Keras unchanged. A model has `preprocessor`, a
    `zoo.data.Packer` or None, `columns`, `encode_labels` and `encode_label_tensor`.
    """

    def fit(
        self,
        x=None,
        y=None,
        batch_size=None,
        epochs=1,
        verbose="auto",
        callbacks=None,
        *,
        seed=0,
        **options,
    ):
        """Keras' `fit`, on text or on token ids.

        Arrays of text are tokenised once, batched by length and reshuffled every
        epoch, as a function of `seed` and the epoch. Datasets keep their batches.

        Args:
            x: texts, pairs, a dataset of either, or what Keras takes.
            y: targets, names or numbers.
            seed: int, of the order of the rows.
            **options: and the arguments before `seed`, of `keras.Model.fit`.

        Returns:
            keras.callbacks.History.

        Raises:
            TypeError: if `x` is one string or a list of pairs.
            ValueError: if a label is unknown, or columns differ in length.
        """
        if options.get("class_weight"):
            options["class_weight"] = self.encode_class_weight(options["class_weight"])
        x = self.as_text(x)
        data = {"x": x, "y": y, "batch_size": batch_size, **options}
        if self.takes_text(x):
            number = Epoch(options.get("initial_epoch", 0))
            data = self._tokenised_data(data, epochs, seed, number)
            callbacks = with_epoch(callbacks, number)
        if data.get("validation_data") is not None:
            size = options.get("validation_batch_size") or batch_size
            data["validation_data"] = self._evaluation_batches(
                data["validation_data"], size
            )
        return super().fit(epochs=epochs, verbose=verbose, callbacks=callbacks, **data)

    def _tokenised_data(self, data, epochs, seed, number):
        """The arguments of Keras' `fit` with batches of token ids for text."""
        options = dict(data)
        x, y, batch_size = (options.pop(key) for key in ("x", "y", "batch_size"))
        weight = options.pop("sample_weight", None)
        fraction = options.pop("validation_split", 0.0)
        if fraction and options.get("validation_data") is None:
            (x, y, weight), held_out = split_rows((x, y, weight), fraction)
            options["validation_data"] = held_out
        self.check_columns(count_columns(x))
        self.num_columns = count_columns(x)
        steps, start = options.get("steps_per_epoch"), options.get("initial_epoch", 0)
        shuffle = options.pop("shuffle", True)
        if steps and not isinstance(x, tf.data.Dataset):
            # One long stream, from which each of the user's epochs takes its steps.
            rows = len(as_columns(x)[0])
            number = range(-(-epochs * steps // -(-rows // (batch_size or 32))))
        x = self.batches(x, y, weight, batch_size, shuffle, seed, number)
        if isinstance(number, range):
            x = x.skip(start * steps)
        return {**options, "x": x, "shuffle": False}

    def evaluate(
        self,
        x=None,
        y=None,
        batch_size=None,
        verbose="auto",
        sample_weight=None,
        **kwargs,
    ):
        """Keras' `evaluate`, on text or on token ids."""
        x = self.as_text(x)
        if self.takes_text(x):
            _refuse_steps(x, kwargs.get("steps"))
            data = (x, y, sample_weight)
            x, y, sample_weight = self._evaluation_batches(data, batch_size), None, None
            batch_size = None
        return super().evaluate(
            x, y, batch_size, verbose, sample_weight=sample_weight, **kwargs
        )

    def predict(self, x, batch_size=None, verbose="auto", **kwargs):
        """Keras' `predict`, on text or on token ids.

        Arrays of text are sorted by length to save padding; rows come back in the
        caller's order. Safe to call from several threads, one at a time.

        Returns:
            numpy float32 (B, ...), the outputs of the graph, or a nest of them.
        """
        order, x = None, self.as_text(x)
        if self.takes_text(x):
            _refuse_steps(x, kwargs.get("steps"))
        if self.takes_text(x) and isinstance(x, tf.data.Dataset):
            x = self.batches(x)
        elif self.takes_text(x):
            columns = self.text_columns(x)
            if not columns[0].shape[0]:
                return self._predict_nothing(len(columns))
            rows = self._tokenise(columns)
            lengths = self.preprocessor.lengths(rows)
            order = np.argsort(-lengths.numpy(), kind="stable")
            x = self._gathered(rows, plan_batches(lengths, batch_size or 32, False))
            batch_size = None
        with PREDICTING:
            outputs = super().predict(x, batch_size, verbose, **kwargs)
        if order is None:
            return outputs
        return keras.tree.map_structure(lambda part: part[np.argsort(order)], outputs)

    def train_on_batch(
        self, x, y=None, sample_weight=None, class_weight=None, **kwargs
    ):
        """Keras' `train_on_batch`, on text or on token ids."""
        if class_weight:
            class_weight = self.encode_class_weight(class_weight)
        x, y, sample_weight = self._one_batch(x, y, sample_weight)
        return super().train_on_batch(x, y, sample_weight, class_weight, **kwargs)

    def test_on_batch(self, x, y=None, sample_weight=None, **kwargs):
        """Keras' `test_on_batch`, on text or on token ids."""
        x, y, sample_weight = self._one_batch(x, y, sample_weight)
        return super().test_on_batch(x, y, sample_weight, **kwargs)

    def predict_on_batch(self, x):
        """Keras' `predict_on_batch`, on text or on token ids."""
        with PREDICTING:
            outputs = super().predict_on_batch(self._one_batch(x)[0])
        # Under a strategy, Keras gives every replica the whole batch.
        replicas = self.distribute_strategy.num_replicas_in_sync
        return keras.tree.map_structure(lambda p: p[: len(p) // replicas], outputs)

    def takes_text(self, x):
        """Whether `x` is text that this model will tokenise.

        Raises:
            TypeError: if it is text, and the preprocessing is switched off.
        """
        if x is None or not holds_text(x):
            return False
        if self.preprocessor is None:
            raise TypeError(
                "The model has no preprocessor and takes token ids. Received: strings. "
                "Set `sequence_length`, which makes one, or load it with a tokenizer."
            )
        return True

    def batches(
        self,
        x,
        y=None,
        sample_weight=None,
        batch_size=None,
        shuffle=False,
        seed=0,
        epochs=(0,),
    ):
        """The tokenised batches that `fit` and `evaluate` train and test on.

        Args:
            x: texts, pairs, or a dataset of batches of either.
            y: targets (B, ...), or None; part of `x` if that is a dataset.
            sample_weight: float (B,), or None.
            batch_size: int, 32 by default.
            shuffle, seed, epochs: see `zoo.data.plan_batches`; not for datasets.

        Returns:
            tf.data.Dataset of x, (x, y) or (x, y, sample_weight), x a dict of int32
            (B, L), L the longest row of the batch, or its bucket under XLA.

        Raises:
            ValueError: if a dataset is not batched, or given targets beside its own,
                or a column differs in length.
        """
        if isinstance(x, tf.data.Dataset):
            if y is not None or sample_weight is not None:
                raise ValueError(
                    "A dataset holds its own targets and weights. Received: a dataset "
                    "and `y` or `sample_weight`. Zip them into the dataset."
                )
            return self._dataset_batches(x)
        columns = self.text_columns(x)
        if y is not None:
            self.check_rows(columns, y)
        targets = [None if y is None else tf.constant(self.encode_labels(y))]
        if sample_weight is not None:
            targets.append(tf.constant(np.asarray(sample_weight, "float32")))
        targets = [part for part in targets if part is not None]
        for part in targets:
            if part.shape[0] != columns[0].shape[0]:
                raise ValueError(
                    "Texts, targets and weights must be as many. Received: "
                    f"{columns[0].shape[0]} texts and {part.shape[0]} targets."
                )
        rows = self._tokenise(columns)
        lengths = self.preprocessor.lengths(rows)
        plan = plan_batches(lengths, batch_size or 32, shuffle, seed, epochs)
        return self._gathered(rows, plan, targets)

    def _gathered(self, rows, plan, targets=()):
        # XLA compiles anew for every length, hence buckets; nothing else needs them.
        select = self.preprocessor.selector(rows, bucketed=bool(self.jit_compile))

        def gather(index):
            return self.finish(select(index), *(tf.gather(t, index) for t in targets))

        # One thread makes batches faster than any model takes them.
        return plan.map(gather).prefetch(2).with_options(untuned())

    def finish(self, x, *targets):
        """An example of a batch, x or (x, y) or (x, y, sample_weight)."""
        return (x, *targets) if targets else x

    def _dataset_batches(self, dataset):
        spec = dataset.element_spec
        texts = tf.nest.flatten(spec[0] if isinstance(spec, tuple) else spec)
        if any(text.shape.rank != 1 for text in texts):
            raise ValueError(
                "A dataset of text must be batched. Received: elements of shape "
                f"{texts[0].shape}. Add `.batch(32)`."
            )

        self.check_columns(len(texts))

        def encode(x, y=None, *weight):
            columns = x if isinstance(x, tuple) else (x,)
            x = self.preprocessor(columns)
            if y is None:
                return self.finish(x)
            self.check_tensors(columns, y)
            return self.finish(x, self.encode_label_tensor(y), *weight)

        return dataset.map(encode, tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)

    def _tokenise(self, columns):
        """Packed rows of any number of texts, and one warning if some were cut."""

        def pack(start):
            with tf.device("CPU:0"):
                rows = [column[start : start + ROWS_PER_CALL] for column in columns]
                return self.preprocessor.pack(rows)

        # A tf.data pipeline would take longer to trace than thousands of texts to cut.
        starts = range(0, max(1, len(columns[0])), ROWS_PER_CALL)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            parts = list(pool.map(pack, starts))
        rows = {
            name: tf.concat([part[name] for part, _ in parts], 0)
            for name in parts[0][0]
        }
        cut = int(sum(cut for _, cut in parts))
        if cut and not self.truncation_reported:
            self.truncation_reported = True
            warnings.warn(
                f"{cut} of {len(columns[0])} texts are longer than "
                f"{self.preprocessor.sequence_length} tokens and were cut. This is "
                "said once per model.",
                stacklevel=4,
            )
        return rows

    def _evaluation_batches(self, data, batch_size):
        if isinstance(data, tf.data.Dataset):
            return self.batches(data) if self.takes_text(data) else data
        if isinstance(data, list) and data and isinstance(data[0], str):
            data = (data,)  # texts alone, of a model that makes its own targets
        x, y, weight = keras.utils.unpack_x_y_sample_weight(data)
        x = self.as_text(x)
        if not self.takes_text(x):
            return data
        return self.batches(x, y, weight, batch_size)

    def _one_batch(self, x, y=None, sample_weight=None):
        x = self.as_text(x)
        if self.takes_text(x):
            columns = self.text_columns(x)
            if y is not None:
                self.check_rows(columns, y)
            x = self.preprocessor(columns)
            targets = [] if y is None else [tf.constant(self.encode_labels(y))]
            if targets and sample_weight is not None:
                targets.append(tf.convert_to_tensor(sample_weight, tf.float32))
            return keras.utils.unpack_x_y_sample_weight(self.finish(x, *targets))
        if sample_weight is not None:
            sample_weight = keras.tree.map_structure(
                lambda weight: tf.convert_to_tensor(weight, tf.float32), sample_weight
            )
        return x, y, sample_weight

    def _predict_nothing(self, columns):
        empty = self.preprocessor((tf.constant([], tf.string),) * columns)
        return keras.tree.map_structure(np.asarray, self(empty, training=False))


def _refuse_steps(x, steps):
    if steps is not None and not isinstance(x, tf.data.Dataset):
        raise ValueError(
            "`steps` counts the batches of a dataset; arrays of text are sorted by "
            f"length. Received: steps={steps} and an array. Cut the array instead."
        )
