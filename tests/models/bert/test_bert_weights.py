"""BERTs in Hugging Face's and Google's layouts, judged by transformers' outputs."""

import numpy as np
import pytest
from bert_golden import (
    CONVERTED,
    GOLDEN,
    INPUTS,
    OUTPUTS,
    check,
    copy,
    rename,
    save_as_google,
    with_golden_options,
)
from foreign_files import assert_equal, save_tensorflow

from zoo.checkpoint import open_checkpoint
from zoo.models.bert.weights import read, recognise


def test_the_configuration_is_translated_and_not_assumed():
    assert CONVERTED.layout == recognise(GOLDEN) == "hugging_face"
    # What the outputs do not show.
    assert CONVERTED.config.dropout == 0.05
    assert CONVERTED.config.attention_dropout == 0.15 and CONVERTED.config.pad_id == 0
    assert CONVERTED.heads == ("masked_lm_head", "next_sentence")
    assert CONVERTED.tokenizer["vocabulary"][:3] == ("[PAD]", "[UNK]", "[CLS]")
    assert CONVERTED.tokenizer["lowercase"] is True
    assert CONVERTED.classifies is None
    assert CONVERTED.labels is CONVERTED.pooling is None


def test_computes_what_transformers_computes():
    check(CONVERTED, OUTPUTS)


def test_loads_what_is_stored():
    stored = open_checkpoint(GOLDEN / "model.safetensors")
    layer = "bert.encoder.layer.1."
    for path, name in (
        # A key's bias cancels in the softmax: no output tells where it went.
        ("attention/key/bias", "attention.self.key.bias"),
        ("attention/query/bias", "attention.self.query.bias"),
        ("attention/value/bias", "attention.self.value.bias"),
        ("output_layer_norm/beta", "output.LayerNorm.bias"),
    ):
        array = CONVERTED.weights[f"block_1/{path}"]
        np.testing.assert_array_equal(array, stored[layer + name])
    total = sum(stored[name].size for name in stored)
    assert total == sum(array.size for array in CONVERTED.weights.values())


def test_torch_zip_files_give_the_same(tmp_path):
    copy(tmp_path, "config.json", "pytorch_model.bin")
    converted = read(tmp_path)
    assert converted.tokenizer is None
    assert converted.heads == CONVERTED.heads
    assert_equal(converted.weights, CONVERTED.weights)


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


@pytest.fixture
def google(tmp_path):
    return save_as_google(tmp_path / "google")


def test_google_checkpoints_compute_the_same(google):
    converted = read(google)
    assert converted.layout == "google"
    assert converted.config.activation == "gelu_tanh"
    assert converted.config.layer_norm_epsilon == 1e-12
    converted = read(google, activation="gelu")
    check(with_golden_options(converted), OUTPUTS)


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
