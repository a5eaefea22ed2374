"""ULMFiT's schedule, with a number of updates or with the plan of `fit`."""

import math

import keras
import numpy as np
import pytest
import tiny

from zoo.registry import build_backbone
from zoo.tasks import TextClassifier
from zoo.training import AdamW, SlantedTriangle, layer_depths


def rates(schedule, steps):
    return [float(schedule(step)) for step in steps]


def of_the_paper(t, steps, peak=0.01, cut_fraction=0.1, ratio=32):
    """Howard and Ruder 2018, equation 3, as it is printed."""
    cut = math.floor(steps * cut_fraction)
    share = t / cut if t < cut else 1 - (t - cut) / (cut * (1 / cut_fraction - 1))
    return peak * (1 + share * (ratio - 1)) / ratio


def test_the_rates_are_those_of_the_paper():
    schedule = SlantedTriangle(0.01, 1000)
    found = rates(schedule, range(1000))
    expected = [of_the_paper(t, 1000) for t in range(1000)]
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert rates(schedule, [0, 1000, 5000]) == pytest.approx([0.01 / 32] * 3)
    assert rates(schedule, [100]) == pytest.approx([0.01])
    # Half way up and half way down, (1 + 31 / 2) / 32 of the peak.
    assert rates(schedule, [50, 550]) == pytest.approx([0.01 * 16.5 / 32] * 2)
    wide = SlantedTriangle(1.0, 90, cut_fraction=1 / 3, ratio=8)
    assert rates(wide, [0, 30, 60, 90]) == pytest.approx([1 / 8, 1, 4.5 / 8, 1 / 8])


@pytest.mark.parametrize("steps", [1, 5, 9])
def test_a_short_training_only_falls(steps):
    found = rates(SlantedTriangle(1.0, steps), range(steps + 1))
    expected = np.linspace(1.0, 1 / 32, steps + 1)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_without_steps_it_waits_for_the_plan_of_fit():
    schedule = SlantedTriangle(0.3, cut_fraction=0.2)
    assert rates(schedule, [0, 25, 50, 70]) == pytest.approx([0, 0.15, 0.3, 0.3])
    schedule.plan(7, 40)
    expected = rates(SlantedTriangle(0.3, 40, 0.2), range(40))
    assert rates(schedule, range(7, 47)) == expected
    assert rates(schedule, [47, 97]) == pytest.approx([0, 0.3])


class Rates(keras.callbacks.Callback):
    """Notes the rate of every update."""

    def __init__(self):
        super().__init__()
        self.rates = []

    def on_train_batch_begin(self, batch, logs=None):
        self.rates.append(float(self.model.optimizer.learning_rate))


@pytest.mark.shown("None")
@pytest.mark.parametrize("steps", [None, 5])
def test_fit_plans_it_unless_it_has_steps(tokenizer, steps):
    keras.utils.set_random_seed(1)
    backbone = build_backbone("bert", {**tiny.CONFIG, "num_layers": 1})
    model = TextClassifier(backbone, tokenizer, tiny.LABELS)
    model.compile(AdamW(SlantedTriangle(1e-3, steps)), run_eagerly=True)
    texts, labels = tiny.make_texts(16)
    for _ in range(2):
        found = Rates()
        model.fit(texts, labels, 8, 3, verbose=0, callbacks=[found])
        count = steps or 6
        first = 0 if steps is None else int(model.optimizer.iterations) - 6
        expected = rates(SlantedTriangle(1e-3, count), range(first, first + 6))
        assert found.rates == pytest.approx(expected)


@pytest.mark.parametrize("family", ["bert", "elmo"])
def test_discriminative_rates_fall_by_a_factor_for_each_group(family, tokenizer):
    """ULMFiT's 2.6: the head at the rate, each group below at a 2.6th of the last."""
    configs = {"bert": tiny.CONFIG, "elmo": tiny.ELMO_CONFIG}
    model = TextClassifier(build_backbone(family, configs[family]), None, tiny.LABELS)
    optimizer = model.default_optimizer(0.01, layer_decay=1 / 2.6)
    optimizer.head_multiplier = 1.0
    groups = model.backbone.groups()
    assert optimizer.depths == layer_depths(model.backbone)
    for depth, names in enumerate(groups):
        for name in names:
            for variable in model.backbone.named_layers[name].trainable_variables:
                expected = 2.6 ** (depth - len(groups))
                assert optimizer.rate_scale(variable.path) == pytest.approx(expected)
    for variable in model.get_layer("classifier").variables:
        assert optimizer.rate_scale(variable.path) == 1
