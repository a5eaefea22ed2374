"""What `fit` does at the beginning of an epoch."""

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


def with_callback(callbacks, own, model, epochs):
    """The callbacks of `fit` and one of ours, in a form that Keras takes.

    Args:
        callbacks: as of `fit`.
        own: keras.callbacks.Callback; it is called before those of the user.
        model: the model that is trained.
        epochs: int, as of `fit`.
    """
    if isinstance(callbacks, keras.callbacks.CallbackList):
        # Keras has given the model and the parameters to the others already.
        own.set_model(model)
        own.set_params({"epochs": epochs, **(callbacks.params or {})})
        callbacks.append(own)
        return callbacks
    callbacks = callbacks or []
    single = isinstance(callbacks, keras.callbacks.Callback)
    return [own, *([callbacks] if single else callbacks)]
