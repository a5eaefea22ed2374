"""Activations: their values, and that TensorFlow merges what it can."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from final_graph import final_operations, require_onednn

from zoo.layers import TransformerBlock, get_activation


def test_gelu_tanh_is_the_tanh_approximation():
    x = np.linspace(-12, 12, 4001, dtype="float32")
    double = x.astype("float64")
    expected = np.sqrt(2 / np.pi) * (double + 0.044715 * double**3)
    expected = 0.5 * double * (1 + np.tanh(expected))
    found = keras.ops.convert_to_numpy(get_activation("gelu_tanh")(x))
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize(
    "activation, name", [("gelu", "GeluExact"), ("gelu_tanh", "GeluApproximate")]
)
def test_gelu_is_merged_into_the_matrix_product(activation, name):
    """TensorFlow merges it only if the products are in one order."""
    require_onednn()
    blocks = [TransformerBlock(2, 8, activation) for _ in range(2)]

    @tf.function(input_signature=[tf.TensorSpec((None, None, 4))])
    def call(x):
        return blocks[1](blocks[0](x))

    operations = final_operations(call, tf.ones((2, 3, 4)))
    assert sum(name in op for op in operations) == 2
    assert "Tanh" not in operations and "Erf" not in operations
