"""BERTs in Hugging Face's and Google's layouts, judged by transformers' outputs."""

import dataclasses

import numpy as np
import pytest
from bert_golden import (
    ATOL,
    GOLDEN,
    INPUTS,
    OUTPUTS,
    check,
    compute,
    copy,
    rename,
    save_as_google,
    save_tensorflow,
)

from zoo.checkpoint import open_checkpoint
from zoo.models.bert import BERT, BERTConfig
from zoo.models.bert.shapes import shapes
from zoo.models.bert.weights import read, recognise


@pytest.fixture(scope="module")
def golden():
    """The golden checkpoint, converted."""
    return read(GOLDEN)


def test_the_configuration_is_translated_and_not_assumed(golden):

    assert golden.layout == recognise(GOLDEN) == "hugging_face"
    assert golden.config == BERTConfig(
        vocabulary_size=17,
        hidden_dim=8,
        num_layers=2,
        num_heads=4,
        intermediate_dim=12,
        max_sequence_length=9,
        num_segments=3,
        activation="gelu",
        dropout=0.05,
        attention_dropout=0.15,
        layer_norm_epsilon=3e-3,
    )
    assert golden.heads == ("masked_lm_head", "next_sentence")
    assert golden.tokenizer["vocabulary"][:3] == ("[PAD]", "[UNK]", "[CLS]")
    assert golden.tokenizer["lowercase"] is True
    assert golden.classifies is None
    assert golden.labels is golden.pooling is None


def test_computes_what_transformers_computes(golden):
    check(golden, OUTPUTS)


def test_loads_what_is_stored(golden):
    stored = open_checkpoint(GOLDEN / "model.safetensors")
    layer = "bert.encoder.layer.1."
    for path, name in (
        # A key's bias cancels in the softmax: no output tells where it went.
        ("attention/key/bias", "attention.self.key.bias"),
        ("attention/query/bias", "attention.self.query.bias"),
        ("attention/value/bias", "attention.self.value.bias"),
        ("output_layer_norm/beta", "output.LayerNorm.bias"),
    ):
        array = golden.weights[f"block_1/{path}"]
        np.testing.assert_array_equal(array, stored[layer + name])
    total = sum(stored[name].size for name in stored)
    assert total == sum(array.size for array in golden.weights.values())


def test_has_an_array_for_every_variable(golden):
    variables = {v.path: tuple(v.shape) for v in BERT(golden.config).variables}
    variables = {k: v for k, v in variables.items() if "seed_generator" not in k}
    assert shapes(golden.config) == variables
    assert set(golden.weights) == set(shapes(golden.config, golden.heads))


def test_torch_zip_files_give_the_same(golden, tmp_path):
    copy(tmp_path, "config.json", "pytorch_model.bin")
    converted = read(tmp_path)
    assert converted.tokenizer is None
    assert converted.heads == golden.heads
    for name, array in golden.weights.items():
        np.testing.assert_array_equal(converted.weights[name], array)


def old_names(name):
    """As files of 2018 have it."""
    name = name.replace("LayerNorm.weight", "LayerNorm.gamma")
    return name.replace("LayerNorm.bias", "LayerNorm.beta")


def bare_names(name):
    """As a `BertModel` without heads has it."""
    return name.removeprefix("bert.") if name.startswith("bert.") else None


def no_pooler(name):
    """As a `BertForMaskedLM` has it."""
    return None if "pooler" in name or "seq_relationship" in name else name


@pytest.mark.parametrize(
    ("change", "heads", "lost"),
    (
        (old_names, ("masked_lm_head", "next_sentence"), ()),
        (bare_names, (), ("masked_lm_logits", "next_sentence_logits")),
        (no_pooler, ("masked_lm_head",), ("pooled_output", "next_sentence_logits")),
    ),
)
def test_reads_all_generations_of_names(tmp_path, change, heads, lost):
    rename(copy(tmp_path), change)
    converted = read(tmp_path)
    assert converted.heads == heads
    assert converted.config.pooler == (change is not no_pooler)
    names = [name for name in OUTPUTS if name not in (*INPUTS, *lost)]
    check(converted, OUTPUTS, names)


