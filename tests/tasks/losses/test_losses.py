"""Losses of one output and of several, in every form that `compile` takes."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from two_heads import WEIGHTS, X, Y, make_model, weights_of

from zoo.tasks.losses.weighted_means import FunctionLoss, with_weighted_mean


def mean_cube(y_true, y_pred):
    """A user's function, one number for each row."""
    return keras.ops.mean(keras.ops.abs(y_true - y_pred) ** 3, axis=-1)


def mean(model, name, power, weights=None):
    """The weighted mean over rows of a power of the errors of an output."""
    errors = np.abs(np.asarray(model(X)[name]) - Y[name]) ** power
    return np.average(errors.mean(axis=-1), weights=weights and weights[name])


def evaluate(model, y=Y, weights=None, **options):
    options = {"optimizer": "sgd", "run_eagerly": True, **options}
    model.compile(**options)
    return model.evaluate(X, y, 7, 0, weights, return_dict=True)


FORMS = {
    "names": {"first": "mse", "second": "mae"},
    "functions": {
        "first": keras.losses.mean_squared_error,
        "second": keras.losses.mean_absolute_error,
    },
    "objects": {
        "first": keras.losses.MeanSquaredError(),
        "second": keras.losses.MeanAbsoluteError(reduction="mean"),
    },
    "all": {"first": "mse", "second": keras.losses.MeanAbsoluteError()},
}


@pytest.mark.shown("functions-weights", "all-rows", "names-weights", "objects-rows")
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["rows", "weights"])
@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_loss(form, weights):
    model = make_model()
    parts = mean(model, "first", 2, weights), mean(model, "second", 1, weights)
    logs = evaluate(model, weights=weights, loss=FORMS[form])
    assert logs == {"loss": pytest.approx(sum(parts), rel=1e-5)}
    for loss_weights, first, second in (
        ({"first": 0.5, "second": 3.0}, 0.5, 3),
        ([0.5, 3.0], 0.5, 3),
        ({"first": 2}, 2, 1),
    ):
        options = {"loss": FORMS[form], "loss_weights": loss_weights}
        logs = evaluate(model, weights=weights, **options)
        expected = first * parts[0] + second * parts[1]
        assert logs["loss"] == pytest.approx(expected, rel=1e-5)


def test_one_loss_holds_for_all_outputs():
    model = make_model()
    expected = mean(model, "first", 3) + mean(model, "second", 3)
    assert evaluate(model, loss=mean_cube)["loss"] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("y", [Y, {"second": Y["second"]}], ids=["both", "one"])
