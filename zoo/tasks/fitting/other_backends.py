"""The training steps of other backends than TensorFlow."""

import contextlib
import functools
import types

import keras
import numpy as np
import tensorflow as tf

from zoo.keras_internals import StateHooks, called_by_fit, losses_are_built
from zoo.tasks.fitting.accumulation import check_parts
from zoo.tasks.fitting.output_means import (
    loss_mean,
    means_of,
    shown_metrics,
    sums_of_outputs,
)
from zoo.tasks.fitting.padded_batches import (
    data_parts,
    on_all_devices,
    padded_arguments,
    padded_batch,
    predict_padded,
)
from zoo.tasks.fitting.traced_state import traced_anew


def on_jax():
    """Whether the backend is JAX."""
    return keras.backend.backend() == "jax"


def in_scope(method):
    """A method of a model, in the scope of the distribution it was compiled in."""

    @functools.wraps(method)
    def run(model, *arguments, **options):
        compiled = model.compiled and model.traced.distribution
        with compiled.scope() if compiled else contextlib.nullcontext():
            return method(model, *arguments, **options)

    return run


class StepsOfOtherBackends(StateHooks):
    """The steps of other backends, which have the rows of all devices.

    The loss in the logs is that of `TensorFlowSteps`. With a distribution of
    `keras.distribution`, the devices need not divide the rows of a batch, see
    `padded_arguments`.
    """

    distribute_strategy = tf.distribute.get_strategy()  # TensorFlow's, of one replica

    def compile(self, *arguments, accumulate=1, **options):
        """Keras' `compile`; with several devices, all metrics are weighted.

        Raises:
            ValueError: if `accumulate` is not 1, or if there are several devices, and
                both `metrics` and `weighted_metrics`.
        """
        check_parts(accumulate)
        if data_parts() > 1 and options.get("metrics"):
            if options.get("weighted_metrics"):
                raise ValueError(
                    "Several devices of JAX need weighted metrics. Received: both "
                    "`metrics` and `weighted_metrics`. Give all as `weighted_metrics`."
                )
            options |= {"weighted_metrics": options.pop("metrics")}
        super().compile(*arguments, **options)
        distribution, loss = keras.distribution.distribution(), loss_mean(self)
        traced = types.SimpleNamespace(state=[], distribution=distribution, loss=loss)
        self.traced = traced

    @property
    def metrics(self):
        """Keras' metrics; on JAX, the loss is the sum of each output's mean."""
        return shown_metrics(self, super().metrics) if on_jax() else super().metrics

    @in_scope
    def fit(self, **arguments):
        """Keras' `fit`; ValueError if several devices are to split token ids."""
        if data_parts() > 1:
            if arguments.pop("validation_split", None):
                raise ValueError(
                    "`validation_split` of token ids needs one device. Received: "
                    f"{data_parts()} devices. Use `validation_data`."
                )
            options = {"batch_size": arguments.get("validation_batch_size")}
            held_out = arguments.pop("validation_data", None)
            if held_out is not None:
                names = "x", "y", "sample_weight"
                parts = keras.utils.unpack_x_y_sample_weight(held_out)
                options |= zip(names, parts, strict=True)
                steps = arguments.get("validation_steps")
                arguments["validation_data"] = padded_arguments(options, steps)["x"]
            arguments = padded_arguments(arguments, arguments.get("steps_per_epoch"))
        return super().fit(**arguments)

    @in_scope
    def evaluate(self, **arguments):
        """Keras' `evaluate`."""
        if data_parts() > 1 and not called_by_fit(arguments):
            arguments = padded_arguments(arguments, arguments.get("steps"))
        return super().evaluate(**arguments)

    @in_scope
    def predict(self, x, batch_size=None, steps=None, **options):
        """Keras' `predict`."""
        predict = functools.partial(super().predict, steps=steps, **options)
        if data_parts() == 1:
            return predict(x, batch_size)
        return predict_padded(predict, x, batch_size, steps)

    @in_scope
    def train_on_batch(
        self, x, y=None, sample_weight=None, class_weight=None, return_dict=False
    ):
        """Keras' `train_on_batch`."""
        if on_jax():  # which takes no tensors of TensorFlow
            x, y, sample_weight = padded_batch(x, y, sample_weight, class_weight)
            class_weight = None
        fit = super().train_on_batch
        return fit(x, y, sample_weight, class_weight, return_dict)

    @in_scope
    def test_on_batch(self, x, y=None, sample_weight=None, return_dict=False):
        """Keras' `test_on_batch`."""
        if on_jax():
            x, y, sample_weight = padded_batch(x, y, sample_weight)
        return super().test_on_batch(x, y, sample_weight, return_dict)

    @in_scope
    def predict_on_batch(self, x):
        """Keras' `predict_on_batch`, which computes all rows on all devices."""
        return super().predict_on_batch(keras.tree.map_structure(np.asarray, x))

    def predict_step(self, state, *data):
        """Keras' step, whose outputs every process has."""
        outputs, *values = super().predict_step(state, *data)
        return on_all_devices(outputs), *values

    def make_train_function(self, force=False):
        """Keras' function of a step, traced anew if other variables are trainable."""
        super().make_train_function(traced_anew(self) or force)

    def compute_loss(
        self, x=None, y=None, y_pred=None, sample_weight=None, training=True
    ):
        """The sum of the outputs' means over weights, and of what layers add."""
        if not losses_are_built(self):
            super().compute_loss(x, y, y_pred)
        means, _ = means_of(sums_of_outputs(self, y, y_pred, sample_weight))
        return sum([*means, *self.losses])

    def update_loss(self, loss, y, y_pred, sample_weight):
        """Adds the losses of a batch to the mean of the logs; see `StateHooks`."""
        means, weights = means_of(sums_of_outputs(self, y, y_pred, sample_weight))
        counts = [*weights, sum(weights) if weights else 1.0]
        self.traced.loss.update_state([*means, loss - sum(means)], counts)
