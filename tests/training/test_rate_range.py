"""The learning-rate range test, on a loss whose bound of stability is known."""

import keras
import numpy as np
import pytest

from zoo.training import RangeTest, RateCurve

CURVATURE = 50.0
X = np.full((64, 1), 1.0, "float32")
Y = np.zeros((64, 1), "float32")


def measure(optimizer, updates=60, **options):
    """The curve of `0.5 c w^2`, whose gradient descent converges below 2 / c."""
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, use_bias=False)])
    model.set_weights([np.ones((1, 1))])
    model.compile(optimizer, lambda y, z: 0.5 * CURVATURE * z**2, run_eagerly=True)
    test = RangeTest(updates=updates, **options)
    model.fit(X, Y, 32, epochs=10 * updates, verbose=0, callbacks=[test])
    return test.curve()


@pytest.mark.slow
def test_the_loss_is_lowest_where_descent_becomes_unstable():
    curve = measure(keras.optimizers.SGD(0.1), updates=100, lowest=1e-4)
    step = curve.rates[1] / curve.rates[0]
    lowest = curve.rates[int(np.argmin(curve.losses))]
    assert 2 / CURVATURE <= lowest <= 2 / CURVATURE * step**2
    # The average lags behind; the margin of ten makes up for it.
    assert 0.1 < curve.suggestion / (2 / CURVATURE) < 1
    assert curve.smoothed[-1] > 4 * min(curve.smoothed)  # why it stopped
    assert len(curve.rates) < 100


def test_rates_and_averages_have_their_formulas():
    curve = measure(keras.optimizers.SGD(0.1), lowest=1e-6, highest=1e-3, updates=31)
    ratios = np.array(curve.rates[1:]) / curve.rates[:-1]
    np.testing.assert_allclose(ratios, 10**0.1)
    assert curve.rates[0] == 1e-6 and curve.rates[-1] == pytest.approx(1e-3)
    w = np.cumprod([1, *(1 - CURVATURE * np.array(curve.rates))])[:-1]
    np.testing.assert_allclose(curve.losses, 0.5 * CURVATURE * w**2, rtol=1e-4)
    for count in (1, 2, 31):
        powers = 0.9 ** np.arange(count)[::-1]
        average = np.average(curve.losses[:count], weights=powers)
        assert curve.smoothed[count - 1] == pytest.approx(average)


def test_an_update_may_have_several_batches():
    options = {"lowest": 1e-6, "highest": 1e-3, "updates": 8}
    one = measure(keras.optimizers.SGD(0.1), **options)
    four = measure(keras.optimizers.SGD(0.1, gradient_accumulation_steps=4), **options)
    assert four.rates == one.rates
    np.testing.assert_allclose(four.losses, one.losses, rtol=1e-5)


@pytest.mark.filterwarnings("ignore:overflow")
def test_a_loss_that_is_not_finite_ends_the_test():
    options = {"lowest": 1e18, "highest": 1e20, "updates": 9}
    curve = measure(keras.optimizers.SGD(0.1), **options)
    assert 1 <= len(curve.losses) < 9 and np.isfinite(curve.losses).all()
    assert curve.suggestion is None
    assert RateCurve((), (), ()).suggestion is None


def test_errors():
    for rates in ((1, 1), (2, 1.0)):
        with pytest.raises(ValueError, match="`lowest` must be less than `highest`"):
            RangeTest(*rates)
    with pytest.raises(ValueError, match=r"and a smoothed loss. Received: \[1, 1, 0\]"):
        RateCurve((1.0,), (1.0,), ())
