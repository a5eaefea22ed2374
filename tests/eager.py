"""Runs TensorFlow without graphs."""

import contextlib

import tensorflow as tf


@contextlib.contextmanager
def without_graphs():
    """Runs operations one by one; to trace graphs would take most of the time."""
    tf.config.run_functions_eagerly(True)
    try:
        yield
    finally:
        tf.config.run_functions_eagerly(False)
