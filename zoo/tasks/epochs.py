"""What `fit` does at the beginning of an epoch."""

import keras

from zoo.training import PlanUpdates


class SetEpoch(keras.callbacks.Callback):
    """Sets the number of the epoch when an epoch begins.

    Args:
        number: `zoo.data.Epoch`, which the data reads.
    """

    def __init__(self, number):
        super().__init__()
        self.number = number

    def on_epoch_begin(self, epoch, logs=None):
        """Sets the number."""
        self.number.assign(epoch)


def with_callbacks(callbacks, number, model, epochs):
    """The callbacks of `fit`, a `SetEpoch` and a `PlanUpdates`, as Keras takes them.

    Args:
        callbacks: as of `fit`.
        number: `zoo.data.Epoch`, which the data reads.
        model: the model that is trained.
        epochs: int, as of `fit`.
    """
    own = [SetEpoch(number), PlanUpdates()]
    if isinstance(callbacks, keras.callbacks.CallbackList):
        # Keras has given the model and the parameters to the others already.
        for callback in own:
            callback.set_model(model)
            callback.set_params({"epochs": epochs, **(callbacks.params or {})})
            callbacks.callbacks.append(callback)
        return callbacks
    callbacks = callbacks or []
    single = isinstance(callbacks, keras.callbacks.Callback)
    return [*own, *([callbacks] if single else callbacks)]
