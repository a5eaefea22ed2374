"""A rate that a user or a callback sets replaces a schedule."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from zoo.training import Adagrad, AdamW, WarmupLinearDecay

X = np.random.default_rng(0).normal(size=(8, 3)).astype("float32")
Y = X.sum(axis=1, keepdims=True)
SCHEDULE, PLAIN = WarmupLinearDecay(0.5, 4), {"weight_decay": 0.0}
OPTIMIZERS = {
    "adamw": lambda: AdamW(SCHEDULE, **PLAIN),
    "adagrad": lambda: Adagrad(SCHEDULE),
    "accumulating": lambda: AdamW(SCHEDULE, **PLAIN, gradient_accumulation_steps=2),
    "scaled": lambda: keras.optimizers.LossScaleOptimizer(AdamW(SCHEDULE, **PLAIN)),
}


def make_model(optimizer):
    keras.utils.set_random_seed(3)
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    model.compile(optimizer, "mse", run_eagerly=True)
    return model


def updates(model):
    """How far the weights move in two batches."""
    before = [weight.copy() for weight in model.get_weights()]
    for _ in range(2):
        model.train_on_batch(X, Y)
    pairs = zip(model.get_weights(), before, strict=True)
    return max(np.abs(after - weight).max() for after, weight in pairs)


def rate(model):
    return float(model.optimizer.learning_rate)


def check_compiled(optimizer, strategy):
    """Sets the rate of an optimizer whose step is compiled already."""
    with strategy.scope():
        variable = keras.Variable([1.0, 2.0])
        optimizer = optimizer()
        optimizer.build([variable])
    traces = []

    @tf.function
    def step():
        traces.append(1)
        strategy.run(lambda: optimizer.apply([tf.constant([3.0, 4.0])], [variable]))

    def moved():
        before = variable.numpy()
        for _ in range(4):
            step()
        return np.abs(variable.numpy() - before).max()

    first = float(optimizer.learning_rate)
    assert moved() > 0 and float(optimizer.learning_rate) > first
    optimizer.learning_rate = 0.0
    assert float(optimizer.learning_rate) == 0.0 and moved() == 0.0
    optimizer.learning_rate = np.float32(0.125)
    assert float(optimizer.learning_rate) == 0.125 and moved() > 0
    assert float(optimizer.learning_rate) == 0.125 and len(traces) == 1


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_step_that_is_compiled_uses_the_new_rate(name):
    check_compiled(OPTIMIZERS[name], tf.distribute.get_strategy())


def test_replicas_use_the_new_rate(two_replicas):
    check_compiled(OPTIMIZERS["adamw"], two_replicas)


def test_callbacks_of_keras_set_the_rate():
    model = make_model(OPTIMIZERS["adamw"]())
    never = keras.callbacks.ReduceLROnPlateau("loss", 0.5, patience=1, min_delta=1e9)
    rates = model.fit(X, Y, epochs=9, verbose=0, callbacks=[never]).history
    halves = rates["learning_rate"][2:]
    assert halves == [halves[0] * 0.5**k for k in range(7)]
    schedule = keras.callbacks.LearningRateScheduler(lambda epoch, old: 0.25 + epoch)
    rates = model.fit(X, Y, epochs=2, verbose=0, callbacks=[schedule]).history
    assert rates["learning_rate"] == [0.25, 1.25]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_file_holds_the_rate(name, tmp_path):
    model = make_model(OPTIMIZERS[name]())
    updates(model)
    model.optimizer.learning_rate = 0.125
    updates(model)
    model.save(tmp_path / "model.keras")
    copy = keras.saving.load_model(tmp_path / "model.keras")
    assert rate(copy) == 0.125
    variables = (m.optimizer.variables for m in (copy, model))
    np.testing.assert_equal(*([v.numpy() for v in part] for part in variables))
    assert updates(copy) == updates(model) > 0
    copy.optimizer.learning_rate = 0.0
    assert updates(copy) == 0.0


def test_a_config_holds_the_rate():
    optimizer = AdamW(SCHEDULE)
    assert optimizer.get_config()["learning_rate"]["class_name"] == "WarmupLinearDecay"
    optimizer.learning_rate = 0.125
    config = optimizer.get_config()
    assert config["learning_rate"] == 0.125
    copy = AdamW.from_config(config)
    assert copy.get_config() == config and float(copy.learning_rate) == 0.125
    optimizer = AdamW(lambda: 0.5)  # a function as a rate
    assert float(optimizer.learning_rate) == 0.5
    optimizer.learning_rate = 0.25
    assert float(optimizer.learning_rate) == 0.25


def test_a_file_from_before_rates_could_be_set_fits():
    """Its config has the schedule, and its variables, in order, no rate."""
    registered = {"module": "zoo.training.optimizers", "build_config": None}
    schedule = {
        **registered,
        "class_name": "WarmupLinearDecay",
        "registered_name": "zoo>WarmupLinearDecay",
        "config": {"peak": 0.5, "warmup_steps": 4, "decay_steps": None},
    }
    config = {
        **registered,
        "class_name": "AdamW",
        "registered_name": "zoo>AdamW",
        "config": {"name": "adamw", "learning_rate": schedule, "depths": {}},
    }
    optimizer = keras.saving.deserialize_keras_object(config)
    optimizer.build([keras.Variable(1.0, name="a"), keras.Variable(1.0, name="b")])
    names = [variable.name for variable in optimizer.variables]
    slots = [f"{name}_{slot}" for name in "ab" for slot in ("momentum", "velocity")]
    assert names == ["iteration", *slots]
    optimizer.learning_rate = 0.25
    names = [variable.name for variable in optimizer.variables]
    assert names == ["iteration", "learning_rate", *slots]


def test_a_schedule_can_be_set_again():
    model = make_model(OPTIMIZERS["adamw"]())
    updates(model)
    model.optimizer.learning_rate = 0.25
    names = [variable.path for variable in model.optimizer.variables]
    model.optimizer.learning_rate = WarmupLinearDecay(0.75)
    assert rate(model) == 0.75
    model.optimizer.learning_rate = 0.25
    assert [variable.path for variable in model.optimizer.variables] == names
    plain = AdamW(0.5)
    plain.learning_rate = WarmupLinearDecay(0.75)
    assert float(plain.learning_rate) == 0.75
    plain.learning_rate = 0.25
    assert float(plain.learning_rate) == 0.25 and len(plain.variables) == 2


def test_the_state_with_a_rate_and_without_fit_one_another(tmp_path):
    model = make_model(OPTIMIZERS["adamw"]())
    updates(model)
    assert len(model.optimizer.variables) == 1 + 2 * 2
    model.save_weights(tmp_path / "0.25.weights.h5")
    other = make_model(OPTIMIZERS["adamw"]())
    updates(other)
    other.optimizer.learning_rate = 0.375
    other.save_weights(tmp_path / "0.375.weights.h5")
    for expected in (0.375, 0.25, 0.25, 0.375):
        model.load_weights(tmp_path / f"{expected}.weights.h5")
        assert rate(model) == expected
