"""Several replicas, in one process and in two, train as one does."""

import pathlib

import keras
import numpy as np
import pytest
import replicas
import tensorflow as tf
import tiny
import two_heads
from eager import without_graphs
from workers import run_workers

from zoo.tasks.fitting.distribution import finite_on_all_replicas
from zoo.training import AdamW

HERE = pathlib.Path(__file__).parent
SLOW_WORKERS = pytest.param("workers", marks=pytest.mark.slow)


@pytest.fixture(scope="module")
def one():
    with without_graphs():
        return replicas.run(tf.distribute.get_strategy())


@pytest.fixture(scope="module", params=["two_replicas", SLOW_WORKERS])
def several(request, tmp_path_factory):
    """Results of all workers."""
    if request.param == "two_replicas":
        return [replicas.run(request.getfixturevalue("two_replicas"))]
    folder = tmp_path_factory.mktemp("workers")
    files = [folder / f"{index}.npz" for index in range(2)]
    commands = [[HERE / "replicas.py", file] for file in files]
    run_workers(commands, [file.with_suffix(".log") for file in files])
    return [dict(np.load(file)) for file in files]


def test_losses_and_weights_are_those_of_one_device(one, several):
    for results in several:
        np.testing.assert_allclose(results["losses"], one["losses"], atol=1e-4)
        np.testing.assert_allclose(results["accuracies"], one["accuracies"], atol=1e-6)
        np.testing.assert_allclose(results["weights"], one["weights"], atol=1e-4)
    assert one["losses"][-5:].mean() < one["losses"][:5].mean() - 0.05


@pytest.mark.parametrize("rows", [37, replicas.ROWS])
def test_a_short_last_batch_counts_by_its_rows(one, several, rows):
    for results in several:
        for key in (f"evaluate_{rows}", f"predict_{rows}"):
            np.testing.assert_allclose(results[key], one[key], atol=1e-4, err_msg=key)


class Weights(keras.callbacks.Callback):
    """Keeps the weights of every epoch."""

    def __init__(self):
        super().__init__()
        self.epochs = []

    def on_epoch_end(self, epoch, logs=None):
        self.epochs.append(self.model.get_weights())


@pytest.mark.slow
def test_callbacks_and_bfloat16_under_a_strategy(two_replicas, tmp_path):
    model = replicas.make_model(two_replicas, "mixed_bfloat16", 0.5, num_layers=2)
    texts, labels = tiny.make_texts(20)
    weights = Weights()
    stopping = keras.callbacks.EarlyStopping(patience=1, restore_best_weights=True)
    board = keras.callbacks.TensorBoard(tmp_path, profile_batch=0)
    options = {"callbacks": [weights, stopping, board], "verbose": 0}
    options["validation_data"] = texts[13:], labels[13:]
    history = model.fit(texts[:13], labels[:13], 8, 9, **options).history
    assert np.isfinite(history["loss"]).all()
    epochs, best = len(history["val_loss"]), int(np.argmin(history["val_loss"]))
    assert epochs == best + 2 < 9
    for restored, kept in zip(model.get_weights(), weights.epochs[best], strict=True):
        np.testing.assert_array_equal(restored, kept)
        assert restored.dtype == np.float32
    assert {path.name for path in tmp_path.iterdir()} == {"train", "validation"}
    assert model.compute_dtype == "bfloat16"


@pytest.mark.slow
def test_one_batch_under_a_strategy(two_replicas):
    texts, labels = tiny.make_texts(6)
    weights, results = [1.0, 2.0, 0.0, 0.5, 1.0, 3.0], []
    for strategy in (tf.distribute.get_strategy(), two_replicas):
        model = replicas.make_model(strategy, run_eagerly=True)
        losses = [model.train_on_batch(texts, labels, weights)[0] for _ in range(2)]
        losses.append(model.test_on_batch(texts, labels)[0])
        results.append((losses, model.predict_on_batch(texts)))
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


