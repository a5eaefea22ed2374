"""Published BERTs read by table and compared with the outputs of those who wrote them."""

import dataclasses
import json
import pathlib
import re
import shutil

import keras
import numpy as np
import pytest
import tensorflow as tf

from zoo.checkpoint import (
    Row,
    assign,
    convert,
    open_checkpoint,
    revert,
    save_checkpoint,
)
from zoo.layers import MaskedLMHead
from zoo.models.bert import BERT, BERTConfig
from zoo.models.bert.metadata import shapes
from zoo.models.bert.tables import LAYOUTS
from zoo.models.bert.weights import read, recognise

GOLDEN = pathlib.Path(__file__).parents[1] / "goldens" / "bert_hugging_face"
OUTPUTS = dict(np.load(GOLDEN / "outputs.npz"))
INPUTS = ("token_ids", "segment_ids", "padding_mask", "mask_positions")
ATOL = 5e-6


def save_tensorflow(prefix, arrays):
    """Writes a name-based TensorFlow checkpoint."""
    tf.raw_ops.SaveV2(
        prefix=str(prefix),
        tensor_names=list(arrays),
        shape_and_slices=[""] * len(arrays),
        tensors=list(arrays.values()),
    )


def compute(converted, inputs):
    """What a converted checkpoint and its pretraining heads compute.

    Args:
        converted: `Converted`.
        inputs: dict with the arrays that INPUTS names.

    Returns:
        dict of str to array, the names as in the golden file.
    """
    model = BERT(converted.config)
    head = MaskedLMHead(
        model.named_layers["token_embedding"],
        name="masked_lm_head",
        **converted.head_options,
    )
    hidden_dim = converted.config.hidden_dim
    head.build((None, None, hidden_dim))
    pair = keras.layers.Dense(2, name="next_sentence")
    pair.build((None, hidden_dim))
    layers = {"masked_lm_head": head, "next_sentence": pair}
    layers = {name: layers[name] for name in converted.heads if name in layers}
    variables = [v for layer in layers.values() for v in layer.variables]
    assign([*model.variables, *variables], converted.weights)
    names = ["sequence_output", "layer_outputs", "attention_scores"]
    names += ["pooled_output"] if converted.config.pooler else []
    outputs = model.with_outputs(*names)({k: inputs[k] for k in INPUTS[:3]})
    if "masked_lm_head" in layers:
        positions = inputs["mask_positions"]
        outputs["masked_lm_logits"] = head(outputs["sequence_output"], positions)
    if "next_sentence" in layers:
        outputs["next_sentence_logits"] = pair(outputs["pooled_output"])
    return {name: keras.ops.convert_to_numpy(y) for name, y in outputs.items()}


def check(converted, expected, names=None):
    """Compares every output with the expected ones."""
    outputs = compute(converted, expected)
    names = names or [name for name in expected if name not in INPUTS]
    assert set(names) <= set(outputs)
    for name in names:
        np.testing.assert_allclose(outputs[name], expected[name], 0, ATOL, err_msg=name)


def copy(tmp_path, *names):
    """A directory with some files of the golden one."""
    for name in names or ("config.json", "model.safetensors", "vocab.txt"):
        shutil.copy(GOLDEN / name, tmp_path)
    return tmp_path


def change_json(path, **changes):
    """Updates a JSON file."""
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def rename(path, change):
    """Rewrites model.safetensors under other names, or without some arrays."""
    path = path / "model.safetensors"
    arrays = {change(name): array for name, array in open_checkpoint(path).items()}
    arrays.pop(None, None)
    save_checkpoint(path, arrays)


@pytest.fixture(scope="module")
def golden():
    """The golden checkpoint, converted."""
    return read(GOLDEN)


def test_the_configuration_is_translated_and_not_assumed(golden):
    assert golden.family == "bert"
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
    worst = max(np.abs(outputs[n] - OUTPUTS[n]).max() for n in outputs)
    assert worst > 20 * ATOL


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


