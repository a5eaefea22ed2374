"""Layer normalization, computed in one operation on a CPU."""

import functools

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="zoo")
class LayerNorm(keras.layers.LayerNormalization):
    """Layer normalization over the last axis.

    `(x - mean) / sqrt(variance + epsilon) * gamma + beta`. Mean and variance are
    float32 under every policy.

    Source: Ba et al. 2016. `keras.layers.LayerNormalization` computes the same in eight
    passes over memory. Outside training, on a CPU with TensorFlow and oneDNN, this
    layer calls TensorFlow's batch normalization with one channel for each row, which is
    2.4 times as fast, but up to four times as slow for fewer than 200 rows.

    Args:
        epsilon: float, added to the variance.

    Inputs:
        (..., D); few_rows, bool, whether there are fewer than 200 rows.

    Returns:
        (..., D).

    Example:
        >>> layer = LayerNorm(epsilon=1e-12)
        >>> layer(keras.ops.convert_to_tensor([[1.0, 3.0]])).numpy().tolist()
        [[-1.0, 1.0]]
    """

    def call(self, x, training=None, few_rows=False):
        """Normalizes over the last axis."""
        exact = training or few_rows or self.compute_dtype == "float64"
        if exact or not is_merged():
            return super().call(x)
        # TensorFlow does not merge the operation with casts from bfloat16.
        dtype = "float32" if self.compute_dtype == "float16" else self.compute_dtype
        x, gamma, beta = (ops.cast(t, dtype) for t in (x, self.gamma, self.beta))
        return ops.cast(
            normalize_rows(x, self.epsilon) * gamma + beta, self.compute_dtype
        )


@functools.cache
def is_merged():
    """Whether one operation computes it: TensorFlow on a CPU with oneDNN."""
    if keras.backend.backend() != "tensorflow":
        return False
    import tensorflow as tf

    if tf.config.list_physical_devices("GPU"):
        return False
    # The processor, the build of TensorFlow and an environment variable decide about
    # oneDNN, and no public function tells the result. The batch norm itself does: its
    # last output has the shape (0,) from oneDNN and () from TensorFlow's own kernel.
    with tf.init_scope(), tf.device("CPU"):
        outputs = batch_norm(tf.zeros((1, 1, 1, 1)), 1, 1e-3)
    return outputs.reserve_space_3.shape.rank == 1


def normalize_rows(x, epsilon):
    """Scales each row to mean 0 and variance 1 over the last axis, in TensorFlow."""
    import tensorflow as tf

    shape = tf.shape(x)
    # If the number of rows were known, TensorFlow would make constants of `scale` and
    # `offset`. It does not merge batch normalization with constants.
    rows = tf.reduce_prod(shape[:-1])
    rows = tf.raw_ops.PlaceholderWithDefault(input=rows, shape=[])
    x = tf.reshape(x, tf.stack([1, rows, x.shape[-1], 1]))
    return tf.reshape(batch_norm(x, rows, epsilon).y, shape)


def batch_norm(x, channels, epsilon):
    """TensorFlow's batch norm of x (B, C, H, W) with scale 1 and offset 0."""
    import tensorflow as tf

    empty = tf.zeros((0,))
    return tf.raw_ops.FusedBatchNormV3(
        x=x,
        scale=tf.fill([channels], 1.0),
        offset=tf.fill([channels], 0.0),
        mean=empty,
        variance=empty,
        epsilon=epsilon,
        data_format="NCHW",
        is_training=True,
    )
