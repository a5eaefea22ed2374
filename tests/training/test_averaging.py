"""The mean of the weights of the last epochs, in memory and across interruptions."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from zoo.training import AdamW, AverageWeights, InverseSquareRoot, KeepBest, train_steps

X = np.random.default_rng(0).normal(size=(16, 3)).astype("float32")
Y = X.sum(axis=1, keepdims=True)


def make_model():
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    model.compile(AdamW(0.05), "mse")
    return model


class Recorder(keras.callbacks.Callback):
    """Keeps the weights of every epoch of the last `fit`."""

    def on_train_begin(self, logs=None):
        self.weights = []

    def on_epoch_end(self, epoch, logs=None):
        self.weights.append(self.model.get_weights())


def fit(model, *callbacks, epochs=5):
    model.fit(X, Y, 4, epochs, 0, [*callbacks], shuffle=False)
    return model.get_weights()


@pytest.mark.shown("3-True", "3-False")
@pytest.mark.parametrize("on_disk", (False, True))
@pytest.mark.parametrize("last", (1, 3, 9))
def test_the_mean_of_the_last_epochs(tmp_path, on_disk, last):
    model, recorder = make_model(), Recorder()
    average = AverageWeights(last, tmp_path / "kept" if on_disk else None)
    found = fit(model, recorder, average)
    for ours, *parts in zip(found, *recorder.weights[-last:], strict=True):
        np.testing.assert_allclose(ours, np.mean(parts, axis=0), rtol=1e-6)
    if on_disk:
        names = sorted(path.name for path in (tmp_path / "kept").iterdir())
        assert names == [f"{epoch}.npz" for epoch in range(max(0, 5 - last), 5)]
    else:  # a second `fit` forgets the first
        found = fit(model, recorder, average, epochs=1)
        np.testing.assert_allclose(found[0], recorder.weights[0][0])


def run(directory, average, steps=12):
    data = tf.data.Dataset.from_tensor_slices((X, Y)).batch(4).repeat()
    make = lambda start: data.skip(start)  # noqa: E731
    return train_steps(make_model(), make, steps, directory, 2, (), None, average)


def test_an_interrupted_run_has_the_same_mean(tmp_path):
    whole = run(tmp_path / "whole", 4).get_weights()
    last = run(tmp_path / "last", 1).get_weights()
    assert not np.allclose(whole[0], last[0])
    run(tmp_path / "parts", 4, steps=8)  # as if it had been killed after 8 steps
    (folder,) = {path.parent for path in (tmp_path / "parts").rglob("[0-9].npz")}
    (folder / ".0123456789abcdef-3.npz").write_bytes(b"PK")  # and while it wrote
    resumed = run(tmp_path / "parts", 4).get_weights()
    again = run(tmp_path / "parts", 4).get_weights()  # nothing is left to do
    for first, *others in zip(whole, resumed, again, strict=True):
        np.testing.assert_array_equal(others, [first] * 2)
    saved = keras.saving.load_model(tmp_path / "whole" / "checkpoint.keras")
    np.testing.assert_array_equal(saved.get_weights()[0], last[0])


def test_exponential_averages_of_keras_work():
    model = make_model()
    model.compile(AdamW(0.05, use_ema=True, ema_momentum=0.9), "mse")
    fit(model, keras.callbacks.SwapEMAWeights())
    averages = model.optimizer._model_variables_moving_average
    np.testing.assert_allclose(model.get_weights()[0], averages[0], rtol=1e-6)


def test_inverse_square_root():
    schedule = InverseSquareRoot(7e-4, 4)
    found = [float(schedule(step)) for step in range(10)]
    paper = [7e-4 * 2 * min((t + 1) ** -0.5, (t + 1) * 4**-1.5) for t in range(10)]
    np.testing.assert_allclose(found, paper, rtol=1e-6)
    assert max(found) == pytest.approx(7e-4) and np.argmax(found) == 3


def test_weights_in_bfloat16_are_kept_in_files(tmp_path):
    means = []
    for directory in (None, tmp_path / "kept"):
        keras.utils.set_random_seed(1)
        inputs = keras.Input((3,))
        outputs = keras.layers.Dense(1, dtype="bfloat16")(inputs)
        model = keras.Model(inputs, outputs)
        model.compile(AdamW(0.05), "mse")
        means.append(fit(model, AverageWeights(3, directory))[0].astype("float32"))
    np.testing.assert_allclose(*means, rtol=1e-2)


def test_averages_move_once_for_each_update():
    """Two batches of 8 that are accumulated are one of 16."""
    averages = []
    for size, every in ((16, None), (8, 2)):
        model = make_model()
        options = {"use_ema": True, "ema_momentum": 0.8}
        optimizer = AdamW(0.05, gradient_accumulation_steps=every, **options)
        model.compile(optimizer, "mse")
        model.fit(X, Y, size, 6, 0, shuffle=False)
        averages.append(model.get_weights()[0])
    np.testing.assert_allclose(*averages, rtol=1e-4)
    model = make_model()
    options |= {"gradient_accumulation_steps": 2, "ema_overwrite_frequency": 3}
    model.compile(AdamW(0.05, **options), "mse", run_eagerly=True)
    with pytest.raises(ValueError, match="cannot be combined with gradient_acc"):
        model.fit(X, Y, 8, verbose=0)


def test_two_ways_to_set_weights_exclude_each_other():
    for callback in (AverageWeights(2), KeepBest(lambda model: 0.0)):
        model = make_model()
        model.compile(AdamW(0.05, use_ema=True), "mse")
        with pytest.raises(ValueError, match="cannot be combined with use_ema=True"):
            fit(model, callback)
