"""What TensorFlow makes of a graph before it runs it."""

import pytest
import tensorflow as tf
from tensorflow.python.eager import context

from zoo.layers.normalization import batch_norm, is_merged


def require_onednn(dtype="float32"):
    """Skips the test where TensorFlow does not run oneDNN in this dtype."""
    if not is_merged():
        pytest.skip("TensorFlow runs without oneDNN, or with a GPU, here.")
    try:  # 16 bits need a processor of their own
        outputs = batch_norm(tf.zeros((1, 1, 1, 1), dtype), 1, 1e-3)
        with_onednn = outputs.reserve_space_3.shape.rank == 1
    except tf.errors.OpError:
        with_onednn = False
    if not with_onednn:
        pytest.skip(f"oneDNN has no {dtype} on this processor.")


def final_operations(function, *arguments):
    """The operations that TensorFlow runs, each with what was merged into it."""
    # The default tests run without it, see `conftest.py`.
    former = tf.config.optimizer.get_experimental_options()
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": False})
    function.get_concrete_function()
    context.context().enable_graph_collection()
    try:
        function(*arguments)
        metadata = context.context().export_run_metadata()
    finally:
        context.context().disable_graph_collection()
        tf.config.optimizer.set_experimental_options(former)
    nodes = metadata.function_graphs[-1].post_optimization_graph.node
    return [
        n.op + str(list(n.attr["fused_ops"].list.s)) * (n.op[0] == "_") for n in nodes
    ]
