"""An ULMFiT gets another vocabulary: which rows stay, and which are the mean."""

import numpy as np
import pytest
import tiny

import zoo
from zoo.models.ulmfit import ULMFiT, ULMFiTConfig
from zoo.registry import build_backbone
from zoo.text import FastaiTokenizer, WordPieceTokenizer

OLD = ["xxunk", "xxpad", "xxbos", "a", "good", "film"]
NEW = ["xxpad", "xxbos", "xxunk", "film", "plot", "a", "scene"]
KNOWN = {0: 1, 1: 2, 2: 0, 3: 5, 5: 3}  # new id to old id
TABLE, BIAS = "token_embedding/embeddings", "lm_head/output_bias"


@pytest.fixture
def backbone():
    options = {**tiny.ULMFIT_CONFIG, "vocabulary_size": len(OLD), "pad_id": 1}
    model = ULMFiT(ULMFiTConfig(**options))
    draw = np.random.default_rng(0)
    model.set_weights([draw.normal(size=w.shape) for w in model.get_weights()])
    model.tokenizer = FastaiTokenizer(OLD)
    return model


def weights(model):
    return {v.path: v.numpy() for v in model.weights}


def check_rows(before, after):
    assert after.shape == (len(NEW), *before.shape[1:])
    for new in range(len(NEW)):
        if new in KNOWN:
            np.testing.assert_array_equal(after[new], before[KNOWN[new]])
        else:
            np.testing.assert_allclose(after[new], before.mean(0), rtol=1e-6)


def test_a_language_model_keeps_known_rows_and_gets_the_mean(backbone):
    model = zoo.CausalLM(backbone, backbone.tokenizer)
    bias = np.arange(len(OLD)) - 1.7
    model.get_layer("lm_head").output_bias.assign(bias)
    before = weights(model)
    copy = zoo.transfer_vocabulary(model, NEW)
    assert type(copy) is zoo.CausalLM and copy.compiled
    for tokenizer in (copy.tokenizer, copy.backbone.tokenizer):
        assert list(tokenizer.vocabulary) == NEW
    assert copy.backbone.config.vocabulary_size == len(NEW)
    assert copy.backbone.config.pad_id == 0
    after = weights(copy)
    assert after.keys() == before.keys()
    for path in before:
        if path in (TABLE, BIAS):
            check_rows(before[path], after[path])
        else:
            np.testing.assert_array_equal(after[path], before[path])
    for path, array in weights(model).items():
        np.testing.assert_array_equal(array, before[path])
    # A text of known words has the same vectors.
    first = model.backbone(model.tokenizer(["a film"]).to_tensor())
    second = copy.backbone(copy.tokenizer(["a film"]).to_tensor())
    np.testing.assert_array_equal(first["sequence_output"], second["sequence_output"])
    copy.fit(["a scene", "film plot"], batch_size=2, verbose=0)


def test_backbones_classifiers_and_spare_heads(backbone, tmp_path):
    zoo.CausalLM(backbone, backbone.tokenizer).save_to_preset(tmp_path / "lm")
    loaded = zoo.from_preset(tmp_path / "lm", task=None)
    before = {**loaded.spare_heads}
    copy = zoo.transfer_vocabulary(loaded, FastaiTokenizer(NEW))
    assert type(copy) is ULMFiT
    check_rows(before[BIAS], copy.spare_heads[BIAS])
    check_rows(weights(loaded)[TABLE], weights(copy)[TABLE])
    classifier = zoo.TextClassifier(
        backbone, backbone.tokenizer, labels=["x", "y", "z"], head="concat_pooling"
    )
    other = zoo.transfer_vocabulary(classifier, NEW)
    assert other.labels == ("x", "y", "z")
    for path, array in weights(classifier).items():
        if path != TABLE:
            np.testing.assert_array_equal(weights(other)[path], array)


def test_a_vocabulary_of_the_same_size_in_another_order(backbone):
    copy = zoo.transfer_vocabulary(backbone, OLD[::-1])
    np.testing.assert_array_equal(weights(copy)[TABLE], weights(backbone)[TABLE][::-1])


def test_errors(backbone):
    with pytest.raises(ValueError, match=r"without \['xxbos'\]"):
        zoo.transfer_vocabulary(backbone, ["xxunk", "xxpad", "a"])
    with pytest.raises(TypeError, match="must be a list of str"):
        zoo.transfer_vocabulary(backbone, 5)
    other = build_backbone("bert", tiny.CONFIG)
    other.tokenizer = WordPieceTokenizer(tiny.VOCABULARY)
    with pytest.raises(ValueError, match="must be an ULMFiT.*Received: BERT on BERT"):
        zoo.transfer_vocabulary(other, tiny.VOCABULARY)
    backbone.quantize("int8")
    with pytest.raises(ValueError, match="before `quantize`"):
        zoo.transfer_vocabulary(backbone, NEW)
    backbone.tokenizer = None
    with pytest.raises(ValueError, match="with its tokenizer.*tokenizer=NoneType"):
        zoo.transfer_vocabulary(backbone, NEW)
