"""The schedule of the default optimizer, and new heads that learn faster."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from python_process import run_python

from zoo.training import (
    AdamW,
    InverseSquareRoot,
    PlannedDecay,
    SlantedTriangle,
    WarmupLinearDecay,
)


def rates(schedule, steps):
    return [float(schedule(step)) for step in steps]


def sampled(updates):
    """The first steps, which have the warm-up, some later ones, and the last one."""
    return sorted({*range(min(updates, 110)), *range(0, updates, 97), updates - 1})


@pytest.mark.parametrize(
    "parts, updates",
    [(10, n) for n in (1, 9, 10, 37, 60, 1000)]
    + [(500, n) for n in (1, 499, 501, 1500)],
)
def test_a_plan_has_the_rates_of_bert_and_the_warmup_of_gpt(parts, updates):
    options = {"warmup_share": 0.002} if parts == 500 else {}
    schedule = PlannedDecay(0.3, begin=7, updates=updates, **options)
    expected = WarmupLinearDecay(0.3, updates // parts, updates)
    steps = sampled(updates)
    found = rates(schedule, [7 + step for step in steps])
    assert found == rates(expected, steps) and max(found) > 0


def test_warmup_and_decay_are_straight_lines():
    found = rates(WarmupLinearDecay(2.0, warmup_steps=4, decay_steps=10), range(12))
    expected = [0.0, 0.5, 1.0, 1.5, 1.2, 1.0, 0.8, 0.6, 0.4, 0.2, 0.0, 0.0]
    np.testing.assert_allclose(found, expected, atol=1e-6)
    schedule = WarmupLinearDecay(2.0, warmup_steps=2)
    assert rates(schedule, (0, 1, 2, 100)) == [0.0, 1.0, 2.0, 2.0]
    assert rates(WarmupLinearDecay(2.0), [0]) == [2.0]


def planned(schedule):
    schedule.plan(3, 20)
    return schedule


SCHEDULES = {
    "warm-up": lambda: WarmupLinearDecay(2.0, 4, 10),
    "plan": lambda: planned(PlannedDecay(0.5, warmup_share=0.002)),
    "triangle": lambda: SlantedTriangle(0.5, 30, 0.25, 8),
    "planned triangle": lambda: planned(SlantedTriangle(0.5, None, 0.25, 8)),
    "root": lambda: InverseSquareRoot(7e-4, 4),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_config_holds_the_schedule_and_its_plan(name):
    schedule = SCHEDULES[name]()
    options = {"global_clipnorm": 2.0, "bias_correction": False, "layer_decay": 0.9}
    options |= {"depths": {"block_0": 1}, "gradient_accumulation_steps": 2}
    optimizer = AdamW(schedule, weight_decay=0.5, **options)
    copy = keras.optimizers.deserialize(keras.optimizers.serialize(optimizer))
    assert copy.get_config() == optimizer.get_config()
    found = copy._learning_rate
    assert rates(found, range(0, 60, 7)) == rates(schedule, range(0, 60, 7))
    if "plan" in name:
        assert found.planned() == (3, 20)
        found.plan(0, 1)
        assert schedule.planned() == (3, 20)


def test_without_a_plan_and_after_one_the_rate_stays_at_the_peak():
    expected = rates(WarmupLinearDecay(2.0, 50), range(60))
    assert rates(PlannedDecay(2.0), range(60)) == expected
    assert rates(PlannedDecay(2.0, 5, 20), range(25, 85)) == expected
    assert rates(PlannedDecay(2.0, 5, 20), range(5)) == [0.0] * 5  # never below zero


def test_a_new_plan_needs_no_new_step():
    schedule, traces = PlannedDecay(1.0), []

    @tf.function
    def rate(step):
        traces.append(1)
        return schedule(step)

    assert float(rate(tf.constant(25))) == 0.5
    schedule.plan(20, 5)
    assert float(rate(tf.constant(21))) == pytest.approx(0.8)
    assert len(traces) == 1


@pytest.mark.parametrize("rate", [-1e-3, float("nan"), np.float32("inf")])
@pytest.mark.parametrize("before", [float, PlannedDecay])
def test_a_rate_that_is_set_is_finite(rate, before):
    optimizer = AdamW(before(0.5))
    with pytest.raises(ValueError, match="`learning_rate` must be at least 0 and fin"):
        optimizer.learning_rate = rate
    optimizer.learning_rate = 0.0


def test_new_heads_learn_at_a_multiple_of_the_rate():
    names = ("block_0", "block_1", "pooler", "classifier", "classifier_norm")
    layers = [keras.layers.Dense(2, name=name) for name in names]
    for layer in layers:
        layer.build((None, 2))
    kernels = [layer.kernel for layer in layers]
    depths = {"block_0": 0, "block_1": 1}
    options = {"layer_decay": 0.5, "depths": depths, "global_clipnorm": None}
    options |= {"head_multiplier": 4.0, "heads": ("classifier",)}
    optimizer = AdamW(0.1, weight_decay=0.0, **options)
    optimizer = keras.optimizers.deserialize(keras.optimizers.serialize(optimizer))
    before = [kernel.numpy() for kernel in kernels]
    optimizer.apply([keras.ops.ones((2, 2))] * 5, kernels)
    moved = [np.max(old - kernel) for old, kernel in zip(before, kernels, strict=True)]
    np.testing.assert_allclose(moved, [0.025, 0.05, 0.1, 0.4, 0.1], rtol=1e-4)
    with pytest.raises(ValueError, match="`head_multiplier` needs `heads`"):
        AdamW(head_multiplier=2.0)


JAX_PROGRAM = """
import tiny, zoo
from zoo import registry, text
backbone = registry.build_backbone("bert", tiny.CONFIG)
tokenizer = text.WordPieceTokenizer(tiny.VOCABULARY)
model = zoo.TextClassifier(backbone, tokenizer, labels=tiny.LABELS)
model.compile(learning_rate=1e-2)
for _ in range(2):
    before = model.get_weights()
    model.fit(*tiny.make_texts(64), epochs=1, verbose=0)
    print(sum(abs(a - b).sum() for a, b in zip(before, model.get_weights())))
"""


@pytest.mark.slow
def test_jax_follows_a_new_plan():
    """A second `fit` changes the weights about as much as the first one."""
    pytest.importorskip("jax")
    done = run_python(JAX_PROGRAM, KERAS_BACKEND="jax")
    first, second = map(float, done.stdout.split())
    assert 0.3 * first < second < 3 * first
