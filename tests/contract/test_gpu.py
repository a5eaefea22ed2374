"""Promises of every task on a GPU: `pytest -m gpu`."""

import cases
import keras
import numpy as np
import pytest
import tensorflow as tf
import tiny


@pytest.fixture(scope="module")
def gpu():
    """The name of a device, without the products of 19 bits that are its default."""
    if not tf.config.list_logical_devices("GPU"):
        pytest.skip("TensorFlow sees no GPU.")
    tf.config.experimental.enable_tensor_float_32_execution(False)
    yield "GPU:0"
    tf.config.experimental.enable_tensor_float_32_execution(True)


@pytest.mark.gpu
def test_a_gpu_trains_as_the_cpu_does(case, build_task, gpu):
    """On one GPU, "auto" compiles the step with XLA."""
    losses = {}
    for device, eager in (("CPU:0", True), (gpu, False)):
        with tf.device(device):
            task = build_task(case, run_eagerly=eager)
            texts, labels = tiny.make_texts(8, seed=4)
            x, y = cases.columns_of(task, texts), case.targets(texts, labels)
            (batch,) = task.batches(x, y, batch_size=8)
            batch = keras.utils.unpack_x_y_sample_weight(batch)
            task.preprocessor = None
            losses[device] = [
                task.train_on_batch(*batch, return_dict=True)["loss"] for _ in range(4)
            ]
            assert device in task.trainable_weights[0].value.device
    np.testing.assert_allclose(losses[gpu], losses["CPU:0"], rtol=1e-3)
    assert losses[gpu][-1] < losses[gpu][0]
