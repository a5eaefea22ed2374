"""What a model needs that reads the outputs of another, frozen model."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="zoo")
class InferenceModel(keras.layers.Layer):
    """Calls a model without dropout, in training and outside it.

    In a functional model, the `training` argument of the outer call overrides that of
    the inner call, so a layer stands between them.

    Args:
        model: keras.Model.

    Example:
        >>> model = keras.Sequential([keras.Input((2,)), keras.layers.Dropout(0.5)])
        >>> InferenceModel(model)(ops.ones((1, 2)), training=True).numpy().tolist()
        [[1.0, 1.0]]
    """

    def __init__(self, model, **kwargs):
        super().__init__(**kwargs)
        self.model = model
        self.supports_jit = model.supports_jit

    def call(self, inputs):
        """Calls the model."""
        return self.model(inputs, training=False)

    def compute_output_spec(self, inputs):
        """The outputs of the model, which JAX could not trace with unknown lengths."""
        return self.model.compute_output_spec(inputs)


@keras.saving.register_keras_serializable(package="zoo")
class FirstPieces(keras.layers.Layer):
    """Takes the vector of the first piece of each word.

    Inputs:
        hidden (B, N, P, D), outputs of N layers; positions int (B, L), one more than
        the place of a word's first piece.

    Returns:
        (B, N, L, D), 0 where the position is 0 or there is no such place.

    Example:
        >>> hidden = ops.reshape(ops.arange(3.0), (1, 1, 3, 1))
        >>> FirstPieces()(hidden, ops.convert_to_tensor([[1, 3, 0]])).numpy().tolist()
        [[[[0.0], [2.0], [0.0]]]]
    """

    def call(self, hidden, positions):
        """Takes the vectors; see the class."""
        length = ops.shape(hidden)[2]
        places = ops.clip(positions - 1, 0, length - 1)[:, None, :, None]
        inside = (positions > 0) & (positions <= length)
        words = ops.take_along_axis(hidden, places, axis=2)
        return words * ops.cast(inside, words.dtype)[:, None, :, None]
