"""Training that goes on where it stopped."""

import pathlib

import keras

from zoo.files import replacing


class SaveWhole(keras.callbacks.Callback):
    """Saves model, optimizer and random state at the end of every epoch.

    The file is written under another name and then renamed, so that a run that is
    killed leaves the previous one intact.

    Args:
        path: str or path, ending in ".keras".
    """

    def __init__(self, path):
        super().__init__()
        self.path = pathlib.Path(path)

    def on_epoch_end(self, epoch, logs=None):
        """Writes the file."""
        with replacing(self.path) as temporary:
            self.model.save(temporary)


def train_steps(model, make_dataset, steps, directory, every=100, callbacks=()):
    """Trains a compiled model for a number of batches, and resumes.

    Args:
        model: compiled keras.Model, used if `directory` holds no checkpoint.
        make_dataset: function of the first step, int, to a tf.data.Dataset without
            end: the data position is a number.
        steps: int, batches in all, each an update if no gradients are accumulated.
        directory: where `checkpoint.keras` and `log.csv` are.
        every: int, batches between checkpoints and lines of the log; a multiple of
            those that the optimizer accumulates.
        callbacks: iterable of keras.callbacks.Callback.

    Returns:
        The trained model, another object if it was resumed.

    Raises:
        ValueError: if `every` does not divide `steps`.
    """
    if steps % every:
        raise ValueError(
            f"`every` must divide `steps`. Received: every={every}, steps={steps}."
        )
    directory = pathlib.Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    checkpoint = directory / "checkpoint.keras"
    if checkpoint.exists():
        model = keras.saving.load_model(checkpoint)
    start = int(model.optimizer.iterations) * _batches_per_update(model.optimizer)
    if start < steps:
        model.fit(
            make_dataset(start),
            epochs=steps // every,
            initial_epoch=start // every,
            steps_per_epoch=every,
            shuffle=False,
            callbacks=[
                SaveWhole(checkpoint),
                keras.callbacks.CSVLogger(directory / "log.csv", append=start > 0),
                keras.callbacks.TerminateOnNaN(),
                *callbacks,
            ],
        )
    return model


def _batches_per_update(optimizer):
    optimizer = getattr(optimizer, "inner_optimizer", optimizer)
    return optimizer.gradient_accumulation_steps or 1
