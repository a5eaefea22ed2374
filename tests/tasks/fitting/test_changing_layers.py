"""Layers that are frozen or unfrozen between two calls of `fit`."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from two_heads import X, Y, make_model, weights_of

from zoo.training import AdamW, WarmupLinearDecay

LOSSES = {"first": "mse", "second": "mse"}


def compiled(dtype=None, strategy=None, **options):
    strategy = strategy or tf.distribute.get_strategy()
    with strategy.scope():
        model = make_model(dtype=dtype)
        optimizer = AdamW(WarmupLinearDecay(0.1, 2), weight_decay=0.5, **options)
        model.compile(optimizer, LOSSES, run_eagerly=strategy.num_replicas_in_sync > 1)
    return model


def fit(model, epochs=3):
    model.fit(X, Y, batch_size=4, epochs=epochs, shuffle=False, verbose=0)


def values(layer):
    return np.concatenate([weight.ravel() for weight in layer.get_weights()])


def slots(model, layer):
    """The state of the optimizer that belongs to a layer, by name."""
    return {
        variable.path: np.asarray(variable.value)
        for variable in model.optimizer.variables
        if f"_{layer}_" in f"_{variable.path.split('/')[-1]}"
    }


SCALED = pytest.param("scaled", marks=pytest.mark.half_precision)


@pytest.fixture(params=["plain", SCALED, "averaging", "replicas"])
def model(request):
    if request.param == "replicas":
        return compiled(strategy=request.getfixturevalue("two_replicas"))
    if request.param == "scaled":
        return compiled("mixed_float16")
    averaging = {"use_ema": True, "ema_momentum": 0.5}
    return compiled(**(averaging if request.param == "averaging" else {}))


@pytest.mark.shown("scaled")
def test_a_layer_that_is_frozen_does_not_move(model):
    """Not even by the decay of weights; the others keep their moments."""
    fit(model)
    body, head = model.get_layer("body"), model.get_layer("first")
    kept, updates = slots(model, "first"), int(model.optimizer.iterations.numpy())
    assert slots(model, "body") and kept
    body.trainable = False
    frozen, moved = values(body), values(head)
    model.make_train_function()
    for path, value in slots(model, "first").items():
        np.testing.assert_array_equal(value, kept[path], err_msg=path)
    fit(model)
    np.testing.assert_array_equal(values(body), frozen)
    assert np.any(values(head) != moved)
    assert not slots(model, "body")
    assert int(model.optimizer.iterations.numpy()) == 2 * updates


@pytest.mark.shown("plain")
def test_a_layer_that_is_unfrozen_learns(model):
    body = model.get_layer("body")
    body.trainable = False
    frozen = values(body)
    fit(model)
    np.testing.assert_array_equal(values(body), frozen)
    body.trainable = True
    fit(model)
    assert np.any(values(body) != frozen) and slots(model, "body")
    model.get_layer("first").trainable = False
    fixed = values(model.get_layer("first"))
    fit(model)
    np.testing.assert_array_equal(values(model.get_layer("first")), fixed)


def test_a_step_is_compiled_once_for_the_same_layers():
    model = compiled()
    fit(model)
    function, optimizer = model.train_function, model.optimizer
    fit(model)
    assert model.train_function is function
    model.get_layer("body").trainable = False
    fit(model)
    assert model.train_function is not function and model.optimizer is optimizer


def test_a_new_schedule_needs_a_new_step():
    model = compiled()
    fit(model)
    model.optimizer.learning_rate = WarmupLinearDecay(0.0)
    before = weights_of(model)
    fit(model)
    np.testing.assert_array_equal(weights_of(model), before)


def test_a_file_of_a_model_with_frozen_layers_has_its_state(tmp_path):
    model = compiled()
    fit(model)
    model.get_layer("body").trainable = False
    model.save(tmp_path / "model.keras")
    copy = keras.saving.load_model(tmp_path / "model.keras")
    assert not slots(copy, "body")
    variables = copy.optimizer.variables, model.optimizer.variables
    for ours, theirs in zip(*variables, strict=True):
        np.testing.assert_array_equal(ours, theirs, err_msg=theirs.path)
    for each in (model, copy):
        fit(each)
    np.testing.assert_array_equal(weights_of(copy), weights_of(model))


def test_a_model_without_trainable_layers_stays_as_it_is():
    model = compiled()
    fit(model, epochs=1)
    model.trainable = False
    before = weights_of(model)
    with pytest.warns(UserWarning, match="No variable is trainable"):
        fit(model, epochs=1)
    np.testing.assert_array_equal(weights_of(model), before)


def test_an_optimizer_of_several_models_keeps_its_variables():
    models = [make_model(), make_model()]
    optimizer = AdamW(0.1)
    optimizer.build([v for model in models for v in model.trainable_variables])
    count = len(optimizer.variables)
    for model in models:
        model.compile(optimizer, LOSSES, run_eagerly=True)
        before = weights_of(model)
        fit(model, epochs=1)
        assert np.any(weights_of(model) != before)
    assert len(optimizer.variables) == count
