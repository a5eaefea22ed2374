"""Files of adapters: what fits, and what is refused."""

import json
import pickle

import keras
import numpy as np
import pytest
import safetensors
import tiny
from safetensors.numpy import load_file, save_file
from tiny_bert import tiny_bert

import zoo
from zoo.layers import is_lora, lora_layers
from zoo.presets.adapter_files import ENTRY, _checksum

TEXTS, LABELS = tiny.make_texts(8, seed=4)
RANDOM = np.random.default_rng(3)


def make(kind=zoo.TextClassifier, labels=tiny.LABELS, backbone=None, **options):
    """A task, the same at every call."""
    backbone = backbone or tiny_bert()
    options |= {"labels": labels} if labels else {}
    model = kind(backbone, backbone.tokenizer, head_dropout=0.0, **options)
    model.compile(zoo.training.AdamW(1e-2), run_eagerly=True)
    return model


def adapt(model, rank=2, layers=("query", "value"), alpha=3.0):
    """Enables LoRA, and gives it and the head random values."""
    zoo.enable_lora(model, np.int64(rank), layers, np.float32(alpha))
    for variable in model.trainable_weights:
        variable.assign(RANDOM.normal(0, 0.3, variable.shape))
    return model


def scores(model):
    return model.answer(TEXTS)["scores"]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The path of an adapter, and the scores of its model."""
    path = tmp_path_factory.mktemp("adapters") / "a.safetensors"
    model = adapt(make())
    model.save_adapter(path)
    return path, scores(model)


def rewrite(path, target, change):
    """Copies an adapter with a changed record or array, and with a right checksum."""
    with safetensors.safe_open(path, "numpy") as file:
        record = json.loads(file.metadata()[ENTRY])
    arrays = load_file(path)
    change(record, arrays)
    record["sha256"] = _checksum(record, arrays)
    save_file(arrays, target, {ENTRY: json.dumps(record)})
    return target


@pytest.mark.parametrize(
    "layers, count",
    [
        (None, 15),
        ("query", 2),
        (["query", "value"], 4),
        ("attention", 8),
        ("block_1", 6),
        (["block_1/attention/query"], 1),
        (["attention/query", "query", "block_0/attention/query"], 2),
        ("block_?/*output*", 4),
        ("*_embedding", 2),
        ("*", 15),
    ],
)
def test_layers_are_chosen_by_name_and_pattern(layers, count):
    backbone = tiny_bert()
    zoo.enable_lora(backbone, 1, layers)
    assert len(lora_layers(backbone)) == count
    assert all(map(is_lora, backbone.trainable_weights))
    shapes = [layer.get_weights()[0].shape for layer in lora_layers(backbone)]
    found = sum(v.numpy().size for v in backbone.trainable_weights)
    assert found == sum(map(sum, shapes))


@pytest.mark.parametrize(
    "layers, near",
    [
        ("querry", "Did you mean 'query'"),
        (["query", "valeu"], "Did you mean 'value'"),
        ("block_2", "Did you mean 'block_"),
        ("classifier", "The names are "),
        ("layer_norm", "The names are "),
        ("", "The names are "),
        ("[", "The names are "),
        ("query/block_0", "The names are "),
    ],
)
def test_unknown_layers_have_near_names(layers, near):
    model = make()
    with pytest.raises(ValueError, match="`layers` must name trainable Dense") as error:
        zoo.enable_lora(model, 1, layers)
    assert near in str(error.value)
    assert not lora_layers(model) and len(model.trainable_weights) > 30


def test_a_task_has_no_lora_in_layers_that_it_does_not_use():
    model = make(zoo.TokenClassifier, tiny.TAGS)
    zoo.enable_lora(model, 2)
    assert "pooler" not in {layer.path for layer in lora_layers(model)}
    model = make()
    model.backbone.named_layers["block_0"].trainable = False
    zoo.enable_lora(model, 2)
    paths = {layer.path.split("/")[0] for layer in lora_layers(model)}
    assert "block_0" not in paths and {"block_1", "pooler"} <= paths


def test_an_adapter_goes_to_another_model_and_back(saved):
    path, expected = saved
    model = make()
    before = scores(model)
    model.load_adapter(path)
    np.testing.assert_allclose(scores(model), expected, atol=1e-6)
    assert np.abs(before - expected).max() > 0.01
    other = adapt(make())
    assert np.abs(scores(other) - expected).max() > 0.01
    other.load_adapter(str(path))
    np.testing.assert_allclose(scores(other), expected, atol=1e-6)
    copies = [pickle.loads(pickle.dumps(model)), keras.models.clone_model(model)]
    np.testing.assert_allclose(scores(copies[0]), expected, atol=1e-6)
    assert not lora_layers(copies[1])
    model.compile(run_eagerly=True)
    model.fit(TEXTS, LABELS, verbose=0)
    model.save_adapter(path.with_name("b.safetensors"))
    other.load_adapter(path.with_name("b.safetensors"))
    np.testing.assert_allclose(scores(other), scores(model), atol=1e-6)


def test_the_record_names_base_rank_and_layers(saved):
    with safetensors.safe_open(saved[0], "numpy") as file:
        record = json.loads(file.metadata()[ENTRY])
    assert (record["rank"], record["alpha"], record["family"]) == (2, 3.0, "bert")
    assert record["layers"] == sorted(
        f"block_{n}/attention/{name}" for n in (0, 1) for name in ("query", "value")
    )
    names = {"classifier/kernel", "classifier/bias"}
    for layer in record["layers"]:
        names |= {f"{layer}/lora_kernel_a", f"{layer}/lora_kernel_b"}
    assert {*load_file(saved[0])} == names


def test_a_threshold_is_part_of_an_adapter(tmp_path):
    model = adapt(make(multi_label=True))
    model.find_thresholds(TEXTS, [[label] for label in LABELS])
    threshold = model.options["threshold"]
    model.save_adapter(tmp_path / "a.safetensors")
    copy = make(multi_label=True, threshold=0.987)
    copy.load_adapter(tmp_path / "a.safetensors")
    assert copy.options["threshold"] == copy.label_targets.threshold == threshold


def test_weight_files_of_keras_are_merged_and_lora_goes_on(saved, tmp_path):
    model = adapt(make())
    expected = scores(model)
    model.save_weights(tmp_path / "a.weights.h5")
    model.load_weights(tmp_path / "a.weights.h5")
    np.testing.assert_allclose(scores(model), expected, atol=1e-6)
    before = {v.path: v.numpy() for v in model.trainable_weights}
    model.fit(TEXTS, LABELS, epochs=2, verbose=0)
    assert all((before[v.path] != v.numpy()).any() for v in model.trainable_weights)


def test_replicas_train_an_adapter_as_one(two_replicas):
    results = []
    for strategy in (None, two_replicas):
        if strategy is None:
            model = make()
        else:
            with strategy.scope():
                model = make()
        zoo.enable_lora(model, 2, ["query"])
        for number, variable in enumerate(model.trainable_weights):
            values = np.random.default_rng(number).normal(0, 0.3, variable.shape)
            variable.assign(values)
        model.fit(TEXTS, LABELS, verbose=0)
        results.append([v.numpy() for v in model.trainable_weights])
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_sixteen_bits_train_and_read_an_adapter(policy, saved):
    model = make()
    values = model.backbone.get_weights()
    keras.config.set_dtype_policy(policy)
    try:
        half = make()
    finally:
        keras.config.set_dtype_policy("float32")
    half.backbone.set_weights(values)
    half.load_adapter(saved[0])
    np.testing.assert_allclose(scores(half), saved[1], atol=0.05)
    before = {v.path: v.numpy() for v in half.weights}
    half.fit(TEXTS, LABELS, epochs=4, verbose=0)
    changed = {v.path for v in half.weights if (before[v.path] != v.numpy()).any()}
    assert changed == {v.path for v in half.trainable_weights}


def change_base():
    backbone = tiny_bert()
    kernel = backbone.named_layers["block_0"].intermediate.kernel
    kernel.assign(kernel + 1e-6)
    return make(backbone=backbone)


REFUSED = {
    "base": (change_base, "trained beside other weights of the backbone"),
    "size": (lambda: make(backbone=tiny_bert(num_layers=1)), "beside other weights"),
    "labels": (lambda: make(labels=["good", "bad"]), "labels=.*Received: one with"),
    "more labels": (lambda: make(labels=["a", "b", "c"]), "is for a model with labels"),
    "pooling": (lambda: make(pooling="mean"), "is for a model with pooling='pooled'"),
    "task": (lambda: make(zoo.TextRegressor, None), "with task='text_classifier'"),
    "rank": (lambda: adapt(make(), 4), "must have the LoRA of the model. Received: "),
    "alpha": (lambda: adapt(make(), 2, alpha=1.0), "must have the LoRA of the model"),
    "layers": (lambda: adapt(make(), 2, "query"), "must have the LoRA of the model"),
}


@pytest.mark.parametrize("make_model, message", REFUSED.values(), ids=REFUSED)
def test_another_model_is_refused_and_does_not_change(make_model, message, saved):
    model = make_model()
    before = [v.numpy() for v in model.weights]
    with pytest.raises(ValueError, match=message) as error:
        model.load_adapter(saved[0])
    assert str(saved[0]) in str(error.value)
    for old, variable in zip(before, model.weights, strict=True):
        np.testing.assert_array_equal(old, variable)


def set_field(name, value):
    return lambda record, arrays: record.update({name: value})


def set_array(name, value):
    return lambda record, arrays: arrays.update({name: np.asarray(value, "float32")})


A = "block_0/attention/query/lora_kernel_a"
DAMAGES = {
    "family": (set_field("family", "elmo"), "is for a model with family='elmo'"),
    "format": (set_field("format", 2), "its format is 2, and this version reads 1"),
    "no rank": (lambda r, a: r.pop("rank"), "the record lacks rank"),
    "text rank": (set_field("rank", "2"), "`rank` must be an integer"),
    "rank": (set_field("rank", 3), "must have the arrays of LoRA"),
    "large rank": (set_field("rank", 10**9), "must have the arrays of LoRA"),
    "alpha": (set_field("alpha", -1.0), "`alpha` must be a positive number"),
    "layers": (set_field("layers", ["block_7/x"]), "must have the arrays of LoRA"),
    "no layers": (set_field("layers", []), "must have the arrays of LoRA"),
    "no array": (lambda r, a: a.pop(A), "must have the arrays of LoRA"),
    "more": (set_array("more", [1]), "must have the arrays of LoRA .*'more'"),
    "shape": (set_array(A, np.ones((2, 16))), "must have the arrays of LoRA"),
    "NaN": (set_array(A, np.full((16, 2), np.nan)), "Weights must be finite"),
}


@pytest.mark.parametrize("change, message", DAMAGES.values(), ids=DAMAGES)
def test_damaged_records_and_arrays(change, message, saved, tmp_path):
    path = rewrite(saved[0], tmp_path / "a.safetensors", change)
    model = make()
    with pytest.raises(ValueError, match=message):
        model.load_adapter(path)
    assert not lora_layers(model)


def test_damaged_files(saved, tmp_path):
    model, content = make(), saved[0].read_bytes()
    path = tmp_path / "a.safetensors"
    flipped = bytearray(content)
    flipped[-3] ^= 64
    damages = [b"", content[:100], content[:-1], bytes(flipped), b"x" * 99, b"[" * 99]
    for damage in damages:
        path.write_bytes(damage)
        with pytest.raises(ValueError, match="is not an adapter of zoo: .* again with"):
            model.load_adapter(path)
    save_file({"a": np.ones(2)}, path)
    with pytest.raises(ValueError, match="its metadata lack 'zoo_adapter'"):
        model.load_adapter(path)
    with pytest.raises(FileNotFoundError, match="There is no adapter at"):
        model.load_adapter(tmp_path)
    assert not lora_layers(model)


def test_what_cannot_be_saved(tmp_path):
    model = make()
    with pytest.raises(ValueError, match="needs a model with LoRA. Received: "):
        model.save_adapter(tmp_path / "a.safetensors")
    adapt(model)
    with pytest.raises(ValueError, match="whose name ends in `.safetensors`. Received"):
        model.save_adapter(tmp_path / "a.keras")
    with pytest.raises(IsADirectoryError, match="is a directory"):
        (tmp_path / "b.safetensors").mkdir()
        model.save_adapter(tmp_path / "b.safetensors")
    model.backbone.named_layers["block_0"].intermediate.enable_lora(3)
    with pytest.raises(ValueError, match="LoRA of one rank and alpha"):
        model.save_adapter(tmp_path / "a.safetensors")
    model = adapt(make())
    variable = model.trainable_weights[0]
    variable.assign(np.full(variable.shape, np.inf))
    with pytest.raises(ValueError, match="Weights must be finite"):
        model.save_adapter(tmp_path / "a.safetensors")
    assert [path.name for path in tmp_path.iterdir()] == ["b.safetensors"]
