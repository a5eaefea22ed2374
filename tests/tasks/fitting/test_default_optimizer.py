"""What `compile` and `fit` do by default: rate, schedule, epochs and clipping."""

import keras
import numpy as np
import pytest
import tensorflow as tf
import tiny
from light_fits import EAGER, NUMBERS, RATE, StopAfter, formula
from two_heads import weights_of

import zoo
from zoo.layers import enable_lora
from zoo.training import AdamW, PlannedDecay, WarmupLinearDecay
from zoo.training.update_plan import unwrapped


class Rates(keras.callbacks.Callback):
    """Keeps the rate of every update, and may stop after an epoch."""

    def __init__(self, stop=None):
        super().__init__()
        self.rates, self.stop = [], stop

    def on_train_batch_begin(self, batch, logs=None):
        self.rate = float(self.model.optimizer.learning_rate)

    def on_train_batch_end(self, batch, logs=None):
        self.rates.append(self.rate)  # there was a batch

    def on_epoch_end(self, epoch, logs=None):
        if epoch == self.stop:
            self.model.stop_training = True


@pytest.fixture
def make_default(make_task):
    """Function of a task's name and options: compiled with the default optimizer."""

    def make(*args, compile=None, **options):
        options = {"fields": {"num_layers": 1}, **options}
        task = make_task(*args, **options)
        task.compile(**{"learning_rate": RATE, **EAGER, **(compile or {})})
        return task

    return make


def fit(model, *data, stop=None, **options):
    """The rates of a `fit` with batches of 8."""
    rates = Rates(stop)
    callbacks = [*options.pop("callbacks", ()), rates]
    if not isinstance(data[0], tf.data.Dataset):
        options.setdefault("batch_size", 8)
    model.fit(*data, verbose=0, callbacks=callbacks, **options)
    return rates.rates


@pytest.mark.slow
def test_the_rate_rises_and_falls_over_a_fit(make_default, texts, labels):
    model = make_default(compile={"run_eagerly": False})
    assert isinstance(model.optimizer._learning_rate, PlannedDecay)
    assert fit(model, texts, labels, epochs=7) == formula(21)
    function = model.train_function
    assert fit(model, texts, labels, epochs=2) == formula(6)  # a second one starts anew
    assert model.train_function is function
    eager = make_default()
    for epochs in (7, 2):
        fit(eager, texts, labels, epochs=epochs)
    # So the step that was compiled for the first plan follows the second one.
    np.testing.assert_allclose(weights_of(model), weights_of(eager), atol=1e-3)


@pytest.mark.slow
def test_every_kind_of_data_has_a_known_number_of_updates(make_default, texts, labels):
    model = make_default()
    ids, y = model.preprocessor((tf.constant(texts),)), np.array(NUMBERS)
    x = {key: value.numpy() for key, value in ids.items()}
    more = {key: np.concatenate([value, value[:8]]) for key, value in x.items()}
    slices = tf.data.Dataset.from_tensor_slices
    for number, (data, options) in enumerate([
        ((texts, labels), {}),
        ((x, y), {}),
        ((slices((texts, labels)).batch(8),), {}),
        ((slices((x, y)).batch(8),), {}),
        ((slices((x, y)).batch(8).repeat(),), {"steps_per_epoch": 3}),
        ((texts * 2, labels * 2), {"steps_per_epoch": 3}),
        ((texts + texts[:8], labels + labels[:8]), {"validation_split": 0.25}),
        ((more, np.r_[y, y[:8]]), {"validation_split": 0.25}),
    ]):  # fmt: skip
        fit(model, *data, epochs=4, callbacks=[StopAfter(1)], shuffle=False, **options)
        assert model.optimizer._learning_rate.planned() == (number, 12)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Your input ran out of data")
