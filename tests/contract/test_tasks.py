"""Promises of every task."""

import json

import cases
import keras
import numpy as np
import pytest
import tensorflow as tf
import tiny

import zoo
from zoo.tasks.files.exported_task import ExportedTask

TEXTS, LABELS = tiny.make_texts(8, seed=4)
BFLOAT16 = pytest.param("mixed_bfloat16", marks=pytest.mark.slow)


def weights_of(model):
    return np.concatenate([w.ravel() for w in model.get_weights()])


def one_batch(task, case):
    """x, y, sample_weight of the eight texts, as `fit` makes them."""
    x, y = cases.columns_of(task, TEXTS), case.targets(TEXTS, LABELS)
    (batch,) = task.batches(x, y, batch_size=8)
    return keras.utils.unpack_x_y_sample_weight(batch)


@pytest.mark.shown("text_classifier", "causal_lm", "translator")
@pytest.mark.parametrize("policy", ["mixed_float16", BFLOAT16])
def test_outputs_are_float32(case, build_task, policy):
    task, exact = build_task(case, dtype=policy), build_task(case)
    x, *_ = one_batch(exact, case)
    outputs = task(x, training=False)
    names = {"P": "mask_positions", "W": "word_positions", "L": "padding_mask"}
    names["T"] = "decoder_token_ids"
    sizes = {key: x[name].shape[1] for key, name in names.items() if name in x}
    assert tuple(outputs.shape) == (8, *(sizes.get(s, s) for s in case.output))
    assert outputs.dtype == tf.float32
    expected = np.asarray(exact(x, training=False))
    # Within a fraction of their spread: 0.02 and 0.2 at most with five seeds.
    bound = {"mixed_float16": 0.04, "mixed_bfloat16": 0.32}[policy]
    spread = expected[np.abs(expected) < 1e4].std()  # the others are masked
    assert spread > 1e-3
    np.testing.assert_allclose(outputs, expected, atol=bound * spread)


@pytest.mark.shown("text_classifier", "causal_lm", "translator")
def test_other_features_are_ignored(case, build_task):
    task = build_task(case)
    x, *_ = one_batch(task, case)
    more = {"a_feature": np.zeros((8, 1), "int32"), **x, "z": np.ones((8, 1), "int32")}
    np.testing.assert_array_equal(task(more), task(x))
    arrays = {key: np.asarray(value) for key, value in more.items()}
    np.testing.assert_array_equal(task(arrays), task(x))


@pytest.mark.shown("bidirectional_lm")
@pytest.mark.parametrize("policy", ["mixed_float16", BFLOAT16])
def test_half_precision_trains(case, build_task, policy):
    task = build_task(case, dtype=policy, smallest=False)
    before = weights_of(task)
    x, y, weight = one_batch(task, case)
    task.preprocessor = None
    losses = [
        task.train_on_batch(x, y, weight, return_dict=True)["loss"] for _ in range(6)
    ]
    assert np.isfinite(losses).all() and losses[-1] < losses[0]
    after = weights_of(task)
    assert np.isfinite(after).all() and (after != before).any()
    scaled = isinstance(task.optimizer, keras.optimizers.LossScaleOptimizer)
    assert scaled == (policy == "mixed_float16")


def test_a_config_makes_the_same_task(case, family, build_task):
    task = build_task(case, family)
    config = task.get_config()
    json.dumps(config)
    copy = type(task).from_config(config)
    assert copy.get_config() == config
    assert copy.tokenizer.get_config() == task.tokenizer.get_config()
    assert [v.path for v in copy.weights] == [v.path for v in task.weights]


@pytest.mark.shown("text_regressor", "causal_lm", "translator")
def test_keras_clones_a_task(case, build_task):
    """With weights of its own, as many as before, some of them shared by layers."""
    task = build_task(case)
    clone = keras.models.clone_model(task)
    assert not {id(v) for v in clone.variables} & {id(v) for v in task.variables}
    assert (weights_of(clone) != weights_of(task)).any()
    clone.set_weights(task.get_weights())
    x, *_ = one_batch(task, case)
    np.testing.assert_allclose(clone(x), task(x), atol=1e-6)
    # With a function for each layer, Keras does what it does with any graph.
    shared = keras.models.clone_model(task, clone_function=lambda layer: layer)
    assert {id(v) for v in shared.variables} <= {id(v) for v in task.variables}


def test_a_preset_holds_the_task(case, family, build_task, tmp_path):
    task = build_task(case, family)
    task.save_to_preset(tmp_path / "preset")
    copy = zoo.from_preset(tmp_path / "preset")
    assert type(copy) is type(task) and copy.labels == task.labels
    assert copy.options == task.options
    assert copy.sequence_length == task.sequence_length
    np.testing.assert_array_equal(weights_of(copy), weights_of(task))


@pytest.mark.shown("token_classifier_crf")
def test_a_file_holds_the_task_and_its_compilation(case, build_task, tmp_path):
    schedule = zoo.training.WarmupLinearDecay(1e-2, 2, 9)
    optimizer = zoo.training.AdamW(schedule, epsilon=1e-3, layer_decay=0.9)
    task = build_task(case, optimizer=optimizer)
    x, y = cases.columns_of(task, TEXTS), case.targets(TEXTS, LABELS)
    task.fit(x, y, verbose=0)
    task.save(tmp_path / "a.keras")
    copy = zoo.load_model(tmp_path / "a.keras")
    assert copy.labels == task.labels and copy.options == task.options
    assert copy.tokenizer.get_config() == task.tokenizer.get_config()
    assert copy.optimizer.get_config() == task.optimizer.get_config()
    np.testing.assert_array_equal(weights_of(copy), weights_of(task))
    for ours, theirs in zip(
        copy.optimizer.variables, task.optimizer.variables, strict=True
    ):
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy(), err_msg=ours.path)
    assert copy.evaluate(x, y, verbose=0) == task.evaluate(x, y, verbose=0)
    for model in (copy, task):
        model.fit(x, y, verbose=0)
    np.testing.assert_array_equal(weights_of(copy), weights_of(task))


