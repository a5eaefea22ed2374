"""What users do with a task between two calls of `fit`."""

import copy
import pickle

import keras
import numpy as np
import pytest
import tensorflow as tf
import tiny
from light_fits import EAGER
from two_heads import weights_of

import zoo
from zoo.tasks.answering import compiled_function
from zoo.training import AdamW


@pytest.mark.slow
@pytest.mark.parametrize("frozen", ["backbone", "block_1", "token_embedding"])
def test_what_is_frozen_stays_frozen_in_a_file(
    make_task, texts, labels, tmp_path, frozen
):
    model = make_task(compile=EAGER)
    layers = {**model.backbone.named_layers, "backbone": model.backbone}
    layers[frozen].trainable = False
    model.compile(AdamW(1e-2), **EAGER)
    model.fit(texts, labels, 8, 1, verbose=0)
    model.save(tmp_path / "m.keras")
    loaded = zoo.load_model(tmp_path / "m.keras")
    assert int(loaded.optimizer.iterations) == int(model.optimizer.iterations) == 3
    assert len(loaded.trainable_variables) == len(model.trainable_variables)
    for each in (model, loaded):
        each.fit(texts, labels, 8, 2, verbose=0, initial_epoch=1)
    np.testing.assert_array_equal(weights_of(loaded), weights_of(model))
    layers = {**loaded.backbone.named_layers, "backbone": loaded.backbone}
    assert not layers[frozen].trainable and loaded.trainable
    if frozen != "backbone":
        assert loaded.backbone.trainable


@pytest.mark.slow
def test_several_steps_per_execution_are_the_same_steps(make_task, texts, labels):
    one, several = make_task(), make_task(compile={"steps_per_execution": 4})
    for model in (one, several):
        model.fit(texts, labels, batch_size=5, epochs=2, verbose=0)
        assert int(model.optimizer.iterations) == 10
    np.testing.assert_allclose(weights_of(several), weights_of(one), atol=1e-5)