FAULTS = {
    "wrong GELU": ({"activation": "gelu_tanh"}, {}),
    "wrong epsilon": ({"layer_norm_epsilon": 1e-12}, {}),
    "wrong number of heads": ({"num_heads": 2}, {}),
    "query and key swapped": (
        {},
        {
            "block_0/attention/query/kernel": "block_0/attention/key/kernel",
            "block_0/attention/key/kernel": "block_0/attention/query/kernel",
        },
    ),
    "query's and value's bias swapped": (
        {},
        {
            "block_1/attention/query/bias": "block_1/attention/value/bias",
            "block_1/attention/value/bias": "block_1/attention/query/bias",
        },
    ),
    "blocks swapped": (
        {},
        {
            "block_0/intermediate/kernel": "block_1/intermediate/kernel",
            "block_1/intermediate/kernel": "block_0/intermediate/kernel",
        },
    ),
    "norms swapped": (
        {},
        {
            "block_0/output_layer_norm/gamma": "block_0/attention_layer_norm/gamma",
            "block_0/attention_layer_norm/gamma": "block_0/output_layer_norm/gamma",
        },
    ),
}


def assert_caught(converted):
    """Every fault must change an output by far more than the tolerance."""
    outputs = compute(converted, OUTPUTS)
    names = outputs.keys() - {"attention_scores"}
    worst = max(np.abs(outputs[name] - OUTPUTS[name]).max() for name in names)
    assert worst > 20 * ATOL


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_the_golden_catches(golden, fault):
    fields, sources = FAULTS[fault]
    weights = {k: golden.weights[sources.get(k, k)] for k in golden.weights}
    config = dataclasses.replace(golden.config, **fields)
    options = {k: getattr(config, k) for k in golden.head_options}
    assert_caught(
        dataclasses.replace(
            golden, config=config, weights=weights, head_options=options
        )
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    [
        name
        for name, shape in shapes(read(GOLDEN).config, read(GOLDEN).heads).items()
        if name.endswith("kernel") and len(set(shape)) == 1
    ],
)
def test_the_golden_catches_a_missing_transpose(golden, path):
    weights = {**golden.weights, path: golden.weights[path].T}
    assert_caught(dataclasses.replace(golden, weights=weights))


def test_the_golden_catches_swapped_segments_and_a_dropped_head(golden):
    name = "segment_embedding/embeddings"
    swapped = {**golden.weights, name: golden.weights[name][[1, 0, 2]]}
    assert_caught(dataclasses.replace(golden, weights=swapped))
    name = "masked_lm_head/output_bias"
    zeros = {**golden.weights, name: np.zeros(17)}
    assert_caught(dataclasses.replace(golden, weights=zeros))
    weights = {k: v for k, v in golden.weights.items() if "masked_lm" not in k}
    with pytest.raises(ValueError, match="missing: 'masked_lm_head/transform/kernel'"):
        compute(dataclasses.replace(golden, weights=weights), OUTPUTS)


@pytest.fixture
def google(tmp_path):
    """Directory of the golden checkpoint in Google's layout."""
    return save_as_google(tmp_path / "google")


def test_google_checkpoints_compute_the_same(google):
    converted = read(google)
    assert converted.layout == "google"
    assert converted.config.activation == "gelu_tanh"
    assert converted.config.layer_norm_epsilon == 1e-12
    converted = read(google, activation="gelu")
    options = {"activation": "gelu", "layer_norm_epsilon": 3e-3}
    config = dataclasses.replace(converted.config, **options)
    check(dataclasses.replace(converted, config=config, head_options=options), OUTPUTS)


def test_google_vocabularies_say_their_case_by_name_or_by_content(google):
    assert read(google).tokenizer["lowercase"] is True
    vocab = google / "vocab.txt"
    vocab.write_text(vocab.read_text().replace("cat", "Cat"))
    assert read(google).tokenizer["lowercase"] is False
    for name, lowercase in (("uncased_L-2", True), ("multi_cased_L-2", False)):
        google = google.rename(google.with_name(name))
        assert read(google).tokenizer["lowercase"] is lowercase


def test_google_classifiers_and_span_heads_are_read(google):
    arrays = {
        name: array
        for name, array in open_checkpoint(google).items()
        if not name.startswith("cls/") and "adam" not in name
    }
    kernel = np.arange(24, dtype="float32").reshape(3, 8)
    for prefix, head in (("", "classifier"), ("cls/squad/", "spans")):
        kernel = kernel[: 2 if head == "spans" else 3]
        bias = np.ones(len(kernel), "float32")
        logits = {f"{prefix}output_weights": kernel, f"{prefix}output_bias": bias}
        save_tensorflow(google / "bert_model.ckpt", {**arrays, **logits})
        converted = read(google)
        assert converted.heads == (head,)
        np.testing.assert_array_equal(converted.weights[f"{head}/kernel"], kernel.T)
