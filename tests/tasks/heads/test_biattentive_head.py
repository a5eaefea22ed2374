"""Text classifiers with the biattentive classification network."""

import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf
import tiny
from biattentive_reference import network
from tiny_tasks import make_tiny_task

import zoo
from zoo.layers import enable_lora
from zoo.tasks import TextClassifier, TextRegressor

TEXTS, LABELS = tiny.make_texts(64, longest=6)
OTHERS, OTHER_LABELS = tiny.make_texts(64, seed=1, longest=9)
SAME = ["good" if a == b else "bad" for a, b in zip(LABELS, OTHER_LABELS, strict=True)]


def make(family="bert", kind=TextClassifier, dtype=None, **options):
    """A task that runs eagerly, since to trace the LSTMs takes longer."""
    options = {"head": "biattentive", "head_dim": 8, **options}
    config = {"num_layers": 1} if family == "bert" else {}
    model = make_tiny_task(kind, family, config, dtype, **options)
    model.compile(keras.optimizers.Adam(1e-2), run_eagerly=True)
    return model


def columns(pair, count=64):
    return (TEXTS[:count], OTHERS[:count]) if pair else TEXTS[:count]


@pytest.mark.shown("True")
@pytest.mark.parametrize("pair", [False, True])
def test_the_network_is_its_definition(pair):
    model = make(pair=pair, head_dim=3)
    draw = np.random.default_rng(0)
    for variable in model.weights:
        variable.assign(draw.normal(0, 0.3, variable.shape))
    rows = [("a good film", "dull"), ("so very", "the plot was not fine , was it ?")]
    x = tuple(map(list, zip(*rows, strict=True)))
    found = model.predict(x if pair else x[0], verbose=0)
    heads = {layer.name: layer.get_weights() for layer in model.layers}
    for row, texts in enumerate(rows):
        ids = [model.preprocessor((tf.constant([t]),)) for t in texts[: 1 + pair]]
        vectors = [np.asarray(model.backbone(i)["sequence_output"])[0] for i in ids]
        masks = [np.asarray(i["padding_mask"])[0] for i in ids]
        vectors = [v[m == 1] for v, m in zip(vectors, masks, strict=True)]
        np.testing.assert_allclose(found[row], network(vectors, heads), atol=5e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    "family, pair",
    [*itertools.product(("bert", "elmo"), (False, True)), ("ulmfit", False)],
)
def test_it_learns_with_xla(family, pair):
    model = make(family, pair=pair, head_dropout=0.0)
    optimizer = keras.optimizers.Adam(3e-3, global_clipnorm=1.0)
    model.compile(optimizer, jit_compile=True)
    (batch,) = model.batches(columns(pair, 16), LABELS[:16], batch_size=16)
    losses = [float(model.train_on_batch(*batch)[0]) for _ in range(48)]
    assert losses[-1] < 0.8 * losses[0]


@pytest.mark.slow
@pytest.mark.parametrize("pair", [False, True])
def test_fit_learns_with_the_default_optimizer(pair):
    model = make("elmo", pair=pair, head_dim=64, head_dropout=0.0)
    model.compile()
    x, y = columns(pair), SAME if pair else LABELS
    losses = model.fit(x, y, batch_size=16, epochs=30, verbose=0).history["loss"]
    assert losses[-1] < 0.9 * losses[0]
    assert model.evaluate(x, y, verbose=0, return_dict=True)["loss"] < losses[0]


def test_the_order_of_the_texts_matters_only_to_a_pair():
    model = make(pair=True)
    first, second = columns(True, 4)
    there = model.predict((first, second), verbose=0)
    back = model.predict((second, first), verbose=0)
    assert np.abs(there - back).max() > 1e-4


@pytest.mark.shown("True")
@pytest.mark.parametrize("pair", [False, True])
def test_every_weight_learns_and_a_frozen_backbone_does_not(pair):
    model = make(pair=pair)
    (batch,) = model.batches(columns(pair, 8), LABELS[:8], batch_size=8)
    x, y = batch
    with tf.GradientTape() as tape:
        loss = model.compute_loss(x, y, model(x, training=True), None)
    gradients = tape.gradient(loss, [v.value for v in model.trainable_weights])
    missing = [g is None for g in gradients]
    assert not any(missing) and len(missing) > 16
    own = {id(v) for v in model.backbone.weights}
    model.backbone.trainable = False
    assert model.trainable_weights
    assert not any(id(v) in own for v in model.trainable_weights)
    assert model.layers_used() == model.backbone.layers_for("sequence_output")


# The first updates in float16 are skipped, until the scale of the loss is small enough.
@pytest.mark.slow
@pytest.mark.parametrize(
    "policy, pair, updates", [("mixed_bfloat16", True, 4), ("mixed_float16", False, 8)]
)
def test_16_bits_train(policy, pair, updates):
    model = make(dtype=policy, pair=pair, head_dropout=0.0)
    (batch,) = model.batches(columns(pair, 8), LABELS[:8], batch_size=8)
    losses = [float(model.train_on_batch(*batch)[0]) for _ in range(updates)]
    assert np.isfinite(losses).all() and losses[-1] < losses[0]
    assert model(batch[0]).dtype == "float32"


