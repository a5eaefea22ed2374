"""The search for a learning rate."""

from zoo.training.rate_range import RangeTest, unchanged
from zoo.training.update_plan import unwrapped


class RateSearch:
    """Adds `find_learning_rate` to a model that has `fit`."""

    def find_learning_rate(
        self,
        x,
        y=None,
        batch_size=None,
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
            seed: int, of the order of the texts.

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
        columns = self.num_columns
        self.make_train_function()  # which builds the optimizer
        # Each epoch has a batch; the callback ends the training.
        every = unwrapped(self.optimizer).gradient_accumulation_steps or 1
        epochs = len(test.rates) * every
        plan = {"verbose": 0, "callbacks": [test], "seed": seed}
        try:
            with unchanged(self):
                self.fit(x, y, batch_size, epochs, sample_weight=sample_weight, **plan)
        finally:
            self.num_columns = columns
        return test.curve()
