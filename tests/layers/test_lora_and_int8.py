"""LoRA and int8: what they compute, what they train and what files hold."""

import gc
import json

import keras
import numpy as np
import pytest
import tensorflow as tf

from zoo.layers import (
    LSTM,
    CharacterCNN,
    MaskedLMHead,
    MultiHeadAttention,
    PositionEmbedding,
    TransformerBlock,
    WithScores,
    WordEmbedding,
    apply_quantization,
    enable_lora,
    is_lora,
    merged_weights,
    quantization_record,
    quantize_layers,
)

pytestmark = pytest.mark.filterwarnings("ignore:Layer .* does not have a `quantize`")

# The largest share of the norm of the float outputs by which int8 outputs may differ.
# The layers here are as narrow as possible, so their errors are larger than usual.
TOLERANCE = 0.03
ROWS = np.random.default_rng(0)
TOKENS = ROWS.integers(1, 20, (4, 6))
WORDS = ROWS.integers(1, 12, (3, 5))
WORDS[0, 3:] = 0
CHARACTERS = ROWS.integers(1, 30, (3, 5, 7))


def numbered(model):
    """Dict of number to inner layer."""
    return {str(k): layer for k, layer in enumerate(model._flatten_layers())}


def record_of(model):
    return quantization_record(numbered(model))


def draw(model):
    """The model, with all weights drawn."""
    random = np.random.default_rng(1)
    for weight in model.weights:
        mean = float(weight.path.endswith("gamma"))
        weight.assign(random.normal(mean, 0.3, weight.shape))
    return model


def language_model():
    """Embeddings, an encoder block and the head that shares the table."""
    ids = keras.Input((None,), dtype="int32")
    embedding = keras.layers.Embedding(20, 8, name="token_embedding")
    x = embedding(ids)
    x = x + PositionEmbedding(9, name="position_embedding")(x)
    x = TransformerBlock(2, 16, name="block")(x)
    x = MultiHeadAttention(2, name="attention")(x)
    return draw(keras.Model(ids, MaskedLMHead(embedding, name="head")(x)))


def tagger():
    """Words and characters, and an LSTM in each direction."""
    ids = keras.Input((None,), dtype="int32")
    characters = keras.Input((None, None), dtype="int32")
    words = WordEmbedding(10, 6, num_frozen=4, name="words")(ids)
    # One projection and a highway, so that the network has dense layers.
    cnn = CharacterCNN([(1, 5), (2, 5)], 4, 1, 6, max_characters=9, name="cnn")
    x = keras.layers.Concatenate()([words, cnn(characters)])
    mask = keras.ops.not_equal(ids, 0)
    forward = LSTM(7, projection_dim=5, packed=True, name="forward")(x, mask)[0]
    backward = LSTM(7, reverse=True, name="backward")(forward, mask)[0]
    return draw(keras.Model([ids, characters], backward))


MODELS = {"language_model": language_model, "tagger": tagger}
INPUTS = {"language_model": TOKENS, "tagger": [WORDS, CHARACTERS]}


