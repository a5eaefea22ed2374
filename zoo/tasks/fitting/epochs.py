"""The epochs of one call of `fit`."""

import dataclasses
import numbers
import types

import keras
import numpy as np
import tensorflow as tf

from zoo.checks.counts import whole_number
from zoo.checks.ranges import check_values
from zoo.checks.user_warnings import warn_user
from zoo.data import Epoch
from zoo.data.read_ahead import ReadAhead
from zoo.tasks.inputs.text_input import optional_count
from zoo.tasks.inputs.text_streams import KeptBatches, count_batches, keep_batches
from zoo.training import PlanUpdates
from zoo.training.update_plan import awaits_plan, batches_before

LARGEST_SEED = 2**63 - 1
OPTIONAL_COUNTS = (
    "steps_per_epoch",
    "batch_size",
    "validation_batch_size",
    "validation_steps",
    "token_budget",
)
BETWEEN_EPOCHS = 2**20  # more than the epochs of any run
UNCOUNTED = "with too many batches to count, or without end"


@dataclasses.dataclass
class Run:
    """What one call of `fit` reads: how many epochs, and in which order.

    The order of the batches depends on the seed, on the epoch, and on the number of
    batches that the model was trained on before. So three calls for one epoch have the
    orders of one call for three epochs, and a run that continues with `initial_epoch`
    has those of a run that was not interrupted.

    Args:
        epochs ... token_budget: as of `fit`. Without a `validation_batch_size`, it is
            the `batch_size`.

    Attributes:
        number: `zoo.data.Epoch`, which the data read.
        earlier: `zoo.data.Epoch`, the batches that the model was trained on before.
        first: int, what is added to Keras' number of an epoch.
        begins: int, Keras' number of the first epoch of this run.
        count: int, batches of an epoch, or None if they are not known.

    Raises:
        ValueError: if a number is out of its range.
    """

    epochs: int
    initial_epoch: int
    steps_per_epoch: int | None
    batch_size: int | None
    validation_batch_size: int | None
    validation_steps: int | None
    validation_freq: int | list
    validation_split: float | None
    shuffle: bool
    seed: int
    token_budget: int | None

    def __post_init__(self):
        """Checks the values."""
        check_values(bool, shuffle=self.shuffle)
        self.epochs = whole_number(self.epochs, "epochs", 0)
        self.initial_epoch = whole_number(self.initial_epoch, "initial_epoch", 0)
        self.seed = whole_number(self.seed, "seed", 0, most=LARGEST_SEED)
        for name in OPTIONAL_COUNTS:
            if getattr(self, name) is not None:
                setattr(self, name, optional_count(getattr(self, name), name))
        self.validation_batch_size = self.validation_batch_size or self.batch_size
        if not isinstance(self.validation_freq, list):  # of the numbers of epochs
            often = whole_number(self.validation_freq, "validation_freq", 1)
            self.validation_freq = often
        share = self.validation_split
        number = isinstance(share, numbers.Real) and not isinstance(share, bool)
        if share is not None and not (number and 0 <= share < 1):
            raise ValueError(
                "`validation_split` must be a number in [0, 1), the share of the rows "
                f"that are held out. Received: {share!r:.60}. Leave it out for none."
            )
        self.validation_split = float(share or 0)
        self.number, self.earlier = Epoch(self.initial_epoch), Epoch(0)
        self.first, self.begins = 0, self.initial_epoch
        self.count, self.counts = None, False

    def numbers(self):
        """The arguments of Keras' `fit` that are numbers, a dict."""
        names = "epochs", "initial_epoch", "steps_per_epoch", "validation_batch_size"
        names = *names, "validation_steps", "validation_freq"
        return {name: getattr(self, name) for name in names}

    def set_count(self, count):
        """Says that an epoch has `count` batches, int or None, in an own order."""
        self.count, self.counts = count, True

    def begin(self, optimizer, epoch):
        """Sets the order of the epochs from `epoch` on, the first one of this run."""
        steps = self.steps_per_epoch or self.count
        before = batches_before(optimizer, epoch, steps, self.epochs)
        self.earlier.assign(before)
        self.begins = epoch
        if self.counts:
            whole = steps and before % steps == 0
            self.first = before // steps if whole else before + BETWEEN_EPOCHS

    def in_first_epoch(self):
        """Whether the present epoch is the first one of this run."""
        return self.number.number() == self.first + self.begins

    def passes(self, size):
        """The numbers of the passes over data of `size` batches, for all epochs."""
        count = -(-(size - 1 + self.epochs * self.steps_per_epoch) // size)
        return tf.data.Dataset.range(count).map(
            lambda number: self.earlier.read() // size + number
        )

    def permutation(self, count):
        """The order of `count` batches in the present epoch, iterable of int."""
        if not self.shuffle:
            return range(count)
        seeds = [self.seed, self.number.number()]
        return np.random.default_rng(seeds).permutation(count).tolist()

    def read(self, x, optimizer):
        """Data whose batches are counted, if they can be read one by one only.

        With `steps_per_epoch`, a dataset is repeated, as arrays are.

        Args:
            x: tf.data.Dataset, generator, or other data, which do not change.
            optimizer: that of the model.

        Returns:
            the same data, in another form.
        """
        plans = optimizer is not None and awaits_plan(optimizer)
        if isinstance(x, tf.data.Dataset):
            return self._read_dataset(x, plans)
        if isinstance(x, types.GeneratorType) and not self.steps_per_epoch:
            x = keep_batches(x)
        if not self.steps_per_epoch and plans and _is_endless(x):
            _warn(
                f"a {type(x).__name__} with too many batches to count, or without end"
            )
        return x

    def _read_dataset(self, x, plans):
        """`read` for a dataset."""
        count = int(x.cardinality())
        if self.steps_per_epoch or count >= 0 or count == tf.data.INFINITE_CARDINALITY:
            if not self.steps_per_epoch and count < 0:
                _warn("a dataset without end")
            self.set_count(max(count, 0) or None)
            return x.repeat() if self.steps_per_epoch else x
        if not plans:
            self.set_count(None)
            return x
        ahead = ReadAhead(x)
        if ahead.count is None:
            _warn(f"a dataset {UNCOUNTED}")
        self.set_count(ahead.count)
        return ahead.dataset(self.in_first_epoch)

    def shuffles(self, x):
        """Whether Keras permutes the rows or the batches of `x`."""
        return self.shuffle and not isinstance(x, (tf.data.Dataset, KeptBatches))

    def with_callbacks(self, callbacks, model):
        """The callbacks of `fit`, behind those that set the epoch and plan updates.

        Args:
            callbacks: as of `fit`.
            model: the model that is trained.
        """
        first = [SetEpoch(self), PlanUpdates(self.count)]
        if isinstance(callbacks, keras.callbacks.CallbackList):
            # Keras has given the model and the parameters to the others already.
            for callback in first:
                callback.set_model(model)
                callback.set_params({"epochs": self.epochs, **(callbacks.params or {})})
                callbacks.callbacks.append(callback)
            return callbacks
        callbacks = callbacks or []
        single = isinstance(callbacks, keras.callbacks.Callback)
        return [*first, *([callbacks] if single else callbacks)]


def _is_endless(x):
    """Whether Keras cannot know how many batches `x` has."""
    known = isinstance(x, keras.utils.PyDataset) and count_batches(x) is not None
    return isinstance(x, (types.GeneratorType, keras.utils.PyDataset)) and not known


def _warn(received):
    """Warns that the number of batches is not known."""
    warn_user(
        "`fit` must know how many batches an epoch has, so that the epoch ends and the "
        f"learning rate falls to zero. Received: {received}. Give `steps_per_epoch`, "
        "or use `tf.data.experimental.assert_cardinality`."
    )


class SetEpoch(keras.callbacks.Callback):
    """Sets the number of the epoch that a `Run` reads when an epoch begins.

    Before the first one, another callback may have restored the model.
    """

    def __init__(self, run):
        super().__init__()
        self.run, self.begun = run, False

    def on_epoch_begin(self, epoch, logs=None):
        """Sets the number."""
        if not self.begun:
            self.run.begin(self.model.optimizer, epoch)
        self.begun = True
        self.run.number.assign(self.run.first + epoch)
