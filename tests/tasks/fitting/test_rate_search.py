"""`find_learning_rate` suggests a rate and leaves the model as it was."""

import keras
import numpy as np
import pytest
import tensorflow as tf
import tiny
from light_fits import EAGER, NUMBERS

from zoo.training import AdamW, PlannedDecay
from zoo.training.update_plan import unwrapped

FIELDS = {"num_layers": 1, "dropout": 0.2}


def state(model):
    """Copies of weights, random states and what the optimizer has."""
    optimizer = unwrapped(model.optimizer)
    values = [v.numpy() for v in (*model.variables, *model.optimizer.variables)]
    return [*values, np.array(str(optimizer.get_config()))]


def assert_same(ours, theirs):
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(mine, other)


OPTIMIZERS = {
    "default": lambda: None,
    "set": lambda: AdamW(PlannedDecay(1e-2)),
    "averaging": lambda: AdamW(1e-2, use_ema=True, ema_overwrite_frequency=2),
    "keras": lambda: keras.optimizers.Adam(1e-2, name="adam"),
}


@pytest.mark.shown("default-True")
@pytest.mark.parametrize(
    "name, trained",
    [
        *(("default", False), ("default", True), ("set", True)),
        *(("averaging", True), ("keras", False)),
    ],
)
def test_the_model_stays_as_it_was(name, trained, make_task, texts, labels):
    models = [make_task(fields=FIELDS, head_dropout=0.1) for _ in range(2)]
    for model in models:
        model.compile(OPTIMIZERS[name](), **EAGER)
        if name == "set":
            model.optimizer.learning_rate = 0.02
        model.make_train_function()
        if trained:
            model.fit(texts, labels, 8, verbose=0)
    before, history = state(models[0]), models[0].history if trained else None
    pairs = (texts, texts[::-1])
    curve = models[0].find_learning_rate(pairs, labels, 8, lowest=1e-3, updates=7)
    assert len(curve.rates) == 7 and len({*curve.losses}) == 7
    assert_same(state(models[0]), before)
    assert models[0].history is history and not models[0].pair
    for model in models:
        model.fit(texts, labels, 8, verbose=0)
    assert_same(*map(state, models))


@pytest.mark.slow
def test_token_ids_are_shuffled_as_without_a_search(make_task, texts, labels):
    y, results = np.array(NUMBERS), []
    for search in (True, False):
        model = make_task(fields=FIELDS, compile=EAGER)
        x = model.preprocessor((tf.constant(texts),))
        keras.utils.set_random_seed(4)
        if search:
            model.find_learning_rate(x, y, 8, updates=4)
        model.fit(x, y, batch_size=8, verbose=0)
        results.append(state(model))
    assert_same(*results)


TARGETS = {
    "text_classifier": lambda texts, labels: labels,
    "text_regressor": lambda texts, labels: [float(x == "good") for x in labels],
    "token_classifier": lambda texts, labels: tiny.make_tags(texts),
    "text_embedder": lambda texts, labels: np.ones((24, 16)) * np.arange(24)[:, None],
    "masked_lm": lambda texts, labels: None,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_every_task_has_a_curve(name, make_task, texts, labels):
    options = {"labels": tiny.TAGS} if name == "token_classifier" else {}
    model = make_task(name, fields=FIELDS, compile=EAGER, **options)
    y = TARGETS[name](texts, labels)
    curve = model.find_learning_rate(texts, y, updates=6, highest=0.1)
    assert np.isfinite(curve.losses).all() and len(curve.losses) == 6


@pytest.mark.slow
def test_a_suggestion_trains(make_task):
    texts, labels = tiny.make_texts(64)
    model = make_task(compile={"run_eagerly": False})
    found = model.find_learning_rate(texts, labels, 16, lowest=1e-5, updates=60)
    model.compile(learning_rate=found.suggestion)
    losses = model.fit(texts, labels, 16, epochs=9, verbose=0).history["loss"]
    assert losses[-1] < losses[0] - 0.05


@pytest.mark.slow
@pytest.mark.half_precision
def test_a_loss_scale_is_restored(make_task, texts, labels):
    model = make_task(fields=FIELDS, dtype="mixed_float16")
    model.compile(learning_rate=1e-2, **EAGER)
    model.fit(texts, labels, 8, verbose=0)
    before = state(model)
    model.find_learning_rate(texts, labels, 8, updates=5, highest=1e3)
    assert_same(state(model), before)


def test_a_schedule_of_keras_is_an_error(make_task, texts, labels):
    schedule = keras.optimizers.schedules.CosineDecay(1e-2, 9)
    model = make_task(fields=FIELDS, compile=EAGER)
    model.compile(keras.optimizers.Adam(schedule), **EAGER)
    model.fit(texts, labels, 8, verbose=0)
    before = state(model)
    with pytest.raises(TypeError, match="learning rate is not settable"):
        model.find_learning_rate(texts, labels)
    assert_same(state(model), before)
