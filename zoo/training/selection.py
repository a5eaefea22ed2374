"""Selection of the best epoch by any score."""

import math

import keras

from zoo.checks.ranges import Size, check_value
from zoo.training.update_plan import unwrapped


class KeepBest(keras.callbacks.Callback):
    """Scores the model after every epoch, and restores the weights of the best one.

    It is for scores that a Keras metric cannot compute from single batches, such as
    the F1 of spans on held-out sentences:
    `KeepBest(lambda model: model.score(words, tags)["f1"])`.

    Args:
        score: function of the model to a float; larger is better, and NaN is worst.
        patience: int, training stops after so many epochs without a better score;
            None for all epochs.
        latest: bool, whether of equal scores the last epoch is kept, or else the first.

    Attributes:
        scores: list of float, one for each epoch.
        best: float, the best score.
        kept: int, the number of the epoch that is kept, from 0.

    Raises:
        TypeError: if `score` is not a function.
        ValueError: if `patience` is out of its range, or the optimizer has
            use_ema=True.
    """

    def __init__(self, score, patience=None, latest=False):
        super().__init__()
        if not callable(score):
            raise TypeError(
                f"`score` must be a function of a model. Received: {score!r:.80}."
            )
        self.score = score
        self.patience = check_value("patience", patience, Size | None)
        self.latest = check_value("latest", latest, bool)

    def on_train_begin(self, logs=None):
        """Resets scores and weights."""
        refuse_averages(self)
        self.scores, self.best, self.kept = [], float("-inf"), 0
        self.weights = None

    def on_epoch_end(self, epoch, logs=None):
        """Scores the model, and copies its weights if they are the best."""
        score = float(self.score(self.model))
        self.scores.append(float("-inf") if math.isnan(score) else score)
        if logs is not None:
            logs["score"] = self.scores[-1]
        better = self.scores[-1] > self.best
        equal = self.latest and self.scores[-1] == self.best
        if self.weights is None or better or equal:
            self.best, self.kept = self.scores[-1], len(self.scores) - 1
            self.weights = self.model.get_weights()
        waited = len(self.scores) - 1 - self.scores.index(self.best)
        if self.patience is not None and waited >= self.patience:
            self.model.stop_training = True

    def on_train_end(self, logs=None):
        """Restores the best weights."""
        if self.weights is not None:
            self.model.set_weights(self.weights)


def refuse_averages(callback):
    """Raises ValueError if the optimizer sets averaged weights at the end of `fit`."""
    optimizer = getattr(callback.model, "optimizer", None)
    if getattr(unwrapped(optimizer), "use_ema", False):
        raise ValueError(
            f"{type(callback).__name__} cannot be combined with use_ema=True: both set "
            "the weights at the end of `fit`. Leave one of them out."
        )
