"""Training that continues after an interruption."""

import math
import pathlib
import time
import zipfile
import zlib

import keras
import numpy as np

from zoo.checks.ranges import Count, Size, check_values
from zoo.files.buckets import local_path, send
from zoo.files.state_files import damaged
from zoo.files.whole_files import THIS_PROCESS, replacing
from zoo.training.averaging import AverageWeights
from zoo.training.optimizer_base import strategy_scope
from zoo.training.update_plan import unwrapped

CHECKPOINT = "checkpoint.keras"
DEFAULT_INTERVAL = 100  # batches between checkpoints, about
# Numbers in a checkpoint.
FINISHED_MEMBER, INTERVAL_MEMBER = "finished_batches.txt", "batches_of_an_epoch.txt"


class SaveWhole(keras.callbacks.Callback):
    """Saves model, optimizer and random state at the end of every epoch.

    With `every`, the batches of an epoch, the file also has this number and that of
    the finished batches. With float16 the latter can be more than the updates of the
    optimizer. If a weight or the loss is not finite, the file is not changed.
    """

    def __init__(self, path, every=None):
        super().__init__()
        self.path, self.every = local_path(path), every

    def on_train_batch_end(self, batch, logs=None):
        """Raises an error if the loss is not finite."""
        loss = (logs or {}).get("loss")
        if loss is not None and not np.isfinite(loss):
            self._stop(f"The loss is {loss}")

    def on_epoch_end(self, epoch, logs=None):
        """Writes the file."""
        for weight in self.model.trainable_weights:
            if not keras.ops.all(keras.ops.isfinite(weight)):
                self._stop(f"{weight.path} is not finite")
        with replacing(self.path) as temporary:
            self.model.save(temporary)
            if self.every:
                with zipfile.ZipFile(temporary, "a") as file:
                    file.writestr(FINISHED_MEMBER, str((epoch + 1) * self.every))
                    file.writestr(INTERVAL_MEMBER, str(self.every))

    def _stop(self, reason):
        update = _updates(self.model)
        saved = self.path if self.path.exists() else "not saved yet"
        raise FloatingPointError(
            f"{reason} after update {update}. The last good state: {saved}. "
            "Lower the learning rate, clip gradients, or train in a wider dtype."
        )


class SentLog(keras.callbacks.CSVLogger):
    """A log of epochs. If it is in a bucket, it is sent there after each of them.

    So is what Keras logs for TensorBoard beside it.
    """

    def on_epoch_end(self, epoch, logs=None):
        """Writes a line, and sends the files."""
        super().on_epoch_end(epoch, logs)
        log = pathlib.Path(self.filename)
        for path in (log, log.with_name("tensorboard")):
            if path.exists():
                send(path, path)


class Throughput(keras.callbacks.Callback):
    """Adds tokens per second and hours left to the progress bar; see `train_steps`."""

    def __init__(self, sizes, start=0):
        super().__init__()
        self.ends = np.cumsum(sizes)
        self.step = start
        self.begin = None
        self.latest = {}

    def on_epoch_begin(self, epoch, logs=None):
        """Restarts the measurement, as the load of the machine may have changed."""
        self.begin = None

    def on_train_batch_end(self, batch, logs=None):
        """Measures from the end of the first batch, which may compile the step."""
        now, done = time.perf_counter(), self.ends[self.step]
        self.step += 1
        if self.begin is None:
            self.begin = now, done
        elif logs is not None:
            rate = (done - self.begin[1]) / (now - self.begin[0])
            self.latest = {
                "tokens_per_s": float(np.round(rate)),
                "hours_left": float((self.ends[-1] - done) / rate / 3600),
            }
            logs.update(self.latest)

    def on_epoch_end(self, epoch, logs=None):
        """Adds the numbers to the logs of the epoch, which are a new dict."""
        if logs is not None:
            logs.update(self.latest)


