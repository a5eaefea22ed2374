"""Promises of every task after `quantize("int8")` and after `enable_lora`."""

import functools
import json

import cases
import keras
import numpy as np
import pytest
import tensorflow as tf
import tiny
from foreign_files import change_json

import zoo
from zoo.layers import is_lora
from zoo.tasks.signatures import float32_clone

TEXTS, LABELS = tiny.make_texts(8, seed=4)


@pytest.fixture
def adapted(case, family, build_task, request):
    """The task of a row, its columns and targets, and a batch of inputs."""
    task = build_task(case, family)
    columns, y = cases.columns_of(task, TEXTS), case.targets(TEXTS, LABELS)
    (batch,) = task.batches(columns, y, batch_size=8)
    return task, columns, y, keras.utils.unpack_x_y_sample_weight(batch)[0]


def read_again(task, directory):
    """The task, written and read as a preset, and as a file."""
    task.save_to_preset(directory / "preset")
    task.save(directory / "a.keras")
    return (
        zoo.from_preset(directory / "preset"),
        zoo.load_model(directory / "a.keras"),
    )


@pytest.mark.shown("text_classifier-bert")
def test_int8_is_written_and_read(adapted, tmp_path):
    task, columns, _, x = adapted
    before = np.asarray(task(x))
    task.answer(columns)  # is compiled with float weights
    task.quantize("int8")
    answers = task.answer(columns)
    expected = np.asarray(task(x))
    # Less than a fraction of their spread: 0.06 at most with five seeds, and 0.22 for
    # choices, which differ little.
    spread = before[np.abs(before) < 1e4].std()  # the others are masked
    bound = 0.3 if task.task_name == "multiple_choice" else 0.1
    assert 0 < np.abs(expected - before).max() < bound * spread and spread > 3e-4
    integers = [v.path for v in task.weights if v.dtype == "int8"]
    assert integers
    for number, copy in enumerate(read_again(task, tmp_path)):
        assert [v.path for v in copy.weights if v.dtype == "int8"] == integers
        np.testing.assert_array_equal(copy(x), expected)
        for key, value in copy.answer(columns).items():
            # The task runs eagerly, and its copy is compiled.
            compare = np.testing.assert_array_equal
            if value.dtype.kind == "f":
                compare = functools.partial(np.testing.assert_allclose, atol=1e-6)
            compare(answers[key], value, err_msg=key)
        copy.save(tmp_path / f"{number}.keras")
        again = zoo.load_model(tmp_path / f"{number}.keras")
        np.testing.assert_array_equal(again(x), expected)


def adapt(task):
    """Enables LoRA; skips a family whose backbone has recurrent layers only."""
    try:
        zoo.enable_lora(task, 2)
    except ValueError as error:
        assert "must have a trainable Dense or Embedding layer" in str(error)
        kinds = {type(x) for x in task.backbone._flatten_layers() if x.trainable}
        assert not kinds & {keras.layers.Dense, keras.layers.Embedding}
        pytest.skip("no layer that LoRA adapts")


@pytest.mark.usefixtures("eagerly")
@pytest.mark.shown("text_classifier-bert", "token_classifier-elmo", "translator")
def test_lora_and_the_head_train(case, family, adapted, build_task, tmp_path):
    """And only they; their file, presets and `.keras` files give the same outputs."""
    task, columns, y, x = adapted
    before = np.asarray(task(x))
    adapt(task)
    np.testing.assert_allclose(task(x), before, atol=1e-6)
    paths = {id(v): v.path for v in task.weights}
    weights = {v.path: v.numpy() for v in task.weights}
    trained = {v.path for v in task.trainable_weights}
    assert trained and len(paths) == len(weights)
    body = {v.path for v in task.backbone.weights if not is_lora(v)}
    head = {v.path for v in build_task(case, family).trainable_weights} - body
    assert {path for path in trained if "/lora_" not in path} == head
    task.compile(zoo.training.AdamW(1e-2))
    task.fit(columns, y, epochs=2, verbose=0)
    changed = {v.path for v in task.weights if (v.numpy() != weights[v.path]).any()}
    assert trained <= changed and not changed & body
    expected = np.asarray(task(x))
    assert np.abs(expected - before).max() > 1e-4
    task.save_adapter(tmp_path / "adapter.safetensors")
    size = (tmp_path / "adapter.safetensors").stat().st_size
    counts = [v.numpy().size for v in task.weights if v.path not in body]
    assert 4 * sum(counts) < size < 4 * sum(counts) + 9000
    copy = build_task(case, family)
    copy.load_adapter(tmp_path / "adapter.safetensors")
    np.testing.assert_array_equal(copy(x), expected)
    assert {v.path for v in copy.trainable_weights} == trained
    for copy in read_again(task, tmp_path):
        assert not [v.path for v in copy.weights if "lora" in v.path]
        np.testing.assert_allclose(copy(x), expected, atol=1e-5)
        copy.fit(columns, y, verbose=0)
    task.fit(columns, y, verbose=0)  # goes on after it was saved


