"""A small model with the training steps of every task, and data for it."""

import keras
import numpy as np

from zoo.tasks.fitting.distribution import STEPS, weighted_arguments
from zoo.tasks.task_saving import TaskSaving

ROWS = 7
DRAW = np.random.default_rng(0)
X = DRAW.normal(size=(ROWS, 3)).astype("float32")
Y = {
    "first": DRAW.normal(size=(ROWS, 2)).astype("float32"),
    "second": DRAW.normal(size=(ROWS, 1)).astype("float32"),
}
WEIGHTS = {
    "first": np.array([1, 0, 2, 3, 0, 1, 5], "float32"),
    "second": np.array([0, 4, 1, 0, 1, 1, 2], "float32"),
}


@keras.saving.register_keras_serializable(package="tests")
class Model(TaskSaving, STEPS, keras.Model):
    """Layers in a functional graph, trained by the steps of a task."""

    output_kind = padding_label = labels = None

    def get_config(self):
        return super(TaskSaving, self).get_config()  # that of Keras

    @classmethod
    def from_config(cls, config, custom_objects=None):
        return super(TaskSaving, cls).from_config(config, custom_objects)

    def compile(self, optimizer="rmsprop", loss=None, **kwargs):
        super().compile(optimizer=optimizer, **weighted_arguments(self, loss, kwargs))
        self.loss_weights = kwargs.get("loss_weights")


def make_model(kind=dict, dtype=None):
    """Two dense heads on a dense body; outputs are a dict, a list or one of them."""
    keras.utils.set_random_seed(1)
    x = keras.Input((3,), name="x")
    body = keras.layers.Dense(4, "tanh", name="body", dtype=dtype)(x)
    outputs = {
        name: keras.layers.Dense(units, name=name, dtype="float32")(body)
        for name, units in (("first", 2), ("second", 1))
    }
    if kind is list:
        outputs = list(outputs.values())
    elif kind is not dict:
        outputs = outputs[kind]
    model = Model(x, outputs)
    if dtype:
        model.dtype_policy = keras.dtype_policies.get(dtype)
    return model


def weights_of(model):
    """All weights in one array."""
    return np.concatenate([weight.ravel() for weight in model.get_weights()])
