"""Runs TensorFlow without graphs."""

import contextlib
import warnings

import tensorflow as tf


@contextlib.contextmanager
def without_graphs():
    """Runs operations one by one; to trace graphs would take most of the time."""
    tf.config.run_functions_eagerly(True)
    try:
        with warnings.catch_warnings():
            # TensorFlow says that the functions of a dataset still have graphs.
            warnings.filterwarnings("ignore", "Even though the `tf.config")
            yield
    finally:
        tf.config.run_functions_eagerly(False)