@pytest.fixture(scope="module", autouse=True)
def without_old_garbage():
    """Keras runs the garbage collector for every weight that it quantizes."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(params=MODELS)
def case(request):
    """A model and its inputs."""
    return MODELS[request.param](), INPUTS[request.param]


@pytest.fixture(scope="module", params=MODELS)
def quantized(request):
    """An int8 model that no test changes, its name, and the same model in float32."""
    exact, model = MODELS[request.param](), MODELS[request.param]()
    model.quantize("int8")
    return model, request.param, exact


def difference(found, expected):
    """The norm of the difference, as a share of the norm of what is expected."""
    found, expected = np.asarray(found), np.asarray(expected)
    return np.linalg.norm(found - expected) / np.linalg.norm(expected)


def paths(model, dtype):
    """Paths of all weights of a dtype."""
    return {weight.path for weight in model.weights if weight.dtype == dtype}


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
    modes = {
        type(layer).__name__: layer.quantization_mode
        for layer in model._flatten_layers()
    }
    assert modes["Dense"] == "int4" and modes["LSTM"] is None


def test_only_small_weights_of_the_character_cnn_stay_float(quantized):
    model, name, _ = quantized
    left = {path for path in paths(model, "float32") if not path.endswith("_scale")}
    ends = ("bias", "gamma", "beta", "position_embedding/embeddings")
    left = {path for path in left if not path.endswith(ends)}
    cnn = {"embeddings", "convolution_0/kernel", "convolution_1/kernel"}
    cnn = {f"cnn/{path}" for path in cnn}
    assert left == (cnn if name == "tagger" else set())


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


def test_only_int8_is_known_and_only_once():
    layer = LSTM(4)
    layer.build((None, None, 3))
    with pytest.raises(NotImplementedError, match='of a LSTM must be "int8"'):
        layer.quantize("int4")
    layer.quantize("int8")
    with pytest.raises(ValueError, match="already quantized"):
        layer.quantize("int8")


@pytest.mark.parametrize("layer", ["lstm", "words"])
def test_an_int8_layer_is_made_from_its_config(layer):
    """Twice: Keras must be able to record the arguments of the copy."""
    layer = LSTM(4, 3, reverse=True) if layer == "lstm" else WordEmbedding(12, 5, 3)
    shape, inputs = ((3, 5, 6), ROWS.normal(size=(3, 5, 6))), WORDS
    shape, inputs = shape if isinstance(layer, LSTM) else ((3, 5), inputs)
    layer.build(shape)
    layer.quantize("int8")
    expected = layer(inputs)
    for _ in range(2):
        config = layer.get_config()
        assert config["dtype"]["config"] == {"mode": "int8", "source_name": "float32"}
        copy = type(layer).from_config(config)
        copy.build(shape)
        copy.set_weights(layer.get_weights())
        layer = copy
    for found, one in zip(
        keras.tree.flatten(layer(inputs)), keras.tree.flatten(expected), strict=True
    ):
        np.testing.assert_array_equal(found, one)


@pytest.mark.parametrize("training", [False, True])
def test_an_int8_lstm_computes_with_the_rounded_matrices(training):
    layer = LSTM(4, projection_dim=3, cell_clip=0.5)
    layer.build((None, None, 6))
    layer.quantize("int8")
    plain = LSTM(4, projection_dim=3, cell_clip=0.5)
    plain.build((None, None, 6))
    for name in layer.matrices:
        getattr(plain, name).assign(layer.matrix(name))
    x = ROWS.normal(size=(2, 5, 6)).astype("float32")
    for found, expected in zip(
        layer(x, training=training), plain(x, training=training), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


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
    expected = np.asarray(keras.ops.cast(model(INPUTS["tagger"]), "float32"))
    model.quantize("int8")
    found = model(INPUTS["tagger"])
    assert keras.backend.standardize_dtype(found.dtype) == "bfloat16"
    found = np.asarray(keras.ops.cast(found, "float32"))
    assert difference(found, expected) < TOLERANCE


def fit(model, inputs):
    """Two updates towards random targets; the weights before and after, by path."""
    before = {weight.path: weight.numpy() for weight in model.weights}
    targets = np.random.default_rng(2).normal(size=model(inputs).shape)
    model.compile(keras.optimizers.Adam(0.05), "mse", run_eagerly=True)
    model.fit(inputs, targets, epochs=2, verbose=0)
    return before, {weight.path: weight.numpy() for weight in model.weights}


@pytest.mark.parametrize("int8", [False, True])
def test_lora_trains_its_own_weights_only(case, int8):
    model, inputs = case
    if int8:
        model.quantize("int8")
    expected = np.asarray(model(inputs))
    enable_lora(model, 3)
    np.testing.assert_allclose(model(inputs), expected, atol=1e-6)
    dense = [x for x in model._flatten_layers() if isinstance(x, keras.layers.Dense)]
    tables = [x for x in model._flatten_layers() if hasattr(x, "lora_embeddings_a")]
    trained = {weight.path for weight in model.trainable_weights}
    assert len(trained) == 2 * (len(dense) + len(tables)) and len(dense) >= 3
    before, after = fit(model, inputs)
    changed = {path for path in before if not np.array_equal(before[path], after[path])}
    assert changed == trained and len({w.path for w in model.weights}) == len(after)


def test_a_head_beside_lora_is_trained_in_full():
    model = language_model()
    body = keras.Model(model.input, model.layers[-2].output)
    enable_lora(body, 2)
    head = model.get_layer("head")
    trained = {weight.path for weight in model.trainable_weights}
    assert {w.path for w in head.transform.weights} < trained
    lora = {weight.path for weight in model.weights if is_lora(weight)}
    outside = {path for path in trained if not path.startswith("head")}
    assert outside == lora and "block/attention/query/lora_kernel_a" in lora
    before, after = fit(model, TOKENS)
    changed = {path for path in before if not np.array_equal(before[path], after[path])}
    assert changed == trained


@pytest.mark.parametrize("int8", [False, True])
def test_files_hold_merged_weights_and_no_lora(case, int8, tmp_path):
    model, inputs = case
    if int8:
        model.quantize("int8")
    enable_lora(model, 3, alpha=1.5)
    random = np.random.default_rng(3)
    for weight in model.weights:
        if is_lora(weight):
            weight.assign(random.normal(0, 0.3, weight.shape))
    expected = np.asarray(model(inputs))
    model.save(tmp_path / "a.keras")
    copy = keras.saving.load_model(tmp_path / "a.keras")
    difference_ = difference(copy(inputs), expected)
    assert difference_ < (TOLERANCE if int8 else 1e-5)
    merged = merged_weights(model)
    kept = [weight for weight in model.weights if not is_lora(weight)]
    assert len(merged) == len(kept)
    arrays = {weight.path: merged[id(weight)] for weight in kept}
    inner = [w for w in copy.weights if not is_lora(w)]
    assert {weight.path for weight in inner} == {*arrays}
    for weight in inner:
        np.testing.assert_allclose(arrays[weight.path], weight, atol=1e-6)
    # The model itself still has LoRA.
    np.testing.assert_array_equal(model(inputs), expected)


def test_predict_uses_lora_that_was_enabled_after_a_call():
    model = tagger()
    before = model.predict(INPUTS["tagger"], verbose=0)
    enable_lora(model, 2)
    for weight in model.weights:
        if weight.name == "lora_kernel_b":
            weight.assign(np.ones(weight.shape))
    after = model.predict(INPUTS["tagger"], verbose=0)
    np.testing.assert_allclose(after, model(INPUTS["tagger"]), atol=1e-5)
    assert difference(after, before) > 0.01


def test_lora_is_refused():
    model = language_model()
    for rank in (0, -1, 2.0, None):
        with pytest.raises(ValueError, match="`rank` must be a positive integer"):
            enable_lora(model, rank)
    enable_lora(model, 2)
    with pytest.raises(ValueError, match="LoRA can be enabled only once"):
        enable_lora(model, 2)
    frozen = tagger()
    frozen.trainable = False
    with pytest.raises(ValueError, match="must have a trainable Dense or Embedding"):
        enable_lora(frozen, 2)