def train_steps(
    model,
    make_dataset,
    steps,
    directory,
    every=100,
    callbacks=(),
    sizes=None,
    average=1,
):
    """Trains a compiled model for a number of batches, and resumes.

    If the optimizer averages weights, or with `average`, the trained model has the
    averages. The checkpoint has the last weights and the optimizer's averages.

    Args:
        model: compiled keras.Model, into which a checkpoint in `directory` is read.
        make_dataset: function of the number of the first batch, int, to an endless
            tf.data.Dataset from there.
        steps: int, batches in total; updates unless gradients are accumulated.
        directory: path of the directory of `checkpoint.keras` and `log.csv`.
        every: int, batches between checkpoints and lines of the log, in whole updates.
        callbacks: iterable of keras.callbacks.Callback.
        sizes: sequence of int (steps,), tokens in each batch, to log the speed.
        average: int, the trained model is the mean of so many last checkpoints.

    Returns:
        The trained model.

    Raises:
        FloatingPointError: if the loss or a weight is not finite.
        ValueError: if `every` does not divide `steps`, or is not the checkpoint's.
    """
    check_interval(steps, every)
    check_values(Size, steps=steps, average=average)
    checkpoint, log = (local_path(directory) / n for n in (CHECKPOINT, "log.csv"))
    log.parent.mkdir(parents=True, exist_ok=True)
    start = _resume(checkpoint, model, steps, every)
    _trim(log, start // every)
    means = [AverageWeights(average, log.with_name("last_weights"))] * (average > 1)
    callbacks = [*means, SaveWhole(checkpoint, every), *callbacks]
    if THIS_PROCESS.writes:
        callbacks.insert(0, SentLog(log, append=start > 0))
    if sizes is not None:
        callbacks.insert(0, Throughput(sizes, start))
    if start < steps:
        model.fit(
            make_dataset(start),
            epochs=steps // every,
            initial_epoch=start // every,
            steps_per_epoch=every,
            shuffle=False,
            callbacks=callbacks,
        )
    else:
        # As `fit` does at its end: averaged weights take the place of the last ones.
        model.optimizer.finalize_variable_values(model.trainable_variables)
        for mean in means:
            mean.apply(model, steps // every - 1)
    return model


def _trim(log, epochs):
    """Drops the lines of a log after some epochs, whose checkpoints are missing."""
    if not log.exists():
        return
    try:
        text = log.read_bytes().decode("utf-8")
        head, *lines = text.splitlines(keepends=True) or [""]
        kept = [x for x in lines if x.endswith("\n") and int(x.split(",")[0]) < epochs]
    except ValueError as error:
        advice = "Remove it to continue without its lines."
        raise damaged(log, "the log of a run", error, advice) from error
    with replacing(log) as temporary:
        temporary.write_bytes((head + "".join(kept)).encode("utf-8"))


def choose_interval(steps, directory, every=None):
    """The largest divisor of `steps` up to `every`, batches between two checkpoints."""
    # `every` is by default that of the checkpoint in the directory, or about 100. If
    # the divisor is less than a tenth of it, the smallest divisor above is taken.
    if every is None:
        stored = _read_number(local_path(directory) / CHECKPOINT, INTERVAL_MEMBER)
        every = stored or DEFAULT_INTERVAL
    return _nearest_divisor(steps, every)


def _nearest_divisor(steps, wanted):
    small = [d for d in range(1, math.isqrt(steps) + 1) if steps % d == 0]
    divisors = sorted({*small, *(steps // d for d in small)})
    low = max(d for d in divisors if d <= wanted)
    above = [d for d in divisors if d > low]
    return above[0] if above and 10 * low < wanted else low


def check_interval(steps, every, finished=0):
    """Raises ValueError if `every` does not divide the steps and the finished ones."""
    check_values(Count, steps=steps)
    check_values(Size, every=every)
    if steps % every or finished % every:
        better = _nearest_divisor(math.gcd(steps, finished) or 1, every)
        raise ValueError(
            "`every` must divide `steps`, all and the finished ones. Received: "
            f"every={every}, steps={steps}, finished={finished}. Give every={better}, "
            f"on the command line `--every {better}`."
        )


def _resume(checkpoint, model, steps, every):
    """Reads a checkpoint, if there is one, into a model; its finished batches, int."""
    if checkpoint.exists():
        with strategy_scope(getattr(model, "optimizer", None)):
            model.optimizer.build(model.trainable_variables)
            model.load_weights(checkpoint)
    stored = _read_number(checkpoint, INTERVAL_MEMBER)
    if stored not in (None, every):
        raise ValueError(
            "`every` must be that of the checkpoint, which numbers the lines of the "
            f"log. Received: every={every} for {checkpoint} with {stored}. Give "
            f"every={stored}, on the command line `--every {stored}`, or another "
            "directory."
        )
    finished = _read_number(checkpoint, FINISHED_MEMBER)
    if finished is None:
        batches = unwrapped(model.optimizer).gradient_accumulation_steps or 1
        finished = _updates(model) * batches
    check_interval(steps, every, finished)
    return finished


def _read_number(checkpoint, name):
    """A number in a checkpoint, int; None without it or without a checkpoint."""
    if not checkpoint.exists():
        return None
    try:
        with zipfile.ZipFile(checkpoint) as file:
            return int(file.read(name)) if name in file.namelist() else None
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError) as error:
        advice = "Restore it, or give another directory."
        raise damaged(checkpoint, "a checkpoint", error, advice) from error


def _updates(model):
    """Updates of a model so far, on one replica or several."""
    return int(keras.ops.convert_to_numpy(model.optimizer.iterations))