def google_name(name):
    """Google's name for one of transformers', written down independently."""
    name = name.replace(".", "/").replace("layer/", "layer_")
    name = re.sub(r"embeddings/weight", "embeddings", name)
    name = name.replace("LayerNorm/weight", "LayerNorm/gamma")
    name = name.replace("LayerNorm/bias", "LayerNorm/beta")
    name = name.replace("seq_relationship/weight", "seq_relationship/output_weights")
    name = name.replace("seq_relationship/bias", "seq_relationship/output_bias")
    name = name.replace("predictions/bias", "predictions/output_bias")
    return name.replace("/weight", "/kernel")


@pytest.fixture
def google(tmp_path):
    """The golden checkpoint as Google's code would have written it."""
    directory = tmp_path / "google"
    directory.mkdir()
    copy(directory, "vocab.txt")
    arrays = {}
    for name, array in open_checkpoint(GOLDEN / "model.safetensors").items():
        name = google_name(name)
        arrays[name] = array.T if name.endswith("/kernel") else array
        arrays[f"{name}/adam_m"] = arrays[f"{name}/adam_v"] = np.zeros(1, "float32")
    arrays["global_step"] = np.int64(7)
    save_tensorflow(directory / "bert_model.ckpt", arrays)
    values = json.loads((GOLDEN / "config.json").read_text())
    for name in ("layer_norm_eps", "model_type", "pad_token_id"):
        del values[name]
    (directory / "bert_config.json").write_text(json.dumps(values))
    return directory


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


def test_a_missing_configuration_is_named(google):
    (google / "bert_config.json").unlink()
    with pytest.raises(FileNotFoundError, match="no `.*bert_config.json"):
        read(google)


def test_two_checkpoints_in_a_directory_need_a_choice(google):
    copy(google, "config.json", "model.safetensors")
    with pytest.raises(ValueError, match="Received: hugging_face, google in"):
        read(google)
    assert read(google, layout="google").layout == "google"
    save_tensorflow(google / "other.ckpt", {"a": np.float32(0)})
    with pytest.raises(ValueError, match="exactly one TensorFlow checkpoint"):
        read(google, layout="google")


def test_a_directory_without_a_bert_is_described(tmp_path):
    assert recognise(tmp_path) is None
    (tmp_path / "config.json").write_text('{"model_type": "roberta"}')
    (tmp_path / "model.safetensors").write_bytes(b"")
    assert recognise(tmp_path) is None
    with pytest.raises(ValueError, match=r"'model.safetensors'\], of kind 'roberta'"):
        read(tmp_path)
    with pytest.raises(ValueError, match="`layout` must be one of.*'fairseq'"):
        read(tmp_path, layout="fairseq")


@pytest.mark.parametrize(
    ("field", "value"),
    (
        ("model_type", "roberta"),
        ("position_embedding_type", "relative_key"),
        ("is_decoder", True),
        ("add_cross_attention", True),
        ("pruned_heads", {"0": [1]}),
        ("hidden_act", "mish"),
    ),
)
def test_what_bert_does_not_compute_is_refused(tmp_path, field, value):
    change_json(copy(tmp_path) / "config.json", **{field: value})
    with pytest.raises(
        ValueError, match=f"`{field}` must be.*{re.escape(repr(value))}"
    ):
        read(tmp_path, layout="hugging_face")


@pytest.mark.parametrize(
    ("theirs", "ours"),
    (
        ("gelu_new", "gelu_tanh"),
        ("gelu_pytorch_tanh", "gelu_tanh"),
        ("relu", "relu"),
        ("swish", "silu"),
    ),
)
def test_activations_are_translated(tmp_path, theirs, ours):
    change_json(copy(tmp_path) / "config.json", hidden_act=theirs)
    assert read(tmp_path).config.activation == ours
    assert read(tmp_path).head_options["activation"] == ours