@pytest.mark.shown("text_classifier-bert")
def test_an_export_has_lora_merged(case, family, adapted, tmp_path):
    task, columns, *_ = adapted
    adapt(task)
    random = np.random.default_rng(3)
    for variable in task.weights:
        if is_lora(variable):
            variable.assign(random.normal(0, 0.3, variable.shape))
    version = task.export(tmp_path / "model")
    stored = tf.train.list_variables(str(version / "variables" / "variables"))
    sizes = [np.prod(shape) for name, shape in stored if "VARIABLE_VALUE" in name]
    plain = [v.numpy().size for v in task.weights if not is_lora(v)]
    assert sizes and sum(sizes) <= sum(plain) + 100
    expected = task.answer(columns)
    loaded = tf.saved_model.load(str(version))
    served = loaded.signatures["serving_default"]
    columns = columns if isinstance(columns, tuple) else (columns,)
    inputs = zip(task.columns, columns, strict=False)
    found = served(**{name: tf.constant(column) for name, column in inputs})
    for key, value in expected.items():
        if value.dtype.kind == "f":
            np.testing.assert_allclose(found[key], value, atol=1e-6, err_msg=key)


def test_a_copy_in_float32_has_lora_merged(build_task, tmp_path):
    """Which is what a task in 16 bits exports."""
    task = build_task(cases.TASKS[0])
    task.save_to_preset(tmp_path / "preset")
    half = zoo.from_preset(tmp_path / "preset", dtype="mixed_bfloat16")
    zoo.enable_lora(half, 2)
    random = np.random.default_rng(3)
    for variable in half.weights:
        if is_lora(variable):
            variable.assign(random.normal(0, 0.3, variable.shape))
    found, before, expected = (
        model.predict(TEXTS, verbose=0) for model in (float32_clone(half), task, half)
    )
    assert np.abs(expected - before).max() > 0.05
    np.testing.assert_allclose(found, expected, atol=0.02)


@pytest.fixture
def small(build_task):
    """A classifier with int8 weights."""
    task = build_task(cases.TASKS[0])
    task.quantize("int8")
    return task


def test_other_programs_cannot_read_int8(small, tmp_path):
    with pytest.raises(ValueError, match='Only layout "zoo" can hold int8 weights'):
        small.save_to_preset(tmp_path / "preset", layout="hugging_face")
    assert not (tmp_path / "preset").exists()


def test_a_preset_without_the_task_is_int8_too(small, tmp_path):
    small.save_to_preset(tmp_path / "preset")
    size = (tmp_path / "preset" / "weights.safetensors").stat().st_size
    assert size < 0.6 * 4 * small.count_params()
    backbone = zoo.from_preset(tmp_path / "preset", task=None)
    ids = np.arange(5, 15)[None]
    expected = small.backbone(ids)["sequence_output"]
    np.testing.assert_array_equal(backbone(ids)["sequence_output"], expected)
    other = zoo.from_preset(tmp_path / "preset", task="text_regressor")
    found = other.backbone(ids)["sequence_output"]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("value", ["int9", {"class_name": "Lambda"}, None, 8])
def test_a_damaged_record_of_int8_is_named(value, small, tmp_path):
    small.save_to_preset(tmp_path / "preset")
    path = tmp_path / "preset" / "preset.json"
    name = next(iter(json.loads(path.read_text())["quantized"]))
    change_json(path, quantized={name: value})
    with pytest.raises(ValueError, match="`quantized` of .*preset.json"):
        zoo.from_preset(tmp_path / "preset")