@pytest.mark.parametrize(
    "loss", [{"first": None, "second": "mse"}, {"second": "mse"}], ids=["none", "lacks"]
)
def test_an_output_without_a_loss(loss, y):
    model = make_model()
    expected = mean(model, "second", 2)
    assert evaluate(model, y, loss=loss)["loss"] == pytest.approx(expected, rel=1e-5)
    model.fit(X, y, verbose=0)
    head = [v for v in model.variables if v.path.startswith("first/")]
    fresh = [v for v in make_model().variables if v.path.startswith("first/")]
    for ours, theirs in zip(head, fresh, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("loss", [["mse", "mae"], ("mse", "mae"), FORMS["names"]])
def test_outputs_in_a_list(loss):
    named, listed = make_model(), make_model(list)
    expected = mean(named, "first", 2, WEIGHTS) + 3 * mean(named, "second", 1, WEIGHTS)
    for loss_weights in ([1.0, 3.0], {"second": 3.0}):
        logs = evaluate(
            listed,
            list(Y.values()),
            list(WEIGHTS.values()),
            loss=loss,
            loss_weights=loss_weights if isinstance(loss, dict) else [1.0, 3.0],
        )
        assert logs["loss"] == pytest.approx(expected, rel=1e-5)


def test_metrics_of_each_output():
    metrics = {"first": ["mae"], "second": [keras.metrics.MeanSquaredError("square")]}
    for loss in (FORMS["names"], FORMS["objects"]):
        model = make_model()
        logs = evaluate(model, loss=loss, metrics=metrics)
        assert logs["first_mae"] == pytest.approx(mean(model, "first", 1), rel=1e-5)
        expected = mean(model, "second", 2)
        assert logs["second_square"] == pytest.approx(expected, rel=1e-5)
        assert set(logs) == {"loss", "first_mae", "second_square"}


SQUARE = {
    "name": "mse",
    "function": keras.losses.mean_squared_error,
    "object": keras.losses.MeanSquaredError(),
}


@pytest.mark.parametrize("form", SQUARE)
def test_one_output_has_a_mean_over_weights(form):
    expected = mean(make_model(), "first", 2, WEIGHTS)
    data = make_model("first"), Y["first"], WEIGHTS["first"]
    logs = evaluate(*data, loss=SQUARE[form])
    assert logs["loss"] == pytest.approx(expected, rel=1e-5)


def test_targets_without_the_last_dimension():
    logs = evaluate(make_model("second"), Y["second"][:, 0], loss="mse")
    assert logs["loss"] == pytest.approx(mean(make_model(), "second", 2), rel=1e-5)


def square(y_true, y_pred):
    """A user's function, one number for all rows."""
    return keras.ops.mean((y_true - y_pred) ** 2)


def test_a_function_may_return_one_number():
    logs = evaluate(make_model("first"), Y["first"], WEIGHTS["first"], loss=square)
    assert logs["loss"] == pytest.approx(mean(make_model(), "first", 2), rel=1e-5)


SUM = keras.losses.MeanSquaredError(reduction="sum")
CASES = {
    "names": {"loss": FORMS["names"], "loss_weights": {"first": 0.5, "second": 3.0}},
    "functions": {"loss": {"first": mean_cube, "second": "mse"}},
    "sum": {"loss": {"first": SUM, "second": "mse"}},
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_replicas_share_the_mean_of_each_output(case, two_replicas):
    """With rows that do not divide, and other weights on each replica."""
    results = []
    for strategy in (tf.distribute.get_strategy(), two_replicas):
        with strategy.scope():
            model = make_model()
            model.compile("sgd", run_eagerly=True, **CASES[case])
        options = {"batch_size": 5, "shuffle": False, "verbose": 0}
        history = model.fit(X, Y, epochs=2, sample_weight=WEIGHTS, **options).history
        results.append(np.append(weights_of(model), history["loss"]))
    np.testing.assert_allclose(*results, rtol=1e-5, atol=1e-5)


def test_replicas_leave_out_what_a_loss_ignores(two_replicas):
    """Class 0, which most of the rows of one replica have."""
    y = np.array([0, 0, 0, 1, 1, 1, 0])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=0)
    results = []
    for strategy in (tf.distribute.get_strategy(), two_replicas):
        with strategy.scope():
            model = make_model("first")
            model.compile("sgd", loss, run_eagerly=True)
        history = model.fit(X, y, batch_size=7, shuffle=False, verbose=0).history
        results.append(np.append(weights_of(model), history["loss"]))
    np.testing.assert_allclose(*results, atol=1e-6)


def test_a_config_holds_losses_and_their_weights():
    model, other = make_model(), make_model()
    loss = {"first": mean_cube, "second": keras.losses.mean_absolute_error}
    expected = evaluate(model, loss=loss, loss_weights={"second": 3.0})
    with keras.saving.custom_object_scope({"mean_cube": mean_cube}):
        other.compile_from_config(model.get_compile_config())
    assert other.evaluate(X, Y, 7, 0, return_dict=True) == expected


def test_names_and_the_objects_of_the_caller():
    given = keras.losses.MeanSquaredError(name="mine")
    found = with_weighted_mean({"a": [given, None, "mse"], "b": mean_cube})
    assert given.reduction == "sum_over_batch_size"
    assert found["a"][0].reduction == "mean_with_sample_weight"
    assert found["a"][1] is None and found["a"][0].name == "mine"
    assert found["b"].name == "mean_cube"
    assert isinstance(found["a"][2], FunctionLoss)
    assert with_weighted_mean(found)["b"] is found["b"]


def test_a_step_of_ones_own_reports_its_loss():
    """The step of Keras' guide updates the metric of the name "loss" with a number."""

    class Own(type(make_model())):
        def test_step(self, data):
            for metric in self.metrics:
                if metric.name == "loss":
                    metric.update_state(3.0)
            return {metric.name: metric.result() for metric in self.metrics}

    plain = make_model()
    model = Own(plain.inputs, plain.outputs)
    assert evaluate(model, loss="mse")["loss"] == 3.0


def test_errors():
    model = make_model()

    class Own(type(model)):
        def compute_loss(self, *args, **options):
            return 0.0

    with pytest.raises(TypeError, match="do not call `compute_loss`. Received: Own"):
        Own(model.inputs, model.outputs).compile()
    y, names = Y["first"], {"loss": FORMS["names"]}
    three = {"loss": "mse", "loss_weights": [1, 2, 3]}
    for targets, options, message in (
        (Y, {"loss": {"thrid": "mse"}}, "`loss` must name outputs.*'thrid'.*second"),
        (Y, three, "`loss_weights` must have one .* Received: 3"),
        ({"first": y}, names, "must have targets. .* shape .*1"),
        (y, names, "`y` must be a dict or a list, .*second"),
        (Y, {"loss": {"first": "ce"}}, "say which crossentropy. Received: 'ce'"),
        (Y, {"loss": {"first": None}}, "At least one output must have a loss"),
    ):
        with pytest.raises(ValueError, match=message):
            evaluate(model, targets, **options)
