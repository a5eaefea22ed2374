"""What is left of models that a process has trained and dropped."""

import gc

import keras
import numpy as np
import pytest
import two_heads
from tensorflow.python.framework.func_graph import FuncGraph

from zoo.layers import CRF, LSTM
from zoo.layers.crf import log_partition
from zoo.training import Adagrad, AdamW


def train_and_drop(optimizer):
    """Trains an LSTM with a CRF, and returns nothing."""
    x = keras.Input((None, 3))
    mask = keras.layers.Lambda(lambda x: x[..., 0] > 0)(x)
    h = LSTM(4, projection_dim=2)(x, mask=mask)[0]
    model = two_heads.Model(x, CRF()(h))
    model.compile(optimizer, lambda _, potentials: log_partition(potentials))
    model.fit(np.ones((4, 5, 3)), np.zeros((4, 5, 1)), verbose=0)


def training_steps():
    """The number of graphs of a training step that are still alive."""
    gc.collect()
    graphs = [o for o in gc.get_objects() if isinstance(o, FuncGraph)]
    return sum("one_step_on" in graph.name for graph in graphs)


@pytest.mark.shown("AdamW")
@pytest.mark.parametrize("optimizer", [AdamW, Adagrad])
def test_a_training_step_is_released_with_its_model(optimizer):
    """The searching user trains a hundred models in one process."""
    before = training_steps()
    train_and_drop(optimizer(0.1))
    assert training_steps() <= before