def test_a_configuration_of_other_sizes_is_refused(tmp_path):
    change_json(copy(tmp_path) / "config.json", intermediate_size=13)
    with pytest.raises(
        ValueError,
        match=r"'block_0/intermediate/kernel' must be \(8, 13\); "
        r"'bert.encoder.layer.0.intermediate.dense.weight' is \(12, 8\)",
    ):
        read(tmp_path)
    change_json(tmp_path / "config.json", intermediate_size=12, num_hidden_layers=1)
    with pytest.raises(ValueError, match="left over: 'bert.encoder.layer.1.attention"):
        read(tmp_path)
    change_json(tmp_path / "config.json", num_hidden_layers=3)
    with pytest.raises(ValueError, match="missing: 'bert.encoder.layer.2.attention"):
        read(tmp_path)


def test_an_incomplete_head_is_refused(tmp_path):
    name = "cls.predictions.transform.dense.bias"
    rename(copy(tmp_path), lambda n: None if n == name else n)
    with pytest.raises(ValueError, match=f"missing: '{name}', for 'masked_lm_head"):
        read(tmp_path)


def test_a_vocabulary_of_another_size_is_refused(tmp_path):
    vocab = copy(tmp_path) / "vocab.txt"
    vocab.write_text(vocab.read_text() + "more\n")
    with pytest.raises(ValueError, match="18 tokens, 17 rows"):
        read(tmp_path)


def test_a_vocabulary_is_read_line_by_line(tmp_path):
    tokens = list(read(GOLDEN).tokenizer["vocabulary"])
    tokens[7], tokens[8] = "a\u2028b", "\u00e9"
    text = "\r\n".join(f"{token} " for token in tokens)
    (copy(tmp_path) / "vocab.txt").write_bytes(text.encode("utf-8"))
    assert read(tmp_path).tokenizer["vocabulary"] == tuple(tokens)


def test_tokenizer_json_is_read(tmp_path):
    tokens = read(GOLDEN).tokenizer["vocabulary"]
    copy(tmp_path, "config.json", "model.safetensors")
    model = {"type": "WordPiece", "vocab": {t: i for i, t in enumerate(tokens[:-1])}}
    added = [{"content": tokens[-1], "id": len(tokens) - 1}]
    values = {
        "model": model,
        "added_tokens": added,
        "normalizer": {"type": "BertNormalizer", "lowercase": False},
    }
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(values))
    assert read(tmp_path).tokenizer == {"vocabulary": tokens, "lowercase": False}
    (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": true}')
    assert read(tmp_path).tokenizer["lowercase"] is True
    change_json(tmp_path / "tokenizer_config.json", strip_accents=False)
    with pytest.raises(ValueError, match="strip accents exactly if it lower-cases"):
        read(tmp_path)
    change_json(tmp_path / "tokenizer_config.json", strip_accents=None)
    change_json(path, model={**model, "type": "BPE"})
    with pytest.raises(ValueError, match="WordPiece vocabulary.*'BPE'"):
        read(tmp_path)


def test_labels_come_in_the_order_of_the_outputs(tmp_path):
    path = copy(tmp_path)
    arrays = open_checkpoint(path / "model.safetensors").items()
    arrays = {name: array for name, array in arrays if "cls." not in name}
    kernel = np.arange(24, dtype="float32").reshape(3, 8)
    arrays |= {"classifier.weight": kernel, "classifier.bias": np.ones(3, "float32")}
    save_checkpoint(path / "model.safetensors", arrays)
    assert read(path).labels is None
    change_json(path / "config.json", id2label={"2": "c", "0": "a", "1": "b"})
    converted = read(path)
    assert converted.heads == ("classifier",)
    assert converted.labels == ("a", "b", "c")
    np.testing.assert_array_equal(converted.weights["classifier/kernel"], kernel.T)
    change_json(path / "config.json", id2label={"0": "a", "1": "b"})
    with pytest.raises(
        ValueError, match="`id2label` must name every output.*3 outputs"
    ):
        read(path)
