"""The best epoch."""

import keras
import numpy as np
import pytest

from zoo.training import KeepBest


class Scores:
    """Gives scores in order, and remembers the weights that were scored."""

    def __init__(self, *values):
        self.values, self.weights = list(values), []

    def __call__(self, model):
        self.weights.append([w.copy() for w in model.get_weights()])
        return self.values[len(self.weights) - 1]


def fit(score, patience=None, epochs=5, latest=False):
    """Trains a line, and returns model and callback."""
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.1), "mse")
    best = KeepBest(score, patience, latest)
    x = np.ones((4, 1))
    history = model.fit(x, 5 * x, epochs=epochs, verbose=0, callbacks=[best])
    assert history.history["score"] == best.scores
    return model, best


@pytest.mark.parametrize(
    "values, patience, epochs, chosen",
    [
        ((1, 3, 2, 3, 0), None, 5, 1),  # of equal ones the first
        ((1, 2, 3, 4, 5), 1, 5, 4),
        ((2, 1, 3, 0, 0), 2, 5, 2),
        ((3, 1, 2, 9, 9), 2, 3, 0),
        ((-2, -3, -4, -5, -1), 1, 2, 0),
        ((-np.inf, 1, 0, 0, 0), None, 5, 1),
    ],
)
def test_the_best_weights_are_left(values, patience, epochs, chosen):
    score = Scores(*values)
    model, best = fit(score, patience)
    assert best.scores == list(values[:epochs]) and best.best == values[chosen]
    np.testing.assert_equal(model.get_weights(), score.weights[chosen])


@pytest.mark.parametrize("latest, kept, epochs", [(False, 1, 4), (True, 3, 4)])
def test_of_equal_scores_one_is_kept(latest, kept, epochs):
    """Waiting counts from the first of them."""
    score = Scores(1, 3, 2, 3, 9)
    model, best = fit(score, 2, 5, latest)
    assert (best.kept, len(best.scores)) == (kept, epochs)
    for ours, theirs in zip(model.get_weights(), score.weights[kept], strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_another_training_begins_anew():
    score = Scores(5, 4, 1, 2)
    model, best = fit(score, epochs=2)
    model.fit(np.ones((4, 1)), np.ones((4, 1)), epochs=2, verbose=0, callbacks=[best])
    assert best.scores == [1, 2] and best.best == 2


def test_a_score_that_is_no_number_is_the_worst():
    model, best = fit(Scores(np.nan, 2, np.nan), epochs=3)
    assert best.scores == [-np.inf, 2, -np.inf] and best.best == 2
    score = Scores(np.nan, np.nan)
    model, best = fit(score, patience=1, epochs=2)
    np.testing.assert_array_equal(model.get_weights()[0], score.weights[0][0])
    with pytest.raises(ValueError, match="from 1 to .* or None. Received: 0"):
        KeepBest(score, 0)
    with pytest.raises(TypeError, match="`score` must be a function .*Received: 0.5"):
        KeepBest(0.5)