def test_every_trainable_weight_gets_a_gradient(case, family, build_task):
    task = build_task(case, family, smallest=False)
    x, y, weight = one_batch(task, case)
    with tf.GradientTape() as tape:
        loss = task.compute_loss(x, y, task(x, training=True), weight)
    gradients = tape.gradient(loss, [v.value for v in task.trainable_weights])
    for variable, gradient in zip(task.trainable_weights, gradients, strict=True):
        assert gradient is not None, variable.path
    assert len(gradients) >= family.least_weights


@pytest.mark.shown("text_classifier", "token_classifier_crf", "translator")
def test_padding_changes_nothing(case, build_task):
    task = build_task(case)
    x, _, weight = one_batch(task, case)
    choices = case.task == "multiple_choice"  # before the positions
    widths = ((0, 0), *[(0, 0)] * choices, (0, 9), (0, 0))
    more = {
        key: value
        if key.endswith("_positions")
        else np.pad(value, widths[: value.ndim])
        for key, value in x.items()
    }
    mask = 1.0 if weight is None or case.task != "bidirectional_lm" else weight
    expected = task(x) * mask
    padded = task(more)[tuple(map(slice, expected.shape))]
    np.testing.assert_allclose(padded * mask, expected, atol=1e-5)


@pytest.mark.shown("text_classifier")
def test_a_compiled_step_lowers_the_loss(case, build_task):
    """With XLA, which "auto" never chooses on a CPU."""
    task = build_task(case, jit_compile=True, run_eagerly=False)
    x, y, weight = one_batch(task, case)
    eager = build_task(case)
    eager.preprocessor = task.preprocessor = None
    expected = [
        eager.train_on_batch(x, y, weight, return_dict=True)["loss"] for _ in range(4)
    ]
    losses = [
        task.train_on_batch(x, y, weight, return_dict=True)["loss"] for _ in range(4)
    ]
    np.testing.assert_allclose(losses, expected, rtol=1e-4)
    assert losses[-1] < losses[0]


@pytest.mark.shown("token_classifier_crf")
def test_two_replicas_train_as_one(case, build_task, two_replicas):
    results = []
    for scope in (tf.distribute.get_strategy().scope, two_replicas.scope):
        with scope():
            task = build_task(case)
        y = case.targets(TEXTS, LABELS)
        x = cases.columns_of(task, TEXTS[:5])
        history = task.fit(x, None if y is None else y[:5], verbose=0)
        results.append((history.history["loss"], weights_of(task)))
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_an_export_answers_as_the_task_does(build_task, tmp_path):
    task = build_task(cases.TASKS[0])
    version = task.export(tmp_path / "model")
    texts = [*TEXTS, "unknown wörds , !", *tiny.WEIRD.values()]
    task.truncation_reported = True
    assert_equal(zoo.serving.ask(version, texts), task.answer(texts))
    stored = tf.train.list_variables(str(version / "variables" / "variables"))
    sizes = [np.prod(shape) for name, shape in stored if "VARIABLE_VALUE" in name]
    assert sum(sizes) <= task.count_params() + 100  # no weight twice


@pytest.mark.slow
def test_every_export_passes_the_doctor_and_answers(case, family, build_task, tmp_path):
    """The doctor asks it row by row, twice the same, and all at once."""
    task = build_task(case, family)
    version = task.export(tmp_path / "model")
    findings = zoo.serving.diagnose(version)
    failed = [finding for finding in findings if not finding.passed]
    assert not failed, zoo.serving.format_findings(failed)
    assert {"repeat", "batching"} <= {finding.check for finding in findings}
    if case.task == "translator":
        return  # the tokens of new weights are nearly equally likely
    task.truncation_reported = True
    columns = cases.columns_of(task, [*TEXTS, "", "a good film " * 60, "Unheard-of"])
    names = task.serving_methods()
    signature = "score" if "score" in names else "serving_default"
    with ExportedTask(version.parent, signature) as export:
        assert export.columns == task.columns[: len(export.columns)]
        for size in (None, 3):
            assert_equal(export.answer(columns, size), task.answer(columns))
        if case.task == "token_classifier":
            return  # the rows of the task also have the entities
        rows = [[*kind.files.answer_rows(kind, columns)] for kind in (export, task)]
        for served, expected in zip(*rows, strict=True):
            keras.tree.map_structure(assert_near, served, expected)


def assert_equal(found, expected):
    """Two dicts of arrays, of str or of finite numbers."""
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        assert found[key].dtype == value.dtype, key
        if value.dtype == object:
            np.testing.assert_array_equal(found[key], value, err_msg=key)
        else:
            assert np.isfinite(value).all()
            np.testing.assert_allclose(found[key], value, 1e-5, 1e-5, err_msg=key)


def assert_near(found, expected):
    """Two values of a row, which may be names or numbers."""
    near = isinstance(expected, float)
    assert found == (pytest.approx(expected, 1e-5, 1e-5) if near else expected)
