"""The search for a learning rate."""

import numpy as np
import tensorflow as tf

from zoo.training.rate_range import RangeTest, unchanged
from zoo.training.update_plan import unwrapped


class RateSearch:
    """Adds `find_learning_rate` to a model that has `fit`."""

    def find_learning_rate(
        self,
        x,
        y=None,
        batch_size=32,
        sample_weight=None,
        *,
        lowest=1e-7,
        highest=1.0,
        updates=100,
        seed=0,
    ):
        """Trains with rising learning rates, and suggests one for `compile`.

        The rate rises exponentially from update to update, until the loss diverges; see
        `zoo.training.RangeTest`. Few data are repeated. Afterwards the weights, the
        state of the optimizer and the random states are what they were before.

        Args:
            x, y, batch_size, sample_weight: as of `fit`.
            lowest, highest: float, the first and the last learning rate.
            updates: int, the largest number of updates.
            seed: int, of the order of the rows.

        Returns:
            `zoo.training.RateCurve`: rates, losses, smoothed losses and `suggestion`.
            `zoo.visualize.plot_rate_curve` draws it.

        Raises:
            TypeError: if the optimizer is one of Keras and has a schedule.
            ValueError: as of `fit`, or if the rates are not positive and rising.

        Example:
            found = model.find_learning_rate(texts, labels)
            model.compile(learning_rate=found.suggestion)
        """
        test = RangeTest(lowest, highest, updates)
        columns, shuffle = self.num_columns, True
        x = self.as_text(x)
        if not self.takes_text(x) and isinstance(x, (dict, np.ndarray, tf.Tensor)):
            # Keras would shuffle with TensorFlow's own random state.
            shuffle, first = False, next(iter(x.values())) if isinstance(x, dict) else x
            order = np.random.default_rng(seed).permutation(len(first))
            x, y, sample_weight = (take(part, order) for part in (x, y, sample_weight))
        self.make_train_function()  # which builds the optimizer
        with unchanged(self):
            self.fit(
                x,
                y,
                batch_size,
                # Each epoch has a batch; the callback ends the training.
                updates * (unwrapped(self.optimizer).gradient_accumulation_steps or 1),
                verbose=0,
                callbacks=[test],
                shuffle=shuffle,
                sample_weight=sample_weight,
                seed=seed,
            )
        self.num_columns = columns
        return test.curve()


def take(part, rows):
    """Rows of an array, of a dict of arrays, or of None."""
    if part is None:
        return None
    if isinstance(part, dict):
        return {name: take(value, rows) for name, value in part.items()}
    return np.asarray(part)[rows]
