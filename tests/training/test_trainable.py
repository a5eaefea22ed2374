"""An optimizer follows what is trainable, and keeps its state."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from zoo.training import Adagrad, AdamW, WarmupLinearDecay, follow_trainable

RATE, EPSILON = 0.1, 1e-4
ALONE = {"global_clipnorm": None}  # no variable changes the update of another
OPTIMIZERS = {
    "adamw": lambda: AdamW(WarmupLinearDecay(0.5, 4), **ALONE),
    "adagrad": lambda: Adagrad(0.5),
    "averaging": lambda: AdamW(0.5, **ALONE, use_ema=True, ema_momentum=0.5),
    "accumulating": lambda: AdamW(0.5, **ALONE, gradient_accumulation_steps=4),
    "scaled": lambda: keras.optimizers.LossScaleOptimizer(AdamW(0.5, **ALONE), 4.0, 2),
    "sgd": lambda: keras.optimizers.SGD(0.5, momentum=0.9),
    "nadam": lambda: keras.optimizers.Nadam(0.5),
    "adafactor": lambda: keras.optimizers.Adafactor(0.5),
    "ftrl": lambda: keras.optimizers.Ftrl(0.5),
}


def make_variables():
    """Two of one path, which a model with two parts can have, and a third."""
    values = np.random.default_rng(0).normal(size=(3, 2, 2)).astype("float32")
    names = ("kernel", "kernel", "table")
    made = [keras.Variable(v, name=n) for v, n in zip(values, names, strict=True)]
    for letter, variable in zip("abc", made, strict=True):
        variable.letter = letter  # chooses its gradient in `apply`
    return made


def apply(optimizer, variables, count=3, seed=1):
    draw = np.random.default_rng(seed)
    for _ in range(count):
        gradients = [draw.normal(size=(2, 2)).astype("float32") for _ in range(3)]
        chosen = [gradients["abc".index(v.letter)] for v in variables]
        optimizer.apply([tf.constant(g) for g in chosen], variables)


@pytest.fixture(params=OPTIMIZERS)
def trained(request):
    """Two optimizers after the same three updates, and the variables of each."""
    pairs = []
    for _ in range(2):
        variables, optimizer = make_variables(), OPTIMIZERS[request.param]()
        apply(optimizer, variables)
        pairs.append((optimizer, variables))
    return pairs


def test_a_variable_that_stays_learns_as_before(trained):
    """The others leave, and the state of the one that stays is all there is."""
    (optimizer, variables), (other, others) = trained
    before = [v.numpy() for v in variables]
    sizes = len(optimizer.variables)
    assert follow_trainable(optimizer, variables[1:2]) is optimizer
    assert len(optimizer.variables) < sizes
    assert int(optimizer.iterations) == int(other.iterations)
    for seed in (2, 3):
        apply(optimizer, variables[1:2], seed=seed)
        apply(other, others, seed=seed)
    np.testing.assert_array_equal(variables[1], others[1])
    assert np.any(variables[1].numpy() != before[1])
    for index in (0, 2):
        np.testing.assert_array_equal(variables[index], before[index])
    with pytest.raises(ValueError, match="Unknown variable"):
        apply(optimizer, variables)


def test_a_variable_that_comes_back_starts_anew(trained):
    (optimizer, variables), (other, others) = trained
    before = list(optimizer.variables)
    follow_trainable(optimizer, variables)  # nothing changes
    assert all(a is b for a, b in zip(optimizer.variables, before, strict=True))
    follow_trainable(optimizer, variables[1:])
    follow_trainable(optimizer, variables)
    assert len(optimizer.variables) == len(other.variables)
    for ours, theirs in zip(optimizer.variables, other.variables, strict=True):
        assert ours.shape == theirs.shape and ours.dtype == theirs.dtype
    apply(optimizer, variables, seed=2)
    apply(other, others, seed=2)
    for ours, theirs in zip(variables[1:], others[1:], strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert np.isfinite(variables[0]).all()


def test_nothing_may_be_trainable_for_a_while():
    for maker in (OPTIMIZERS["adamw"], lambda: keras.optimizers.SGD(0.5)):
        variables, optimizer = make_variables(), maker()
        optimizer.build(variables)
        count = len(optimizer.variables)
        follow_trainable(optimizer, [])
        follow_trainable(optimizer, variables)
        assert len(optimizer.variables) == count
    # An optimizer without state is built.
    optimizer = follow_trainable(AdamW(0.5), variables)
    assert optimizer.built and len(optimizer.variables) == 2 + 2 * 3


def test_the_bias_is_corrected_from_the_update_at_which_a_variable_came():
    variables = make_variables()
    options = {"weight_decay": 0.0, "epsilon": EPSILON, **ALONE}
    optimizer, reference = (AdamW(RATE, **options) for _ in range(2))
    apply(optimizer, variables[:1], 5)
    follow_trainable(optimizer, variables[:2])
    late, alone = variables[1], keras.Variable(variables[1].numpy(), name="kernel")
    alone.letter = "b"
    apply(optimizer, variables[:2], 4, seed=7)
    apply(reference, [alone], 4, seed=7)
    np.testing.assert_allclose(late, alone, rtol=1e-6)
    copy = AdamW.from_config(optimizer.get_config())
    assert copy.joined == optimizer.joined == [0, 5]
    follow_trainable(optimizer, variables[2:])
    assert optimizer.joined == [9]


def test_an_average_starts_at_its_variable_and_a_rate_stays():
    variables = make_variables()
    optimizer = AdamW(RATE, use_ema=True, ema_momentum=0.9)
    apply(optimizer, variables[:1])
    follow_trainable(optimizer, variables)
    value = variables[2].numpy()
    optimizer.finalize_variable_values(variables)
    np.testing.assert_array_equal(variables[2], value)
    optimizer = AdamW(WarmupLinearDecay(0.5, 4))
    optimizer.build(variables)
    optimizer.learning_rate = 0.125
    follow_trainable(optimizer, variables[1:])
    assert float(optimizer.learning_rate) == 0.125
    assert len(optimizer.variables) == 2 + 2 * 2


def test_replicas_follow_too(two_replicas):
    results = []
    for strategy in (tf.distribute.get_strategy(), two_replicas):
        with strategy.scope():
            variables, optimizer = make_variables(), AdamW(RATE, epsilon=EPSILON)
            optimizer.build(variables)
        gradients = [tf.fill((2, 2), 3.0 / strategy.num_replicas_in_sync)] * 3

        def step(chosen, strategy=strategy, optimizer=optimizer, gradients=gradients):
            grads = gradients[: len(chosen)]
            strategy.run(lambda: optimizer.apply(grads, chosen))

        step(variables)
        follow_trainable(optimizer, variables[1:])  # outside the scope
        step(variables[1:])
        results.append([v.numpy() for v in variables])
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)
