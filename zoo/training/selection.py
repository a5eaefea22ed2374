"""The best epoch of a training, by any score."""

import keras


class KeepBest(keras.callbacks.Callback):
    """Scores the model after every epoch; it ends with the weights of the best one.

    For scores that are no metric of a batch, such as the F1 of spans on held-out
    sentences: `KeepBest(lambda model: model.score(words, tags)["f1"])`.

    Args:
        score: function of the model to a float, the larger the better.
        patience: int, epochs without a better one after which training stops; None
            for all epochs.

    Attributes:
        scores: list of float, of every epoch.
        best: float, the best of them; the first of equal ones counts.

    Raises:
        ValueError: if `patience` is less than 1.
    """

    def __init__(self, score, patience=None):
        super().__init__()
        if patience is not None and patience < 1:
            raise ValueError(
                f"`patience` must be at least 1, or None. Received: {patience}."
            )
        self.score = score
        self.patience = patience

    def on_train_begin(self, logs=None):
        """Forgets what was before."""
        self.scores, self.best, self.weights = [], float("-inf"), None

    def on_epoch_end(self, epoch, logs=None):
        """Scores, and keeps the weights if they are the best."""
        self.scores.append(float(self.score(self.model)))
        if logs is not None:
            logs["score"] = self.scores[-1]
        if self.scores[-1] > self.best:
            self.best, self.weights = self.scores[-1], self.model.get_weights()
        last = len(self.scores) - 1 - self.scores.index(self.best)
        if self.patience is not None and last >= self.patience:
            self.model.stop_training = True

    def on_train_end(self, logs=None):
        """Puts the best weights back."""
        if self.weights is not None:
            self.model.set_weights(self.weights)