@pytest.mark.slow
def test_a_summed_loss_is_summed_over_the_replicas(two_replicas):
    """And the caller's own loss object stays as it was."""
    texts, labels = tiny.make_texts(replicas.ROWS)
    weights = np.random.default_rng(0).uniform(0, 3, replicas.ROWS)
    trained = []
    for strategy in (tf.distribute.get_strategy(), two_replicas):
        model = replicas.make_model(strategy)
        for reduction in ("sum", "sum_over_batch_size"):
            loss = keras.losses.SparseCategoricalCrossentropy(
                from_logits=True, reduction=reduction
            )
            with strategy.scope():
                model.compile(keras.optimizers.SGD(1e-3), loss)
            assert loss.reduction == reduction
            model.fit(texts, labels, 8, 2, sample_weight=weights, verbose=0)
        trained.append(np.concatenate([w.ravel() for w in model.get_weights()]))
    np.testing.assert_allclose(*trained, atol=1e-5)


@pytest.mark.slow
def test_a_second_strategy_in_a_process(two_replicas):
    """TensorFlow would take their collective operations for the same ones."""
    second = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    third = tf.distribute.MirroredStrategy(["CPU:1", "CPU:0"])
    outputs = {two_replicas: dict, second: "first", third: "second"}
    alone = tf.distribute.get_strategy()
    expected = {kind: train_heads(alone, kind) for kind in outputs.values()}
    for strategy, kind in (*outputs.items(), *outputs.items()):
        found = train_heads(strategy, kind)
        np.testing.assert_allclose(found, expected[kind], atol=1e-5)


def train_heads(strategy, kind):
    """The weights of a small model after an epoch of two batches."""
    with strategy.scope():
        model = two_heads.make_model(kind)
        model.compile("sgd", "mse")
    y = two_heads.Y if kind is dict else two_heads.Y[kind]
    model.fit(two_heads.X, y, batch_size=4, shuffle=False, verbose=0)
    return two_heads.weights_of(model)


@pytest.mark.slow
def test_what_is_made_in_other_scopes(two_replicas):
    outside = two_heads.make_model()
    with pytest.raises(ValueError, match="The model made in the scope of no strategy"):
        with two_replicas.scope():
            outside.compile("sgd", "mse")
    outside.compile("sgd", "mse", run_eagerly=True)
    with pytest.raises(ValueError, match="no strategy, and MirroredStrategy. Make all"):
        with two_replicas.scope():
            outside.fit(two_heads.X, two_heads.Y, verbose=0)
    outside.fit(two_heads.X, two_heads.Y, verbose=0)  # which has not hurt it
    with two_replicas.scope():
        model = two_heads.make_model("first")
    with pytest.raises(ValueError, match="The optimizer made in the scope of no str"):
        model.compile(AdamW(0.1), "mse")
    with pytest.raises(ValueError, match="The metric 'mine' made in the scope of no"):
        model.compile("sgd", "mse", metrics=[keras.metrics.MeanSquaredError("mine")])
    model.compile("sgd", "mse", metrics=["mae"], run_eagerly=True)  # made where it must
    model.fit(two_heads.X, two_heads.Y["first"], verbose=0)


def test_replicas_do_not_accumulate_gradients(two_replicas):
    with two_replicas.scope():
        model = two_heads.make_model()
        optimizer = AdamW(0.1, gradient_accumulation_steps=2)
        with pytest.raises(ValueError, match="must be None with .* Received: 2, and 2"):
            model.compile(optimizer, "mse")


def test_an_overflow_on_any_replica_counts_on_all(two_replicas):
    model = replicas.make_model(two_replicas, "mixed_float16")

    def checked(wrong):
        number = tf.distribute.get_replica_context().replica_id_in_sync_group
        value = tf.where(number == wrong, np.inf, 1.0)
        gradients = [None, value + tf.zeros((2,))]
        return finite_on_all_replicas(model.optimizer, gradients)[1]

    for wrong in (0, 1, 2):
        found = two_replicas.run(tf.function(checked), (wrong,))
        for part in two_replicas.experimental_local_results(found):
            assert np.isfinite(part.numpy()).all() == (wrong == 2)
