"""Three steps of training against fastai's, with the same dropout masks."""

import keras
import numpy as np
import pytest
from places import GOLDENS
from test_ulmfit import make, ours

from zoo.data import DocumentStreams
from zoo.tasks import CausalLM
from zoo.training import AdamW

GOLDEN = GOLDENS / "awd_training.npz"
RATES = {
    "embedding_dropout": 0.2,
    "input_dropout": 0.4,
    "weight_dropout": 0.5,
    "hidden_dropout": 0.3,
    "output_dropout": 0.25,
}
OPTIMIZERS = {
    "sgd": lambda: keras.optimizers.SGD(0.5),
    "adam": lambda: AdamW(
        0.01,
        weight_decay=0.0,
        beta_1=0.7,
        beta_2=0.99,
        epsilon=1e-5,
        global_clipnorm=None,
    ),
}
# The names of fastai's masks, by the layer that draws ours.
MASKS = {
    "embedding_dropout": "embedding",
    "dropout_0": "input",
    "dropout_1": "hidden_0",
    "dropout_2": "hidden_1",
    **{f"rnn_{i}": f"weight_{i}" for i in range(3)},
}


@pytest.fixture(scope="module")
def golden():
    with np.load(GOLDEN) as file:
        return dict(file)


def ours_of(golden, prefix):
    """fastai's parameters under our paths."""
    names = [name for name in golden if name.startswith(prefix)]
    short = {k: k.removeprefix(prefix).replace("module.", "") for k in names}
    return ours({short[k].removesuffix("_raw"): golden[k] for k in names})


def give_masks(monkeypatch, model, golden, name):
    """Lets all dropouts use fastai's masks, those of one step after another."""
    layers = model.backbone.named_layers
    names = {id(layers[k].seed_generator): part for k, part in MASKS.items()}
    names[id(model.head.output_dropout.seed_generator)] = "output"
    used = dict.fromkeys(names.values(), 0)

    def dropout(x, rate, noise_shape=None, seed=None):
        part = names[id(seed)]
        mask = golden[f"{name}/mask/{part}/{used[part]}"]
        used[part] += 1
        shape = x.shape if noise_shape is None else noise_shape
        mask = mask.T if part.startswith("weight") else mask.reshape(shape)
        np.testing.assert_allclose(mask.max(), 1 / (1 - rate), rtol=1e-6)
        return x * mask

    monkeypatch.setattr(keras.src.backend.random, "dropout", dropout)
    return used


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_three_steps_are_those_of_fastai(golden, name, monkeypatch):
    sizes = {"vocabulary_size": 20, "embedding_dim": 6, "lstm_dim": 8, "num_layers": 3}
    model = CausalLM(make(**sizes, **RATES), rows=3, window=5)
    start = ours_of(golden, "start/")
    assert {v.path for v in model.trainable_variables} == start.keys()
    for variable in model.trainable_variables:
        variable.assign(start[variable.path])
    model.compile(OPTIMIZERS[name](), run_eagerly=True)
    used = give_masks(monkeypatch, model, golden, name)
    streams = DocumentStreams(golden["ids"], golden["offsets"], 3, 5, seed=None)
    assert streams.steps_per_epoch == 3
    losses = []
    for step in range(3):
        batch = model.finish(streams.batch(step))
        losses.append(model.train_on_batch(*batch, return_dict=True)["loss"])
        model.reset_metrics()
    assert {*used.values()} == {3}
    np.testing.assert_allclose(losses, golden[f"{name}/losses"], rtol=1e-5)
    expected = ours_of(golden, f"{name}/end/")
    for variable in model.trainable_variables:
        moved = np.abs(variable.numpy() - start[variable.path]).max()
        assert moved > 1e-3, variable.path
        np.testing.assert_allclose(
            variable, expected[variable.path], atol=1e-5, err_msg=variable.path
        )
