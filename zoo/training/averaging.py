"""The mean of the weights of the last checkpoints."""

import zipfile

import keras
import numpy as np

from zoo.checks.ranges import Size, check_value
from zoo.files.buckets import local_path
from zoo.files.state_files import damaged
from zoo.files.whole_files import THIS_PROCESS, replacing
from zoo.training.selection import refuse_averages


class AverageWeights(keras.callbacks.Callback):
    """At the end of `fit`, replaces the weights by their mean over the last epochs.

    The optimizer and its moments do not change. If training stops within the first
    epochs, the mean is over those that have ended. For an exponential average, compile
    with `zoo.training.AdamW(..., use_ema=True)` instead.

    Source: Vaswani et al. 2017, section 6.1: the last 5 checkpoints of the base model,
    the last 20 of the big one.

    Args:
        last: int, epochs.
        directory: path of a directory for the weights of these epochs. A run that is
            stopped and continued with `initial_epoch` then has the mean of an
            uninterrupted run. None to keep them in memory.

    Raises:
        ValueError: if `last` is out of its range, or the optimizer has use_ema=True.
    """

    def __init__(self, last=5, directory=None):
        super().__init__()
        self.last = check_value("last", last, Size)
        self.directory = directory and local_path(directory)
        self.kept = {}

    def on_train_begin(self, logs=None):
        """Forgets the weights of a former `fit`."""
        refuse_averages(self)
        self.kept = {}

    def on_epoch_end(self, epoch, logs=None):
        """Keeps the weights of the epoch, and forgets those of the oldest one."""
        weights = self.model.get_weights()
        # Other workers keep theirs, as the file may not be there yet when they need it.
        in_files = self.directory and THIS_PROCESS.writes
        if in_files:
            self.directory.mkdir(parents=True, exist_ok=True)
            with replacing(self._path(epoch)) as temporary:
                with open(temporary, "wb") as file:
                    np.savez(file, *map(_storable, weights))
            weights = None
        self.kept[epoch] = weights
        for old in [other for other in self._epochs() if other <= epoch - self.last]:
            self.kept.pop(old, None)
            if in_files:
                self._path(old).unlink(missing_ok=True)

    def on_train_end(self, logs=None):
        """Sets the mean."""
        if self._epochs():
            self.apply(self.model, max(self.kept or self._epochs()))

    def apply(self, model, epoch):
        """Sets the weights of a model to the mean over the epochs up to one."""
        epochs = range(max(epoch + 1 - self.last, 0), epoch + 1)
        total = [weight.astype("float64") for weight in self._weights(epochs[-1])]
        known = [other for other in epochs[:-1] if other in self._epochs()]
        for other in known:
            for sums, weight in zip(total, self._weights(other), strict=True):
                sums += weight
        model.set_weights([sums / (len(known) + 1) for sums in total])

    def _epochs(self):
        """The epochs whose weights are known, a set of int."""
        # A program that was killed may have left a file of another name.
        files = self.directory.glob("*.npz") if self.directory else ()
        in_memory = {epoch for epoch, kept in self.kept.items() if kept is not None}
        return in_memory | {int(f.stem) for f in files if f.stem.isdigit()}

    def _path(self, epoch):
        return self.directory / f"{epoch}.npz"

    def _weights(self, epoch):
        """The weights of an epoch, list of arrays."""
        if self.kept.get(epoch) is not None:
            return self.kept[epoch]
        path = self._path(epoch)
        try:
            with np.load(path) as arrays:
                return [arrays[f"arr_{i}"] for i in range(len(arrays.files))]
        except (zipfile.BadZipFile, EOFError, KeyError, ValueError) as error:
            advice = "Remove it, and the mean is over the other epochs."
            raise damaged(path, "the weights of an epoch", error, advice) from error


def _storable(weight):
    """A weight in a dtype of NumPy; bfloat16 is none."""
    return weight.astype("float32") if weight.dtype.name == "bfloat16" else weight
