"""What `zoo finetune` says, records and checks during the training."""

import time

import keras
import numpy as np

from zoo.checks.number_rules import check_number
from zoo.files.buckets import local_path
from zoo.files.path_checks import check_writable, check_writable_directory
from zoo.files.whole_files import check_file_name

AUTO_RATE = "auto"  # the learning rate that a range test suggests
POINTS_IN_CURVE = 50  # at most, in the curve of the loss


def check_output(path, report=None):
    """Checks that a model and its report can be written; each path may be None."""
    if path is not None:
        check_file_name(path)
        check_writable(path)
    if report is not None:
        check_writable_directory(report)
        report = local_path(report).absolute()
        if path and local_path(path).absolute() in (report, *report.parents):
            raise ValueError(
                f"The report must be beside the model. Received: {report} for {path}. "
                "Choose another name."
            )


def check_loss(history, epoch=-1):
    """Raises FloatingPointError if the loss of the last epoch is not finite."""
    losses = history.get("loss")
    if losses and not np.isfinite(losses[epoch]):
        raise FloatingPointError(
            "The loss must be finite at the end of the training. Received: "
            f"{losses[epoch]}. Lower the learning rate, or train in a wider dtype."
        )


def check_batches(batch_size=None, token_budget=None, learning_rate=None, **options):
    """Raises ValueError if options of batches are wrong, or exclude each other."""
    if learning_rate not in (None, AUTO_RATE):
        check_number("learning_rate", learning_rate)
    if token_budget is None:
        return
    received = {"batch_size": batch_size, "token_budget": token_budget}
    if batch_size is not None or learning_rate == AUTO_RATE:
        raise ValueError(
            "`token_budget` must be positive, without `batch_size` and without the "
            f"search for a learning rate. Received: {received}, learning_rate="
            f"{learning_rate!r}. Leave one of them out."
        )


class EpochLines(keras.callbacks.Callback):
    """Prints a line for each epoch, for an output that is not a terminal.

    Args:
        echo: function that prints a line.
    """

    def __init__(self, echo):
        super().__init__()
        self.echo = echo
        self.start = 0.0

    def on_epoch_begin(self, epoch, logs=None):
        """Starts the clock."""
        self.start = time.monotonic()

    def on_epoch_end(self, epoch, logs=None):
        """Prints the scores and the seconds."""
        scores = [
            f"{name.replace('val_', 'validation ').replace('_', ' ')} {value:.4f}"
            for name, value in (logs or {}).items()
        ]
        seconds = f"{time.monotonic() - self.start:.1f} s"
        epochs = f"epoch {epoch + 1} of {self.params['epochs']}"
        self.echo(f"{epochs}: {', '.join([*scores, seconds])}")


class UpdateCurves(keras.callbacks.Callback):
    """Records the loss and the learning rate every few updates.

    Each loss is the mean since the record before it, or since the start of the epoch.

    Args:
        per_epoch: int, number of updates in an epoch.
        epochs: int.

    Attributes:
        curves: dict of update, loss and learning_rate to lists of the same length.
    """

    def __init__(self, per_epoch, epochs):
        super().__init__()
        self.per_epoch = per_epoch
        self.interval = -(-per_epoch * epochs // POINTS_IN_CURVE)
        self.curves = {"update": [], "loss": [], "learning_rate": []}
        self.before = (0.0, 0.0)
        self.epoch = 0

    def on_epoch_begin(self, epoch, logs=None):
        """Keras sets its means to zero here."""
        self.before, self.epoch = (0.0, 0.0), epoch

    def on_train_batch_end(self, batch, logs=None):
        """Adds to the curves."""
        number = batch + 1
        if number % self.interval and number != self.per_epoch:
            return
        # On JAX, the variables have no values between two updates unless asked for.
        getattr(self.model, "jax_state_sync", lambda: None)()
        loss = self.model.metrics[0]  # a mean, or a sum of several
        total, count = map(keras.ops.convert_to_numpy, (loss.total, loss.count))
        values, weights = total - self.before[0], count - self.before[1]
        means = np.divide(values, weights, where=weights > 0, out=np.zeros_like(values))
        self.before = (total, count)
        self.curves["update"].append(self.epoch * self.per_epoch + number)
        self.curves["loss"].append(float(means.sum()))
        self.curves["learning_rate"].append(float(self.model.optimizer.learning_rate))
