"""What a model needs that reads the outputs of another, frozen model."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="zoo")
class AsInUse(keras.layers.Layer):
    """A model that computes the same in training and in use: its dropout is off.

    `training=False` of a call within a functional model is overruled by the outer
    call's, which this layer does not hand on.

    Args:
        model: keras.Model.
    """

    def __init__(self, model, **kwargs):
        super().__init__(**kwargs)
        self.model = model
        self.supports_jit = model.supports_jit

    def call(self, inputs):
        """Calls the model."""
        return self.model(inputs, training=False)


@keras.saving.register_keras_serializable(package="zoo")
class AtWords(keras.layers.Layer):
    """Vectors of words from those of pieces: a word's is that of its first piece.

    Inputs:
        hidden (B, N, P, D), outputs of N layers; positions int (B, L), one more than
        the place of a word's first piece.

    Returns:
        (B, N, L, D), 0 where the position is 0 or there is no such place.
    """

    def call(self, hidden, positions):
        """Takes the vectors; see the class."""
        length = ops.shape(hidden)[2]
        places = ops.clip(positions - 1, 0, length - 1)[:, None, :, None]
        inside = (positions > 0) & (positions <= length)
        words = ops.take_along_axis(hidden, places, axis=2)
        return words * ops.cast(inside, words.dtype)[:, None, :, None]