@pytest.mark.slow
@pytest.mark.parametrize("pair", [False, True])
def test_int8_is_written_and_read(pair, tmp_path):
    model = make(pair=pair)
    (x,) = model.batches(columns(pair, 8), batch_size=8)
    exact = np.asarray(model(x))
    model.quantize("int8")
    expected = np.asarray(model(x))
    assert 0 < np.abs(expected - exact).max() < 0.3
    names = [v.path for v in model.weights if v.dtype == "int8"]
    assert {"hidden_1/dense/kernel", "text_forward/kernel"} <= {*names}
    model.save_to_preset(tmp_path / "int8")
    loaded = zoo.from_preset(tmp_path / "int8")
    assert [v.path for v in loaded.weights if v.dtype == "int8"] == names
    np.testing.assert_allclose(loaded(x), expected, atol=1e-6)


@pytest.mark.slow
def test_lora_trains_and_a_file_holds_it_merged(tmp_path):
    model = make(head_dropout=0.0)
    (batch,) = model.batches(columns(False, 8), LABELS[:8], batch_size=8)
    before = np.asarray(model(batch[0]))
    enable_lora(model, 2)
    model.compile(keras.optimizers.SGD(1e-1), run_eagerly=True)
    for _ in range(3):
        model.train_on_batch(*batch)
    expected = np.asarray(model(batch[0]))
    assert np.abs(expected - before).max() > 1e-4
    model.save(tmp_path / "lora.keras")
    loaded = zoo.load_model(tmp_path / "lora.keras")
    assert not [v.path for v in loaded.weights if "lora" in v.path]
    np.testing.assert_allclose(loaded(batch[0]), expected, atol=1e-5)


@pytest.mark.slow
def test_a_preset_with_another_head_gets_a_new_one(tmp_path):
    options = {"head_dim": None, "pooling": "mean", "head_dropout": 0.4}
    make(head="linear", **options).save_to_preset(tmp_path / "preset")
    saved = zoo.from_preset(tmp_path / "preset")
    assert saved.new_heads == () and saved.options["head_dropout"] == 0.4
    model = zoo.from_preset(tmp_path / "preset", head="biattentive", head_dim=4)
    assert "pooling" not in model.options and model.options["head_dropout"] == 0.1
    assert {"classifier", "integrator_forward"} <= {*model.new_heads}
    model.save_to_preset(tmp_path / "network")
    assert zoo.from_preset(tmp_path / "network").new_heads == ()
    for options in ({"head_dim": 5}, {"pair": True}, {"head": "concat_pooling"}):
        other = zoo.from_preset(tmp_path / "network", **options)
        assert "classifier" in other.new_heads


def test_a_regressor_has_the_head_too():
    model = make(kind=TextRegressor, pair=True)
    values = model.predict(columns(True, 4), verbose=0)
    assert values.shape == (4, 1) and np.ptp(values) > 0


@pytest.mark.parametrize("family", ["bert", "elmo", "ulmfit"])
def test_a_new_network_learns_at_the_same_rate_on_every_backbone(family):
    model = make(family)
    model.compile()
    rate = model.default_learning_rate * model.optimizer.head_multiplier
    assert rate == pytest.approx(1e-3)


@pytest.mark.parametrize("pair", [False, True])
def test_the_other_number_of_columns_raises(pair, tmp_path):
    model, x = make(pair=pair), columns(not pair, 4)
    dataset = tf.data.Dataset.from_tensors((x, tf.constant(LABELS[:4])))
    for call in (
        lambda: model.fit(x, LABELS[:4], verbose=0),
        lambda: model.fit(dataset, verbose=0),
        lambda: model.evaluate(x, LABELS[:4], verbose=0),
        lambda: model.predict(x, verbose=0),
        lambda: model.answer(x),
        lambda: model.export(tmp_path / "export", pair=not pair),
    ):
        with pytest.raises(ValueError, match=f"`pair={pair}` takes .*{not pair}"):
            call()
    assert model.pair is pair and not (tmp_path / "export").exists()


def test_a_pair_needs_the_tokens_of_both_texts():
    with pytest.raises(ValueError, match="second text, such as `pair_token_ids`"):
        make(pair=True)({"token_ids": np.ones((1, 3), "int32")})


def test_an_ensemble_with_a_head_for_single_texts_exports_no_pairs(tmp_path):
    members = [make(), make(head="linear", head_dim=None, pair=True)]
    ensemble = zoo.TextEnsemble(members)
    with pytest.raises(ValueError, match="takes single texts"):
        ensemble.export(tmp_path / "export")
