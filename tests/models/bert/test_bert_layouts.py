"""BERTs of the model garden, of keras-nlp, and trained ones, judged by their makers."""

import dataclasses
import subprocess
import sys

import h5py
import keras
import numpy as np
import pytest
from bert_golden import (
    CONVERTED,
    OUTPUTS,
    check,
    compute,
    save_as_garden,
    with_golden_options,
)
from foreign_files import ATOL, change_json
from places import GOLDENS

from zoo.checkpoint import open_checkpoint
from zoo.models.bert.weights import KERAS_NLP_HEAD, read, recognise

MAKER = GOLDENS / "make_bert_model_garden.py"
SAVED = [
    f"generation_{generation}/{name}"
    for generation, names in (
        (1, ("both", "model", "items", "encoder", "classifier", "root")),
        (2, ("both", "model", "items", "encoder", "classifier")),
    )
    for name in names
]


# As the released files and tf-models-official have them, so that the fast tests do not
# take our own table's word for it.
GARDEN_NAMES = (
    "encoder/layer_with_weights-0/embeddings",
    "encoder/layer_with_weights-2/embeddings",
    "encoder/layer_with_weights-4/_attention_layer/_key_dense/kernel",
    "encoder/layer_with_weights-5/_attention_layer/_output_dense/bias",
    "encoder/layer_with_weights-5/_output_layer_norm/gamma",
    "next_sentence..pooler_dense/kernel",
    "masked_lm/output_bias.Sbias",
)


