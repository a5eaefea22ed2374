"""LoRA: what is trained, and what files hold."""

import keras
import numpy as np
import pytest
from adapted_models import (
    INPUTS,
    MODELS,
    TOKENS,
    TOLERANCE,
    difference,
    language_model,
    tagger,
)

from zoo.layers import enable_lora, is_lora, merged_weights

pytestmark = pytest.mark.filterwarnings("ignore:Layer .* does not have a `quantize`")


@pytest.fixture(params=MODELS)
def case(request):
    """A model and its inputs."""
    return MODELS[request.param](), INPUTS[request.param]


def changed_weights(model, inputs):
    """The paths of the weights that two updates towards random targets change."""
    before = {weight.path: weight.numpy() for weight in model.weights}
    targets = np.random.default_rng(2).normal(size=model(inputs).shape)
    model.compile(keras.optimizers.Adam(0.05), "mse", run_eagerly=True)
    model.fit(inputs, targets, epochs=2, verbose=0)
    return {w.path for w in model.weights if not np.array_equal(before[w.path], w)}


@pytest.mark.parametrize("int8", [pytest.param(False, marks=pytest.mark.slow), True])
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
    assert changed_weights(model, inputs) == trained


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
    assert changed_weights(model, TOKENS) == trained


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
    assert difference(copy(inputs), expected) < (TOLERANCE if int8 else 1e-5)
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


def test_predict_uses_lora_that_was_enabled_after_a_call_and_only_once():
    model = tagger()
    before = model.predict(INPUTS["tagger"], verbose=0)
    enable_lora(model, 2)
    for weight in model.weights:
        if weight.name == "lora_kernel_b":
            weight.assign(np.ones(weight.shape))
    after = model.predict(INPUTS["tagger"], verbose=0)
    np.testing.assert_allclose(after, model(INPUTS["tagger"]), atol=1e-5)
    assert difference(after, before) > 0.01
    with pytest.raises(ValueError, match="LoRA can be enabled only once"):
        enable_lora(model, 2)
    frozen = tagger()
    frozen.trainable = False
    with pytest.raises(ValueError, match="must have a trainable Dense or Embedding"):
        enable_lora(frozen, 2)
