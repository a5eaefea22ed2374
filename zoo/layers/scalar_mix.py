"""A learned weighted sum of the outputs of several layers."""

import keras
from keras import ops

from zoo.checks.ranges import NotNegative, Positive
from zoo.layers.checked_arguments import keep_checked


@keras.saving.register_keras_serializable(package="zoo")
class ScalarMix(keras.layers.Layer):
    """A weighted sum of layers: `gamma sum_j softmax(w)_j h_j`.

    With `layer_norm_epsilon`, every h_j is first scaled to mean 0 and variance 1,
    **over all tokens of the batch and all dimensions together**, so the vector of a
    token depends on the other rows. Both reference programs do this. They differ in
    epsilon (bilm-tf 1e-12, AllenNLP 1e-13), and in the mask of the two markers of a
    sentence (bilm-tf 0, AllenNLP 1).

    Source: Peters et al. 2018 (ELMo), equation 1.

    Args:
        layer: int, number of the only layer j, for `gamma h_j` without w. A negative
            number counts from the last layer. None for the sum of all layers.
        layer_norm_epsilon: float, added to the variance; None for no normalization.
        l2: float, factor of the loss `sum_j w_j^2`, which pulls w towards the mean.

    Inputs:
        (B, N, L, D); optional mask (B, L), 1 = token, for the normalization only.

    Returns:
        (B, L, D). Weights, sum and statistics are float32 under 16-bit policies.

    Raises:
        ValueError: if there is no such layer.

    Example:
        >>> layers = ops.reshape(ops.convert_to_tensor([1.0, 3.0]), (1, 2, 1, 1))
        >>> ScalarMix()(layers).numpy().tolist()
        [[[2.0]]]
    """

    def __init__(self, layer=None, layer_norm_epsilon=None, l2=0.0, **kwargs):
        super().__init__(**kwargs)
        keep_checked(self, int | None, layer=layer)
        keep_checked(self, Positive | None, layer_norm_epsilon=layer_norm_epsilon)
        keep_checked(self, NotNegative, l2=l2)

    def build(self, input_shape, *args, **kwargs):
        """Creates w (N,), initially zeros, and gamma (1,), initially 1."""
        number = input_shape[1]
        if self.layer is not None and not -number <= self.layer < number:
            raise ValueError(
                f"`layer` must be from {-number} to {number - 1}. Received: "
                f"{self.layer}."
            )
        self.gamma = self.add_weight(name="gamma", shape=(1,), initializer="ones")
        self.scalars = None
        if self.layer is None:
            self.scalars = self.add_weight(
                name="scalars",
                shape=(number,),
                initializer="zeros",
                regularizer=keras.regularizers.L2(self.l2) if self.l2 else None,
            )

    def call(self, layers, mask=None):
        """Computes the sum; see the class for shapes."""
        wide = "float64" if self.compute_dtype == "float64" else "float32"
        if self.layer is not None:
            number = self.layer % layers.shape[1]
            layers = layers[:, number : number + 1]
        x = ops.cast(layers, wide)
        if self.layer_norm_epsilon is not None:
            x = self.normalize(x, mask)
        mixed = x[:, 0]
        if self.layer is None:
            weights = ops.softmax(ops.cast(self.scalars, wide))
            mixed = ops.sum(x * weights[:, None, None], axis=1)
        return ops.cast(ops.cast(self.gamma, wide) * mixed, self.compute_dtype)

    def normalize(self, x, mask):
        """Scales each layer to mean 0 and variance 1; padding becomes 0."""
        if mask is None:
            mask = ops.ones_like(x[:, 0, :, 0])
        mask = ops.cast(mask, x.dtype)[:, None, :, None]
        axes = (0, 2, 3)
        number = ops.maximum(ops.sum(mask) * x.shape[-1], 1.0)
        mean = ops.sum(x * mask, axis=axes, keepdims=True) / number
        centred = (x - mean) * mask
        variance = ops.sum(ops.square(centred), axis=axes, keepdims=True) / number
        return centred / ops.sqrt(variance + self.layer_norm_epsilon)

    def compute_output_shape(self, input_shape, *args, **kwargs):
        """(B, L, D)."""
        return (input_shape[0], *input_shape[2:])