@pytest.fixture(scope="module")
def model_garden(tmp_path_factory):
    """Directory of checkpoints that tf-models-official wrote in its own process."""
    pytest.importorskip("tf_keras", reason="tf-models-official is not installed")
    directory = tmp_path_factory.mktemp("model_garden")
    command = [sys.executable, str(MAKER), str(directory)]
    made = subprocess.run(command, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    return directory


@pytest.mark.slow
@pytest.mark.parametrize("path", SAVED)
def test_computes_what_the_model_garden_computes(model_garden, path):
    expected = dict(np.load(model_garden / path / "outputs.npz"))
    converted = read(model_garden / path)
    assert converted.layout == "model_garden"
    assert converted.config.activation == "gelu_tanh"
    check(converted, expected)


def test_names_of_the_model_garden_are_those_of_released_files(tmp_path):
    names = [*open_checkpoint(save_as_garden(tmp_path))]
    assert {f"{name}/.ATTRIBUTES/VARIABLE_VALUE" for name in GARDEN_NAMES} < {*names}


@pytest.mark.parametrize(
    "change",
    (
        lambda name: name,
        # bert_base_uncased of version 3 is unlike the others.
        lambda n: n.replace(
            "_attention_layer/_output_dense", "_attention_output_dense"
        ),
        lambda n: n.replace("encoder/", "model/"),
        lambda n: n.replace(
            "encoder/layer_with_weights-0/embeddings/", "masked_lm/em"
        ).replace("masked_lm/em", "masked_lm/embedding_table/"),
    ),
)
def test_all_names_of_the_model_garden_are_read(tmp_path, change):
    converted = read(save_as_garden(tmp_path, change))
    assert converted.heads == ("masked_lm_head", "next_sentence")
    check(with_golden_options(converted), OUTPUTS)


def test_of_two_poolers_the_trained_one_is_read(tmp_path):
    end = "/.ATTRIBUTES/VARIABLE_VALUE"
    untrained = {
        f"encoder/layer_with_weights-6/kernel{end}": np.ones((8, 8), "float32"),
        f"encoder/layer_with_weights-6/bias{end}": np.ones(8, "float32"),
    }
    check(with_golden_options(read(save_as_garden(tmp_path, **untrained))), OUTPUTS)


def test_the_number_of_heads_must_be_the_stored_one(tmp_path):
    path = save_as_garden(tmp_path)
    change_json(path / "bert_config.json", num_attention_heads=2)
    message = r"attention/query/kernel' must be \(8, 8\).* is \(8, 4, 2\), which "
    with pytest.raises(ValueError, match=f"{message}'merge_last' with num_heads=2"):
        read(path)


def make_preset(keras_nlp, directory, head):
    """Saves a keras-nlp BERT with a head; returns its inputs and outputs."""
    keras.utils.set_random_seed(23)
    backbone = keras_nlp.models.BertBackbone(
        vocabulary_size=17,
        num_layers=2,
        num_heads=4,
        hidden_dim=8,
        intermediate_dim=12,
        dropout=0.05,
        max_sequence_length=9,
        num_segments=3,
    )
    tokens = list(CONVERTED.tokenizer["vocabulary"])
    tokenizer = keras_nlp.models.BertTokenizer(tokens, lowercase=True)
    if head == "masked_lm_head":
        preprocessor = keras_nlp.models.BertMaskedLMPreprocessor(tokenizer, 9)
        model = keras_nlp.models.BertMaskedLM(backbone, preprocessor)
    else:
        preprocessor = keras_nlp.models.BertTextClassifierPreprocessor(tokenizer, 9)
        model = keras_nlp.models.BertTextClassifier(backbone, 3, preprocessor)
    generator = np.random.default_rng(23)
    for variable in model.weights:
        mean = 1.0 if variable.name == "gamma" else 0.0
        variable.assign(generator.normal(mean, 0.3, variable.shape))
    model.save_to_preset(str(directory))
    expected = {name: OUTPUTS[name] for name in OUTPUTS if not name.endswith("put")}
    inputs = {k: expected[k] for k in ("token_ids", "segment_ids", "padding_mask")}
    outputs = dict(backbone(inputs))
    inputs = {**inputs, "mask_positions": OUTPUTS["mask_positions"]}
    inputs = {name: inputs[name] for name in model.input}
    logits = {"masked_lm_head": "masked_lm_logits"}.get(head, f"{head}_logits")
    outputs[logits] = model(inputs)
    return {name: keras.ops.convert_to_numpy(y) for name, y in outputs.items()}


@pytest.fixture(scope="module", params=("masked_lm_head", "classifier"))
def preset(request, keras_nlp, tmp_path_factory):
    """A keras-nlp preset: its directory, its head, its outputs."""
    directory = tmp_path_factory.mktemp("preset") / "preset"
    outputs = make_preset(keras_nlp, directory, request.param)
    return directory, request.param, outputs


def test_computes_what_keras_nlp_computes(preset):
    directory, head, expected = preset
    assert recognise(directory) == "keras_nlp"
    converted = read(directory)
    assert converted.config.activation == "gelu_tanh"
    assert converted.config.dropout == converted.config.attention_dropout == 0.05
    assert converted.heads == (head,)
    assert converted.tokenizer == CONVERTED.tokenizer
    outputs = compute(converted, OUTPUTS)
    for name, array in expected.items():
        np.testing.assert_allclose(outputs[name], array, 0, ATOL, err_msg=name)


@pytest.mark.parametrize("preset", ["masked_lm_head"], indirect=True)
def test_the_head_of_keras_nlp_has_options_of_its_own(preset):
    directory, _, expected = preset
    converted = read(directory)
    assert converted.head_options == KERAS_NLP_HEAD
    for name, value in (("activation", "gelu_tanh"), ("layer_norm_epsilon", 1e-12)):
        options = {**KERAS_NLP_HEAD, name: value}
        outputs = compute(dataclasses.replace(converted, head_options=options), OUTPUTS)
        difference = outputs["masked_lm_logits"] - expected["masked_lm_logits"]
        assert np.abs(difference).max() > 2 * ATOL, name


@pytest.mark.parametrize("preset", ["masked_lm_head"], indirect=True)
def test_names_of_keras_2_are_read(keras_nlp, preset, tmp_path):
    directory, _, expected = preset
    name = "model.weights.h5"
    (tmp_path / "config.json").write_text((directory / "config.json").read_text())
    with h5py.File(directory / name) as old, h5py.File(tmp_path / name, "w") as new:
        old.copy("layers", new, "_layer_checkpoint_dependencies")
    theirs = keras_nlp.models.BertBackbone.from_preset(str(tmp_path))
    inputs = {k: OUTPUTS[k] for k in theirs.input}
    output = theirs(inputs)["sequence_output"]
    np.testing.assert_allclose(output, expected["sequence_output"], 0, ATOL)
    converted = read(tmp_path)
    assert converted.tokenizer is None and converted.heads == ()
    output = compute(converted, OUTPUTS)["sequence_output"]
    np.testing.assert_allclose(output, expected["sequence_output"], 0, ATOL)


@pytest.mark.external
def test_the_checkpoint_that_google_wrote_is_consumed(shared):
    converted = read(shared / "oracles" / "google_bert_toy")
    assert converted.layout == "google"
    assert converted.heads == ("masked_lm_head", "next_sentence")
    assert converted.config.num_layers == 2 and converted.config.hidden_dim == 4
    assert converted.tokenizer["vocabulary"][-1] == "boy"
    inputs = {"token_ids": np.array([[2, 5, 4, 3, 0]])}
    inputs["segment_ids"] = np.zeros_like(inputs["token_ids"])
    inputs["padding_mask"] = np.minimum(inputs["token_ids"], 1)
    outputs = compute(converted, {**inputs, "mask_positions": np.array([[2]])})
    assert outputs["masked_lm_logits"].shape == (1, 1, 15)