@pytest.mark.filterwarnings("ignore:`fit` must know how many batches")
def test_an_unknown_number_of_batches_is_counted(
    make_default, texts, labels, tmp_path, monkeypatch
):
    monkeypatch.setattr("zoo.data.read_ahead.MOST_BATCHES", 1)

    def dataset():
        data = tf.data.Dataset.from_tensor_slices((texts, labels))
        return data.batch(8).filter(lambda x, y: True)

    model = make_default()
    warm = [float(WarmupLinearDecay(RATE, 50)(step)) for step in range(3)]
    whole = fit(model, dataset(), epochs=4)
    assert whole == warm + formula(12)[3:]
    parts = make_default()
    fit(parts, dataset(), epochs=4, stop=1)
    parts.save(tmp_path / "model.keras")
    loaded = zoo.load_model(tmp_path / "model.keras")
    assert fit(loaded, dataset(), epochs=4, initial_epoch=2) == whole[6:]
    np.testing.assert_array_equal(weights_of(loaded), weights_of(model))
    # With a new optimizer, the batches of the first epoch of this `fit` are counted.
    later = fit(make_default(), dataset(), epochs=4, initial_epoch=1)
    assert later[3:] == formula(12)[6:]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        *("plain", "accumulating", "unfrozen"),
        pytest.param("scaled", marks=pytest.mark.half_precision),
    ],
)
def test_a_stopped_run_ends_as_an_undisturbed_one(
    name, make_default, texts, labels, tmp_path
):
    def make():
        fields = {"num_layers": 1, "dropout": 0.2}
        dtype = "mixed_float16" if name == "scaled" else None
        model = make_default(fields=fields, dtype=dtype)
        if name == "accumulating":
            schedule = PlannedDecay(RATE)
            model.compile(AdamW(schedule, gradient_accumulation_steps=2), **EAGER)
        if name == "unfrozen":
            model.backbone.trainable = False
        fit(model, texts, labels)  # so that the plan does not begin with update 0
        model.backbone.trainable = True
        return model

    whole, parts = make(), make()
    rates = fit(whole, texts, labels, epochs=4)
    fit(parts, texts, labels, epochs=4, stop=1)
    parts.save(tmp_path / "model.keras")
    loaded = zoo.load_model(tmp_path / "model.keras")
    assert fit(loaded, texts, labels, epochs=4, initial_epoch=2) == rates[6:]
    np.testing.assert_array_equal(weights_of(loaded), weights_of(whole))
    for ours, theirs in zip(
        loaded.optimizer.variables, whole.optimizer.variables, strict=True
    ):
        np.testing.assert_array_equal(ours, theirs, err_msg=theirs.path)
    if name == "accumulating":
        # Before the plan there are 3 batches, an update and a half.
        expected = formula(6)
        assert rates == [expected[(batch + 1) // 2] for batch in range(11)] + [0.0]


@pytest.mark.slow
@pytest.mark.half_precision
def test_updates_that_float16_skips_do_not_move_the_plan(make_default, texts, labels):
    model = make_default(dtype="mixed_float16")
    model.optimizer.initial_scale = 1e30  # infinite gradients in the first updates
    fit(model, texts, labels, epochs=4, stop=1)
    assert int(model.optimizer.iterations) < 6
    plan = unwrapped(model.optimizer)._learning_rate.planned()
    fit(model, texts, labels, epochs=4, initial_epoch=2)
    assert unwrapped(model.optimizer)._learning_rate.planned() == plan == (0, 12)


@pytest.mark.slow
def test_a_callback_list_of_the_user_has_the_plan_too(make_default, texts, labels):
    model, rates = make_default(), Rates()
    callbacks = keras.callbacks.CallbackList(
        [rates], add_history=True, model=model, epochs=4, steps=3
    )
    model.fit(texts, labels, 8, epochs=4, verbose=0, callbacks=callbacks)
    assert rates.rates == formula(12)


@pytest.mark.slow
def test_replicas_follow_the_plan(two_replicas, tokenizer, texts, labels):
    for strategy in (tf.distribute.get_strategy(), two_replicas):
        keras.utils.set_random_seed(1)
        with strategy.scope():
            config = {**tiny.CONFIG, "num_layers": 1}
            backbone = zoo.registry.build_backbone("bert", config)
            model = zoo.TextClassifier(backbone, tokenizer, tiny.LABELS)
        model.compile(learning_rate=RATE, run_eagerly=True)  # outside of the scope
        assert fit(model, texts, labels, epochs=2) == formula(6)
        assert fit(model, texts, labels, epochs=1) == formula(3)


@pytest.mark.slow
def test_xla_follows_the_plan(make_default, texts, labels):
    data = texts[:8], labels[:8]
    results = []
    for options in (EAGER, {"jit_compile": True, "run_eagerly": False}):
        model = make_default(sequence_length=16, compile=options)
        for epochs in (3, 2):
            assert fit(model, *data, epochs=epochs) == formula(epochs)
        results.append(weights_of(model))
    np.testing.assert_allclose(*results, atol=1e-4)


@pytest.mark.slow
def test_averages_and_lora_follow_the_plan(make_default, texts, labels):
    model = make_default()
    model.compile(AdamW(PlannedDecay(RATE), use_ema=True, ema_momentum=0.5), **EAGER)
    assert fit(model, texts, labels, epochs=2) == formula(6)
    enable_lora(model, 2)
    model.compile(learning_rate=RATE, **EAGER)
    assert fit(model, texts, labels, epochs=2) == formula(6)


def test_a_rate_that_was_set_stays(make_default, texts, labels, tmp_path):
    model = make_default()
    model.optimizer.learning_rate = 0.125
    assert fit(model, texts, labels, epochs=2) == [0.125] * 6
    model.save(tmp_path / "model.keras")
    copy = zoo.load_model(tmp_path / "model.keras")
    assert fit(copy, texts, labels) == [0.125] * 3
    model.compile(learning_rate=RATE, **EAGER)
    assert fit(model, texts, labels) == formula(3)


def test_gradients_are_clipped(make_default, texts, labels):
    """After one update, Adam's first moments are a tenth of the clipped gradients."""
    model = make_default("text_regressor", compile={"learning_rate": 1e-6})
    model.train_on_batch(texts, [1e4] * 24)
    moments = [m.numpy().ravel() for m in model.optimizer._momentums]
    assert np.linalg.norm(np.concatenate(moments)) == pytest.approx(0.1, rel=1e-4)


def test_errors_of_a_rate(make_task):
    model = make_task()
    optimizer = model.optimizer
    for rate in (0, -1e-5, float("nan"), float("inf"), "fast", WarmupLinearDecay(0.1)):
        with pytest.raises(ValueError, match="must be a positive number. Received: "):
            model.compile(learning_rate=rate)
    with pytest.raises(ValueError, match="learning_rate=0.1 and an optimizer. Give"):
        model.compile("sgd", learning_rate=0.1)
    assert model.optimizer is optimizer
