"""int8: what layers compute, and what files hold."""

import gc
import json

import keras
import numpy as np
import pytest
import tensorflow as tf
from adapted_models import (
    INPUTS,
    MODELS,
    ROWS,
    TOKENS,
    TOLERANCE,
    WORDS,
    difference,
    draw,
    language_model,
    tagger,
)

from zoo.layers import (
    LSTM,
    TransformerBlock,
    WithScores,
    WordEmbedding,
    apply_quantization,
    enable_lora,
    quantization_record,
    quantize_layers,
)

pytestmark = pytest.mark.filterwarnings("ignore:Layer .* does not have a `quantize`")


def numbered(model):
    """Dict of number to inner layer."""
    return {str(k): layer for k, layer in enumerate(model._flatten_layers())}


def record_of(model):
    return quantization_record(numbered(model))


@pytest.fixture(scope="module", params=MODELS)
def quantized(request):
    """An int8 model that no test changes, its name, and the same model in float32."""
    exact, model = MODELS[request.param](), MODELS[request.param]()
    model.quantize("int8")
    return model, request.param, exact


def paths(model, dtype):
    """Paths of all weights of a dtype."""
    return {weight.path for weight in model.weights if weight.dtype == dtype}


@pytest.mark.shown("language_model")
def test_int8_outputs_are_close(quantized):
    model, name, exact = quantized
    found = model(INPUTS[name])
    assert 0 < difference(found, exact(INPUTS[name])) < TOLERANCE
    predicted = model.predict(INPUTS[name], verbose=0)
    np.testing.assert_allclose(predicted, found, atol=1e-4)
    if name == "language_model":
        compiled = tf.function(model, jit_compile=True)(tf.constant(TOKENS))
        np.testing.assert_allclose(compiled, found, atol=1e-3)


def test_paths_of_weights_do_not_change(quantized):
    """Each scale has the path of its matrix and the ending `_scale`."""
    model, _, exact = quantized
    found = [weight.path for weight in model.weights]
    assert len({*found}) == len(found)
    expected = {weight.path for weight in exact.weights}
    assert {path for path in found if not path.endswith("_scale")} == expected
    scales = {path for path in found if path.endswith("_scale")}
    assert scales == {f"{path}_scale" for path in paths(model, "int8")}


@pytest.mark.shown("language_model")
def test_int8_files_hold_the_same_numbers(quantized, tmp_path):
    model, name, exact = quantized
    expected = np.asarray(model(INPUTS[name]))
    for file in ("first.keras", "second.keras"):
        model.save(tmp_path / file)
        model = keras.saving.load_model(tmp_path / file)
        np.testing.assert_array_equal(model(INPUTS[name]), expected)
    exact.save(tmp_path / "float.keras")
    assert not record_of(keras.saving.load_model(tmp_path / "float.keras"))


@pytest.mark.slow
def test_weights_alone_are_quantized_without_a_warning(quantized, recwarn, tmp_path):
    """The default: the inputs of dense layers are not quantized."""
    model, name, exact = quantized
    copy = MODELS[name]()
    copy.predict(INPUTS[name], verbose=0)
    recwarn.clear()
    frozen = gc.get_freeze_count()
    quantize_layers(copy)
    assert not [w for w in recwarn.list if w.category is UserWarning]
    assert gc.get_freeze_count() >= frozen > 0
    assert record_of(copy).keys() == record_of(model).keys()
    dense = [x for x in copy._flatten_layers() if isinstance(x, keras.layers.Dense)]
    assert dense and not any(layer.inputs_quantizer for layer in dense)
    found, expected = np.asarray(copy(INPUTS[name])), exact(INPUTS[name])
    assert 0 < difference(found, expected) < TOLERANCE
    predicted = copy.predict(INPUTS[name], verbose=0)
    np.testing.assert_allclose(predicted, found, atol=1e-5)
    copy.save(tmp_path / "a.keras")
    loaded = keras.saving.load_model(tmp_path / "a.keras")
    np.testing.assert_array_equal(loaded(INPUTS[name]), found)


def test_what_is_quantized_is_recorded_and_applied(quantized):
    model, name, _ = quantized
    record = json.loads(json.dumps(record_of(model)))
    copy = MODELS[name]()
    for _ in range(2):
        apply_quantization(numbered(copy), record)
        assert record_of(copy) == record
    np.testing.assert_array_equal(copy(INPUTS[name]), model(INPUTS[name]))


def test_layers_that_do_not_support_a_config_do_not_change():
    model = tagger()
    quantize_layers(model, keras.quantizers.Int4QuantizationConfig(block_size=-1))
    modes = {type(x).__name__: x.quantization_mode for x in model._flatten_layers()}
    assert modes["Dense"] == "int4" and modes["LSTM"] is None


def test_only_small_weights_of_the_character_cnn_stay_float(quantized):
    model, name, _ = quantized
    ends = ("_scale", "bias", "gamma", "beta", "position_embedding/embeddings")
    left = {path for path in paths(model, "float32") if not path.endswith(ends)}
    cnn = {"embeddings", "convolution_0/kernel", "convolution_1/kernel"}
    assert left == ({f"cnn/{path}" for path in cnn} if name == "tagger" else set())


