"""From the text that a user gives to batches of token ids."""

import concurrent.futures
import os

import keras
import numpy as np
import tensorflow as tf

from zoo.checks.ranges import check_values
from zoo.checks.user_warnings import warn_user
from zoo.data import plan_batches, untuned
from zoo.data.batching import as_written
from zoo.tasks.inputs.targets import row_weights, weight_tensor
from zoo.tasks.inputs.text_columns import TextColumns
from zoo.tasks.inputs.text_input import (
    check_lengths,
    count_rows,
    holds_text,
    optional_count,
    rows_at_once,
)
from zoo.tasks.inputs.text_sources import plain_column

ROWS_PER_CALL = 2048


class TextBatches(TextColumns):
    """Tokenises text and checks its targets.

    A model has `preprocessor`, a `zoo.data.Packer` or None, and `pretrains`. It also
    has the methods `encode_labels` and `encode_label_tensor`.
    """

    @property
    def makes_targets(self):
        """Whether the task makes its targets from texts, as pretraining does."""
        return self.pretrains

    def takes_text(self, x):
        """Whether `x` is text that this model will tokenise.

        Raises:
            TypeError: if it is text, but the model has no preprocessor.
        """
        if x is None or not holds_text(x):
            return False
        if self.preprocessor is None:
            raise TypeError(
                "A model without a preprocessor takes token ids. Received: strings. "
                "Set `sequence_length`, which makes one, or load it with a tokenizer."
            )
        return True

    def check_data(self, x, y, name):
        """Raises ValueError if there are no texts, or no labels though they are needed.

        Args:
            x: data for training or evaluation, from `as_text`.
            y: targets, or None.
            name: str, the method or argument that `x` was given to.
        """
        arrays = isinstance(x, (dict, list, tuple, np.ndarray, tf.Tensor))
        if isinstance(x, tf.data.Dataset):
            spec = x.element_spec
            labelled = isinstance(spec, tuple) and len(spec) > 1
            way = "Make it a dataset of pairs `(texts, labels)`."
        elif arrays or self.takes_text(x):
            labelled, way = y is not None, "Give the texts and their labels."
            if self.takes_text(x) and not count_rows(x):
                raise ValueError(
                    f"`{name}` needs at least one text. Received: 0 texts. Only "
                    "`predict` and `answer` take an empty list."
                )
        else:
            return  # a generator of batches, which Keras reads
        if not labelled and not self.makes_targets:
            raise ValueError(
                f"{type(self).__name__} needs labels. Received: `{name}` without "
                f"labels. {way}"
            )

    def targets(self, columns, y, sample_weight):
        """Targets and weights of texts as a list of tensors, checked.

        Args:
            columns: tuple of string tensors (B,).
            y: targets as the user gave them, or None.
            sample_weight: float (B,), or None.

        Raises:
            ValueError: if the task makes its own targets, or one does not fit a text.
        """
        self._refuse_targets(y is not None or sample_weight is not None)
        y, sample_weight = map(plain_column, (y, sample_weight))
        found = [] if y is None else [self.encode_labels(y)]
        if sample_weight is not None:
            found.append(row_weights(sample_weight))
        for part in found:
            check_lengths(int(columns[0].shape[0]), part)
        if y is not None:
            self.check_rows(columns, found[0])
        return [tf.constant(part) for part in found]

    def _refuse_targets(self, given):
        """Raises ValueError if the task makes its own targets, and `given` is True."""
        if given and self.makes_targets:
            pair = " For a pair use `((text, text_pair),)`." * bool(
                self.optional_columns
            )
            raise ValueError(
                f"{type(self).__name__} makes its own targets. Received: `y` or "
                f"`sample_weight`. Give texts only.{pair}"
            )

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
            ValueError: if a dataset is not batched, targets are given beside a
                dataset, the lengths of the arguments differ, or the task makes its
                own targets.
        """
        if isinstance(x, tf.data.Dataset):
            if y is not None or sample_weight is not None:
                raise ValueError(
                    "A dataset holds its own targets and weights. Received: a dataset "
                    "and `y` or `sample_weight`. Zip them into the dataset."
                )
            return self._dataset_batches(self.as_text(x))
        check_values(bool, shuffle=shuffle)
        budget = optional_count(token_budget, "token_budget")
        columns = self.text_columns(x)
        targets = self.targets(columns, y, sample_weight)
        rows, targets = self.per_row(columns, self._tokenise(columns), targets)
        lengths = self.row_lengths(rows, targets)
        size = rows_at_once(batch_size, None if budget else 32)
        plan = plan_batches(lengths, size, shuffle, seed, epochs, budget)
        return self._gathered(rows, plan, targets)

    def row_lengths(self, rows, targets=()):
        """The tokens of each row, by which batches are made, int64 tensor (N,).

        Args:
            rows: dict of ragged tensors, from `preprocessor.pack`.
            targets: list of tensors (N, ...), labels and weights.
        """
        return self.preprocessor.lengths(rows)

    def _gathered(self, rows, plan, targets=()):
        # XLA compiles anew for every length, hence buckets; nothing else needs them.
        select = self.preprocessor.selector(rows, bucketed=bool(self.jit_compile))

        @as_written
        def gather(index):
            return self.finish(select(index), *(tf.gather(t, index) for t in targets))

        # One thread makes batches faster than any model takes them.
        return plan.map(gather).prefetch(2).with_options(untuned())

    def finish(self, x, *targets):
        """An example from a batch: x, (x, y) or (x, y, sample_weight)."""
        return (x, *targets) if targets else x

    def unpack_rows(self, x, y):
        """Texts and targets, for rows that a user gives as objects with both.

        Args:
            x, y: as of `fit`.

        Returns:
            the same, or with `y` from the objects in `x`.
        """
        return x, y

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

    def encode_batch(self, columns, *targets):
        """An example from a batch of texts, as of `finish`, in a graph."""
        rows, _ = self.preprocessor.pack(columns)
        rows, targets = self.per_row(columns, rows, targets)
        return self.finish(self.preprocessor.dense(rows), *targets)

    def _dataset_batches(self, dataset):
        spec = dataset.element_spec
        self._refuse_targets(isinstance(spec, tuple) and len(spec) > 1)
        texts = tf.nest.flatten(spec[0] if isinstance(spec, tuple) else spec)
        wrong = [text.shape for text in texts if text.shape.rank != 1]
        if wrong:
            raise ValueError(
                "A dataset of text must be batched. Received: elements of shape "
                f"{wrong[0]}. Add `.batch(32)` to single texts, join words with "
                "`tf.strings.reduce_join`, and name an unknown shape with "
                "`tf.ensure_shape(texts, [None])`."
            )
        self.check_columns(len(texts))

        @as_written
        def encode(x, y=None, *weight):
            columns = x if isinstance(x, tuple) else (x,)
            if y is None:
                return self.encode_batch(columns)
            y = self.encode_label_tensor(y)
            self.check_tensors(columns, y)
            return self.encode_batch(columns, y, *map(weight_tensor, weight))

        return dataset.map(encode, tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)

    def token_lengths(self, x):
        """The numbers of tokens of texts before `fit` truncates them.

        Args:
            x: texts, as `fit` takes them.

        Returns:
            int64 numpy array (N,), special tokens included.
        """
        packer = self.packer(self.tokenizer, None)
        parts = self._packed(self.text_columns(x), packer)
        return np.concatenate([packer.lengths(rows).numpy() for rows, _ in parts])

    def _packed(self, columns, packer):
        """Packed rows and the number of truncated ones, for each part of the texts."""

        def pack(start):
            with tf.device("CPU:0"):
                rows = [column[start : start + ROWS_PER_CALL] for column in columns]
                return packer.pack(rows)

        # TensorFlow traces a tf.data pipeline for longer than this tokenises texts.
        starts = range(0, max(1, len(columns[0])), ROWS_PER_CALL)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            return list(pool.map(pack, starts))

    def _tokenise(self, columns):
        """Packed rows of any number of texts, and one warning about truncation."""
        parts = self._packed(columns, self.preprocessor)
        rows = {
            name: tf.concat([part[name] for part, _ in parts], 0)
            for name in parts[0][0]
        }
        self.report_truncation(sum(int(cut) for _, cut in parts), len(columns[0]))
        return rows

    def read_batch(self, texts, packer=None):
        """The inputs of the model for texts; outside a graph, see `report_truncation`.

        Args:
            texts: tuple of string tensors (B,).
            packer: `zoo.data.Packer`, by default that of the task.

        Returns:
            dict of int32 (B, L).
        """
        packer = packer or self.preprocessor
        rows, cut = packer.pack(texts)
        if tf.executing_eagerly():
            self.report_truncation(int(cut))
        return packer.dense(rows)

    def report_truncation(self, cut, count=None, longest=None):
        """Warns once that some of the texts are truncated.

        Args:
            cut: int, how many.
            count: int, texts in all; None if there may be others.
            longest: int, the most tokens, by default `sequence_length`.
        """
        if cut and not self.truncation_reported:
            self.truncation_reported = True
            share = f"At least {cut} of the" if count is None else f"{cut} of {count}"
            warn_user(
                f"{share} texts are longer than "
                f"{longest or self.sequence_length} tokens and were truncated. A model "
                "gives this warning once."
            )

    def _one_batch(self, x, y=None, sample_weight=None):
        """x, y and sample_weight of one batch of text or of token ids."""
        x = self.as_text(x)
        if self.takes_text(x):
            columns = self.text_columns(x)
            targets = self.targets(columns, y, sample_weight)
            example = self.encode_batch(columns, *targets)
            return keras.utils.unpack_x_y_sample_weight(example)
        if sample_weight is not None:
            sample_weight = keras.tree.map_structure(
                lambda weight: tf.convert_to_tensor(weight, tf.float32), sample_weight
            )
        return x, y, sample_weight

    def _predict_nothing(self, columns):
        """The outputs for no texts: those for one empty text, without their row.

        Some operations of Keras, such as `max`, take no batch without rows.
        """
        one = self.preprocessor((tf.constant([""]),) * columns)
        outputs = self(one, training=False)
        return keras.tree.map_structure(lambda x: np.asarray(x)[:0], outputs)
