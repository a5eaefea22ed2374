"""The search for a learning rate."""

from zoo.training.rate_range import RangeTest, unchanged
from zoo.training.update_plan import unwrapped


def find_learning_rate(
    task, data, batch_size=None, lowest=1e-7, highest=1.0, updates=100, seed=0
):
    """Trains with rising learning rates; see `Task.find_learning_rate`."""
    test = RangeTest(lowest, highest, updates)
    x, y, sample_weight = data
    columns = task.num_columns
    task.make_train_function()  # which builds the optimizer
    # Each epoch has a batch; the callback ends the training.
    steps = unwrapped(task.optimizer).gradient_accumulation_steps or 1
    epochs = len(test.rates) * steps
    options = {"verbose": 0, "callbacks": [test], "seed": seed}
    try:
        with unchanged(task):
            task.fit(x, y, batch_size, epochs, sample_weight=sample_weight, **options)
    finally:
        task.num_columns = columns
    return test.curve()
