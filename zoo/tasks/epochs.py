"""The number of the epoch, for data that is reshuffled in every epoch."""

import keras


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


def with_epoch(callbacks, number):
    """The callbacks of `fit` and a `SetEpoch`, in a form that Keras takes."""
    if isinstance(callbacks, keras.callbacks.CallbackList):
        callbacks.append(SetEpoch(number))
        return callbacks
    callbacks = callbacks or []
    single = isinstance(callbacks, keras.callbacks.Callback)
    return [SetEpoch(number), *([callbacks] if single else callbacks)]