@pytest.mark.shown("AdamW-None-False")
@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("steps", [None, 2])
@pytest.mark.parametrize("optimizer", ["AdamW", "default"])
def test_backup_and_restore_goes_on_with_the_next_epoch(
    make_task, texts, labels, tmp_path, optimizer, steps, fresh
):
    class Interrupt(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            if epoch == 1:
                raise KeyboardInterrupt

    backup = keras.callbacks.BackupAndRestore(tmp_path / "backup")

    def make():
        model = make_task(compile=EAGER)
        if optimizer == "default":  # whose rate follows a plan
            model.compile(learning_rate=1e-2, **EAGER)
        return model

    whole, parts = make(), make()
    options = {"batch_size": 8, "epochs": 3, "steps_per_epoch": steps, "verbose": 0}
    for model in (whole, parts):  # which a model of its own has not done
        model.fit(texts, labels, **{**options, "epochs": 1})
    whole.fit(texts, labels, **options)
    with pytest.raises(KeyboardInterrupt):
        parts.fit(texts, labels, callbacks=[backup, Interrupt()], **options)
    rest = make() if fresh else parts
    rest.fit(texts, labels, callbacks=backup, **options)
    np.testing.assert_array_equal(weights_of(rest), weights_of(whole))


@pytest.mark.slow
def test_fit_in_the_scope_of_a_strategy_reads_the_epoch(
    make_task, two_replicas, texts, labels
):
    one = make_task()
    with two_replicas.scope():
        several = make_task()
        several.fit(texts, labels, batch_size=8, epochs=2, verbose=0)
    one.fit(texts, labels, batch_size=8, epochs=2, verbose=0)
    np.testing.assert_allclose(weights_of(several), weights_of(one), atol=2e-3)


@pytest.mark.half_precision
def test_graphs_over_a_backbone_can_be_saved_and_cloned(make_backbone, tmp_path):
    backbone = make_backbone("mixed_bfloat16")
    head = keras.layers.Dense(1)(backbone.output["sequence_output"])
    x = backbone.complete({"token_ids": np.array([[2, 7, 3, 0]])})
    layers = backbone.with_outputs("layer_outputs")
    for model in (layers, keras.Model(backbone.inputs, head)):
        model.save(tmp_path / "m.keras")
        loaded = zoo.load_model(tmp_path / "m.keras")
        outputs = [keras.tree.flatten(m(x)) for m in (loaded, model)]
        for values in zip(*outputs, strict=True):
            ours, theirs = (tf.cast(value, tf.float32) for value in values)
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.slow
def test_copies_of_a_task(make_task, texts, labels):
    model = make_task(compile=EAGER)
    model.fit(texts, labels, 8, 1, verbose=0)
    expected = model.predict(texts, verbose=0)
    pickled = pickle.loads(pickle.dumps(model))
    for other in (copy.deepcopy(model), pickled):
        np.testing.assert_allclose(other.predict(texts, verbose=0), expected, atol=1e-6)
    packer = copy.deepcopy(model.preprocessor)
    assert packer.sequence_length == model.sequence_length


def test_the_length_can_be_changed_and_the_preprocessing_switched_off(make_task, texts):
    model = make_task(sequence_length=24)
    long = [" ".join(["good"] * 30)]
    model.sequence_length = 8
    assert model.preprocessor((tf.constant(long),))["token_ids"].shape == (1, 8)
    with pytest.raises(ValueError, match="at most 32, .* Received: 1000"):
        model.sequence_length = 1000
    model.preprocessor = None
    with pytest.raises(TypeError, match="without a preprocessor takes token ids"):
        model.predict(texts, verbose=0)


@pytest.mark.slow
def test_an_export_has_the_preprocessing_that_was_switched_off(
    make_task, texts, tmp_path
):
    model = make_task(sequence_length=24)
    model.sequence_length = 8
    expected = model.predict(texts, verbose=0)
    model.preprocessor = None
    version = model.export(tmp_path / "export")
    answers = zoo.serving.ask(version, {"text": np.array(texts, object)})
    labels = [tiny.LABELS[i] for i in expected.argmax(-1)]
    assert answers["label"].tolist() == labels


ROWS, STEPS = (["a", "b"], ["good", "bad"]), "`validation_steps` counts the batches"


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda m, d: m.fit(*ROWS, validation_data=ROWS, validation_steps=1), STEPS),
        (lambda m, d: m.fit(*ROWS, validation_split=0.5, validation_steps=1), STEPS),
        (lambda m, d: m.evaluate(d, ["good"]), "A dataset holds its own targets"),
        (lambda m, d: m.fit(d, sample_weight=[1.0]), "A dataset holds its own targets"),
        (lambda m, d: m.fit(d, validation_split=0.5), "needs arrays. Received: a data"),
        (lambda m, d: m.predict(["a"], steps=1), "counts the batches of a dataset"),
        (lambda m, d: m.evaluate(["a"], ["good"], steps=1), "counts the batches"),
        (lambda m, d: m.predict((["a"], ["b"], ["c"])), "Received: 3 columns"),
    ],
)
def test_what_would_be_ignored_is_refused(classifier, texts, labels, call, message):
    dataset = tf.data.Dataset.from_tensor_slices((texts, labels)).batch(8)
    with pytest.raises(ValueError, match=message):
        call(classifier, dataset)


@pytest.mark.slow
def test_an_embedder_leaves_the_blocks_that_it_does_not_read(make_task, texts):
    model = make_task("text_embedder", layers=1, compile=EAGER)
    before = {v.path: v.numpy() for v in model.weights}
    model.fit(texts, np.ones((24, 16), "float32"), 8, 2, verbose=0)
    moved = {v.path for v in model.weights if (v.numpy() != before[v.path]).any()}
    assert any(path.startswith("block_0/") for path in moved)
    assert not any(path.startswith(("block_1/", "pooler/")) for path in moved)


def test_weights_of_a_subclass_are_saved(make_task, tokenizer, tmp_path):
    @keras.saving.register_keras_serializable(package="test")
    class Counting(zoo.TextClassifier):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self.count = self.add_weight(shape=(), name="count", trainable=False)

    base = make_task()
    model = Counting(base.backbone, tokenizer, tiny.LABELS)
    model.count.assign(5.0)
    model.save(tmp_path / "m.keras")
    assert float(zoo.load_model(tmp_path / "m.keras").count) == 5.0


def test_a_new_length_reaches_functions_that_have_answered(make_task):
    options = {"fields": {"causal": True, "num_layers": 1}, "compile": EAGER}
    task, other = (make_task("causal_lm", **options) for _ in range(2))
    other.sequence_length = 5
    text = "the good film was very bad and long"
    first = task.answer([text])["log_probability"]
    task.sequence_length = 5
    found, expected = (m.answer([text])["log_probability"] for m in (task, other))
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert abs(found[0] - first[0]) > 1e-3  # the model sees fewer tokens


def test_functions_are_compiled_as_they_are_written(make_task):
    """AutoGraph would make an operation of the condition, and take seconds."""
    absolute = compiled_function(make_task(), "own", lambda x: x if x > 0 else -x)
    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError):
        absolute(tf.constant(-1.0))