def test_int8_is_the_rounded_matrix():
    """Within half a step of each column, or of each row of a table."""
    lstm, words = LSTM(4, projection_dim=3), WordEmbedding(9, 5, num_frozen=4)
    for layer, shape in ((lstm, (None, None, 6)), (words, ())):
        layer.build(shape)
        before = {name: getattr(layer, name).numpy() for name in layer.matrices}
        layer.quantize("int8")
        for name, axis in layer.matrices.items():
            step = np.abs(before[name]).max(axis, keepdims=True) / 127
            error = np.abs(layer.matrix(name) - before[name])
            assert (error <= 0.501 * step).all() and error.any()
            assert not getattr(layer, name).trainable
    assert [w.name for w in lstm.trainable_weights] == ["bias"]
    with pytest.raises(ValueError, match="already quantized"):
        lstm.quantize("int8")
    lstm = LSTM(4)
    lstm.build((None, None, 3))
    with pytest.raises(NotImplementedError, match='of a LSTM must be "int8"'):
        lstm.quantize("int4")


@pytest.mark.parametrize("layer", ["lstm", "words"])
def test_an_int8_layer_is_made_from_its_config(layer):
    """Twice: Keras must be able to record the arguments of the copy."""
    layer, inputs = {
        "lstm": (LSTM(4, 3, reverse=True), ROWS.normal(size=(3, 5, 6))),
        "words": (WordEmbedding(12, 5, 3), WORDS),
    }[layer]
    layer.build(inputs.shape)
    layer.quantize("int8")
    expected = layer(inputs)
    for _ in range(2):
        config = layer.get_config()
        assert config["dtype"]["config"] == {"mode": "int8", "source_name": "float32"}
        copy = type(layer).from_config(config)
        copy.build(inputs.shape)
        copy.set_weights(layer.get_weights())
        layer = copy
    keras.tree.map_structure(np.testing.assert_array_equal, layer(inputs), expected)


@pytest.mark.parametrize("training", [False, True])
def test_an_int8_lstm_computes_with_the_rounded_matrices(training):
    layer, plain = (LSTM(4, projection_dim=3, cell_clip=0.5) for _ in range(2))
    for one in (layer, plain):
        one.build((None, None, 6))
    layer.quantize("int8")
    for name in layer.matrices:
        getattr(plain, name).assign(layer.matrix(name))
    x = ROWS.normal(size=(2, 5, 6)).astype("float32")
    found, expected = (part(x, training=training) for part in (layer, plain))
    keras.tree.map_structure(np.testing.assert_array_equal, found, expected)


def test_vectors_of_an_int8_table_are_assigned():
    layer = WordEmbedding(9, 4, num_frozen=3)
    layer.build(())
    layer.quantize("int8")
    before = layer.table()
    vectors = np.array([[1.0, -2.0, 0.5, 0.0], [1e-3, 0.0, 0.0, 2e-3]], "float32")
    layer.assign_rows([7, 2], vectors)
    after = layer.table()
    np.testing.assert_allclose(after[[7, 2]], vectors, atol=0.5 * 2.0 / 127 + 1e-6)
    np.testing.assert_allclose(after[2], vectors[1], atol=0.5 * 2e-3 / 127 + 1e-6)
    others = [0, 1, 3, 4, 5, 6, 8]
    np.testing.assert_array_equal(after[others], before[others])
    np.testing.assert_array_equal(layer(np.array([7, 2])), after[[7, 2]])
    layer.assign_rows(np.zeros(0, "int64"), np.zeros((0, 4)))
    np.testing.assert_array_equal(layer.table(), after)


@pytest.mark.parametrize("lora", [False, True])
def test_the_masked_lm_head_reads_the_int8_table(lora):
    model = language_model()
    embedding, head = model.get_layer("token_embedding"), model.get_layer("head")
    if lora:
        enable_lora(embedding, 2)
        embedding.lora_embeddings_b.assign(ROWS.normal(size=(2, 8)))
    expected = np.asarray(embedding.embeddings)
    embedding.quantize("int8")
    np.testing.assert_allclose(head.table(), embedding(np.arange(20)), atol=1e-6)
    np.testing.assert_allclose(head.table(), expected, atol=0.01)
    # Keras' own property holds integers.
    assert np.abs(embedding.embeddings).max() > 100


def test_a_layer_with_scores_shares_an_int8_block(tmp_path):
    x = keras.Input((None, 8))
    block = TransformerBlock(2, 16)
    model = draw(keras.Model(x, WithScores(block)(x)))
    model.quantize("int8")
    assert len(record_of(block)) == 6
    model.save(tmp_path / "a.keras")
    copy = keras.saving.load_model(tmp_path / "a.keras")
    rows = ROWS.normal(size=(2, 5, 8)).astype("float32")
    for found, expected in zip(copy(rows), model(rows), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_bfloat16_and_int8():
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        model = tagger()
    finally:
        keras.config.set_dtype_policy("float32")
    expected = np.asarray(model(INPUTS["tagger"]), "float32")
    model.quantize("int8")
    found = model(INPUTS["tagger"])
    assert keras.backend.standardize_dtype(found.dtype) == "bfloat16"
    assert difference(np.asarray(found, "float32"), expected) < TOLERANCE
