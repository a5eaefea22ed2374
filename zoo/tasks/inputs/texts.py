"""What a user gives to a task, read and checked once.

`zoo.tasks.inputs.reading.read_data` makes one of three values of it, which have the
same methods: `Texts` of arrays of text, `TextDataset` of a dataset or a stream of text,
and `TokenIds` of what Keras takes without a change.
"""

import dataclasses
import types

import keras
import numpy as np
import tensorflow as tf

from zoo.data import untuned
from zoo.data.held_out import held_out_rows
from zoo.tasks.inputs.target_reading import read_targets
from zoo.tasks.inputs.targets import class_numbers
from zoo.tasks.inputs.text_batches import (
    ROWS_IN_BATCH,
    BatchPlan,
    array_batches,
    dataset_batches,
    encode_batch,
    no_outputs,
    sorted_batches,
)
from zoo.tasks.inputs.text_streams import keep_batches


@dataclasses.dataclass(frozen=True, eq=False)
class Texts:
    """Columns of texts with their targets and weights.

    Args:
        task: `zoo.tasks.Task` that reads them.
        columns: tuple of string tensors (N,).
        targets: list of tensors (N, ...): the encoded labels, if any, and the weights.
    """

    task: object
    columns: tuple
    targets: list

    @property
    def num_columns(self):
        """The number of columns."""
        return len(self.columns)

    def in_memory(self):
        """The same value; see `TextDataset`."""
        return self

    def labels(self):
        """The encoded labels, an array (N, ...) or ragged; None if there are none."""
        target = self.targets[0] if self.targets else None
        ragged = target is None or isinstance(target, tf.RaggedTensor)
        return target if ragged else target.numpy()

    def with_class_weight(self, class_weight):
        """The data, and the weights of classes that Keras is to apply, or None.

        Those of parts of rows, such as words, become weights of these parts.
        `class_weight` is that of `fit`.
        """
        if class_weight is None:
            return self, None
        weights = self.targets[1].numpy() if self.targets[1:] else None
        found = self.task.encode_class_weight(class_weight, self.labels(), weights)
        if isinstance(found, dict):
            return self, found
        weights = tf.constant(found, None if found.dtype == object else tf.float32)
        return dataclasses.replace(self, targets=[self.targets[0], weights]), None

    def split(self, share):
        """Splits the share of rows for validation off: two `Texts`.

        As many rows are held out as in Keras, which takes the last ones. If a row has
        one of a few labels, they are the last ones of each label, so that all labels
        have their shares. Raises ValueError if a part would have no rows.
        """
        count = len(self.columns[0])
        cut = int(count * (1 - share))
        if not 0 < cut < count:
            raise ValueError(
                "`validation_split` must leave rows on both sides. Received: "
                f"{share} of {count} rows. Use `validation_data`."
            )
        held_out = np.arange(cut, count)
        if self.task.files.stratified and self.targets:
            held_out = held_out_rows(class_numbers(self.labels()), count - cut)
        train = np.delete(np.arange(count), held_out)
        return self._rows(train), self._rows(held_out)

    def _rows(self, numbers):
        """Some of the rows."""
        columns = tuple(tf.gather(column, numbers) for column in self.columns)
        targets = [tf.gather(target, numbers) for target in self.targets]
        return Texts(self.task, columns, targets)

    def batches(self, plan):
        """The tokenised batches, see `TextTraining.batches`."""
        return array_batches(self.task, self.columns, self.targets, plan)

    def epochs(self, run):
        """The batches of all epochs of a `Run`: arguments of Keras' `fit` by name."""
        plan = BatchPlan(run.batch_size, run.shuffle, run.seed, (), run.token_budget)
        make = self.task.make_batches
        if not run.steps_per_epoch:
            found = make(self, dataclasses.replace(plan, epochs=run.number))
            run.set_count(int(found.cardinality()))
            return {"x": found}
        # One long stream. Each of the user's epochs takes its steps from it.
        known = self.task.rows_are_texts and not plan.token_budget
        rows = run.batch_size or ROWS_IN_BATCH
        size = -(-len(self.columns[0]) // rows) if known else 1
        stream = make(self, dataclasses.replace(plan, epochs=run.passes(size)))
        # A callback may restore a model, and with it the epoch to begin with.
        remaining_epochs = run.number.dataset().flat_map(
            lambda epoch: stream.skip(
                run.earlier.read() % size + epoch * run.steps_per_epoch
            )
        )
        return {"x": remaining_epochs.with_options(untuned())}

    def evaluation(self, batch_size, steps):
        """The arguments of Keras' `evaluate`, by name; `steps` must be None."""
        refuse_steps(steps, "steps")
        return {"x": self.task.make_batches(self, BatchPlan(batch_size))}

    def validation(self, run):
        """`validation_data` of Keras' `fit`, whose batches a `Run` limits."""
        refuse_steps(run.validation_steps, "validation_steps")
        size = run.validation_batch_size
        budget = run.token_budget if size is None else None
        return self.task.make_batches(self, BatchPlan(size, token_budget=budget))

    def one_batch(self):
        """x, y and weights of a batch with all rows, checked to be complete."""
        example = encode_batch(self.task, self.columns, *self.targets)
        x, y, weights = keras.utils.unpack_x_y_sample_weight(example)
        missing = sorted(self.task.input.keys() - self.task.complete(x).keys())
        if missing:
            raise TypeError(
                f"One batch of a {type(self.task).__name__} must also have "
                f"`{'`, `'.join(missing)}`. Received: text. Use `fit`, or a batch of "
                "`batches(texts)`."
            )
        return x, y, weights

    def predict(self, predict, batch_size, steps):
        """The outputs of `predict`, a function of data, in the order of the rows."""
        check_predicts(self.task)
        refuse_steps(steps, "steps")
        if not self.columns[0].shape[0]:
            return no_outputs(self.task, self.num_columns)
        x, order = sorted_batches(self.task, self.columns, batch_size)
        outputs = predict(x, None)
        return keras.tree.map_structure(lambda part: part[np.argsort(order)], outputs)


@dataclasses.dataclass(frozen=True, eq=False)
class TextDataset:
    """A dataset of batches of text, perhaps with targets and weights.

    Args:
        task: `zoo.tasks.Task` that reads it.
        dataset: tf.data.Dataset of texts or tuples `(texts, y, weights)`.
        encoded: bool, whether the targets are encoded.
    """

    task: object
    dataset: tf.data.Dataset
    encoded: bool = False

    @property
    def num_columns(self):
        """The number of columns."""
        texts = self.dataset.element_spec
        texts = texts[0] if isinstance(texts, tuple) else texts
        return len(texts) if isinstance(texts, tuple) else 1

    def in_memory(self):
        """`Texts` of all batches, of which there must be one."""
        batches = list(self.dataset)
        if not batches:
            raise ValueError("A dataset must have a batch. Received: an empty one.")
        batches = [b if isinstance(b, tuple) else (b,) for b in batches]
        joined = keras.tree.map_structure(lambda *parts: tf.concat(parts, 0), *batches)
        columns = joined[0] if isinstance(joined[0], tuple) else joined[:1]
        targets = [*joined[1:]]
        if not self.encoded:
            targets = read_targets(self.task, columns, *(t.numpy() for t in targets))
        return Texts(self.task, columns, targets)

    def labels(self):
        """None: a dataset is not read before the training."""
        return None

    def with_class_weight(self, class_weight):
        """See `Texts`."""
        if class_weight is None:
            return self, None
        return self, self.task.encode_class_weight(class_weight)

    def split(self, share):
        """Raises ValueError, since a dataset has no numbered rows."""
        raise ValueError(
            "`validation_split` needs arrays. Received: a dataset. Use its `take` and "
            "`skip`, and `validation_data`."
        )

    def batches(self, plan=None):
        """The tokenised batches; the dataset has an order of its own."""
        return dataset_batches(self.task, self.dataset, self.encoded)

    def epochs(self, run):
        """See `Texts`."""
        plan = BatchPlan(None, run.shuffle, run.seed, run.number)
        dataset = run.read(self.dataset, self.task.optimizer)
        counted = dataclasses.replace(self, dataset=dataset)
        return {"x": self.task.make_batches(counted, plan)}

    def evaluation(self, batch_size, steps):
        """See `Texts`; the dataset has the size of the batches."""
        return {"x": self.task.make_batches(self, BatchPlan()), "steps": steps}

    def validation(self, run):
        """See `Texts`; the dataset has the size of the batches."""
        return self.task.make_batches(self, BatchPlan())

    def one_batch(self):
        """Raises TypeError: a dataset has several batches."""
        raise TypeError(
            "One batch of texts must be a list, an array or a tensor of strings. "
            f"Received: {type(self.dataset).__name__}. Use `fit`, `evaluate` or "
            "`predict`."
        )

    def predict(self, predict, batch_size, steps):
        """See `Texts`."""
        check_predicts(self.task)
        return predict(self.batches(), batch_size)


@dataclasses.dataclass(frozen=True, eq=False)
class TokenIds:
    """Data that Keras reads, such as token ids.

    Args:
        task: `zoo.tasks.Task` that reads them.
        x, y, sample_weight, validation_split: as of `keras.Model.fit`.
    """

    task: object
    x: object
    y: object = None
    sample_weight: object = None
    validation_split: float = 0.0

    @property
    def num_columns(self):
        """The number of columns of the rows that the task has."""
        return self.task.num_columns

    def labels(self):
        """None: token ids are not checked before Keras reads them."""
        return None

    def with_class_weight(self, class_weight):
        """See `Texts`."""
        if class_weight is None:
            return self, None
        return self, self.task.encode_class_weight(class_weight)

    def split(self, share):
        """The data, which Keras will split, and None."""
        return dataclasses.replace(self, validation_split=share), None

    def batches(self, plan):
        """Raises TypeError, since nothing is to be tokenised."""
        raise TypeError(
            "A column of texts must be a list, an array or a tensor of strings. "
            f"Received: {type(self.x).__name__}. Use `list(texts)`."
        )

    def epochs(self, run):
        """See `Texts`."""
        x = run.read(self.x, self.task.optimizer)
        share = {"validation_split": self.validation_split}
        return {**self._data(), "x": x, "batch_size": run.batch_size, **share}

    def evaluation(self, batch_size, steps):
        """See `Texts`."""
        return {**self._data(), "batch_size": batch_size, "steps": steps}

    def validation(self, run):
        """See `Texts`."""
        x = self.x
        if isinstance(x, types.GeneratorType) and run.validation_steps is None:
            x = keep_batches(x)  # every epoch reads it
        return x if self.y is None else (x, self.y, self.sample_weight)

    def _data(self):
        return {"x": self.x, "y": self.y, "sample_weight": self.sample_weight}

    def one_batch(self):
        """x, y and weights."""
        weights = self.sample_weight
        if weights is not None:
            weights = keras.tree.map_structure(
                lambda weight: tf.convert_to_tensor(weight, tf.float32), weights
            )
        return self.x, self.y, weights

    def predict(self, predict, batch_size, steps):
        """See `Texts`."""
        return predict(self.x, batch_size)


def refuse_steps(count, name):
    """Raises ValueError if an argument limits the batches of an array of text."""
    if count is not None:
        raise ValueError(
            f"`{name}` counts the batches of a dataset. Arrays of text are sorted by "
            f"length. Received: {name}={count} and an array. Use a part of the array."
        )


def check_predicts(task):
    """Raises TypeError if the outputs of texts differ in shape."""
    if not task.answers_tokens:
        raise TypeError(
            "`predict` cannot return outputs of texts of different lengths. Received: "
            f"text. Use `{'` or `'.join(task.text_methods)}`."
        )
