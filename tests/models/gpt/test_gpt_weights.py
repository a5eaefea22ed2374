"""GPT-1 and GPT-2 in published layouts, judged by transformers' outputs."""

import dataclasses

import numpy as np
import pytest
from foreign_files import (
    ATOL,
    assert_equal,
    change_arrays,
    change_json,
    write_json,
)
from gpt_golden import CONVERTED, KINDS, compute, copy, difference, stored
from torch_pickles import write_state

from zoo.checkpoint import Row, convert, revert, save_checkpoint
from zoo.models.gpt import read


@pytest.mark.parametrize("kind", KINDS)
def test_computes_what_transformers_computes(kind):
    golden = CONVERTED[kind]
    assert golden.layout == "hugging_face" and golden.heads == ("lm_head",)
    config = golden.config
    # What the outputs do not show.
    rates = config.dropout, config.embedding_dropout, config.attention_dropout
    assert rates == (0.05, 0.15, 0.25) and config.initializer_range == 0.03
    assert difference(golden, kind) < ATOL


@pytest.mark.parametrize("kind", KINDS)
def test_loads_what_is_stored(kind):
    """A key's bias cancels in the softmax: no output tells where it went."""
    arrays, weights = stored(kind), CONVERTED[kind].weights
    begin = "transformer.h.1."
    for leaf, end in (("weight", "kernel"), ("bias", "bias")):
        fused = arrays[f"{begin}attn.c_attn.{leaf}"]
        for i, name in enumerate(("query", "key", "value")):
            part = fused[..., 8 * i : 8 * (i + 1)]
            ours = weights[f"block_1/attention/{name}/{end}"]
            np.testing.assert_array_equal(ours, part)
    for path, name in (
        ("attention/output_projection/bias", "attn.c_proj.bias"),
        ("intermediate/kernel", "mlp.c_fc.weight"),
        ("attention_layer_norm/gamma", "ln_1.weight"),
        ("output_layer_norm/beta", "ln_2.bias"),
    ):
        np.testing.assert_array_equal(weights[f"block_1/{path}"], arrays[begin + name])
    assert sum(a.size for a in arrays.values()) == sum(a.size for a in weights.values())


def bare(arrays):
    """As a model without a head has them; earlier versions stored masks."""
    found = {k.removeprefix("transformer."): v for k, v in arrays.items()}
    masks = {"bias": np.ones((1, 1, 9, 9)), "masked_bias": np.float32(-1e4)}
    more = {f"h.{i}.attn.{k}": np.asarray(v) for i in (0, 1) for k, v in masks.items()}
    return {**found, **more}


@pytest.mark.parametrize("kind", KINDS)
def test_names_without_prefix_and_a_tied_copy(kind, tmp_path):
    arrays, table = bare(stored(kind)), {"gpt1": "tokens_embed", "gpt2": "wte"}[kind]
    directory = copy(kind, tmp_path, "config.json")
    arrays["lm_head.weight"] = arrays[f"{table}.weight"]
    write_state(directory / "pytorch_model.bin", arrays, legacy=kind == "gpt1")
    converted = read(directory)
    assert converted.tokenizer is None and converted.heads == ("lm_head",)
    assert_equal(converted.weights, CONVERTED[kind].weights)
    arrays["lm_head.weight"] = arrays["lm_head.weight"] + 1
    write_state(directory / "pytorch_model.bin", arrays)
    with pytest.raises(ValueError, match="different values: 'lm_head.weight'"):
        read(directory)
    change_json(directory / "config.json", tie_word_embeddings=False)
    with pytest.raises(ValueError, match="`tie_word_embeddings` must be True.*False"):
        read(directory)
    del arrays["lm_head.weight"]
    write_state(directory / "pytorch_model.bin", arrays)
    assert read(directory).heads == ()


def test_shards_and_half_precision(tmp_path):
    directory, names = copy("gpt2", tmp_path, "config.json"), {}
    arrays = {k: v.astype("float16") for k, v in stored("gpt2").items()}
    for i in range(2):
        shard = f"model-0000{i + 1}-of-00002.safetensors"
        part = dict(list(arrays.items())[i::2])
        save_checkpoint(directory / shard, part)
        names |= dict.fromkeys(part, shard)
    write_json(directory / "model.safetensors.index.json", weight_map=names)
    for path, array in read(directory).weights.items():
        assert array.dtype == "float32"
        np.testing.assert_allclose(array, CONVERTED["gpt2"].weights[path], rtol=1e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_a_backbone_without_a_head(kind, tmp_path):
    directory = copy(kind, tmp_path)
    name = {"gpt1": "OpenAIGPTModel", "gpt2": "GPT2Model"}[kind]
    change_json(directory / "config.json", architectures=[name])
    assert read(directory).heads == ()


@pytest.mark.parametrize(
    ("kind", "changes", "fields"),
    [
        ("gpt2", {"reorder_and_upcast_attn": True}, {}),
        ("gpt2", {"resid_pdrop": 0}, {"dropout": 0}),
        ("gpt1", {"n_inner": 7}, {}),
    ],
)
def test_options_that_are_known(kind, changes, fields, tmp_path):
    directory = copy(kind, tmp_path)
    change_json(directory / "config.json", **changes)
    assert read(directory).config == dataclasses.replace(
        CONVERTED[kind].config, **fields
    )


@pytest.mark.parametrize(
    "name", ["score.weight", "classifier.bias", "multiple_choice_head.summary.weight"]
)
def test_other_heads_are_refused(name, tmp_path):
    directory = copy("gpt2", tmp_path)
    change_arrays(directory, lambda arrays: {**arrays, name: np.ones((2, 8), "f")})
    with pytest.raises(ValueError, match=f"Received: {name} of the head of.*train a"):
        read(directory)


def test_thirds_are_split_and_joined_again():
    stored = {"w": np.arange(12.0).reshape(2, 6), "b": np.arange(6.0)}
    operations = {"q": "first_third", "k": "second_third", "v": "last_third"}
    rows = [Row(p + n, n, o) for n in "wb" for p, o in operations.items()]
    expected = {p + n: (2, 2) if n == "w" else (2,) for n in "wb" for p in "qkv"}
    arrays = convert(stored, rows, expected)
    np.testing.assert_array_equal(arrays["kw"], [[2, 3], [8, 9]])
    np.testing.assert_array_equal(arrays["vb"], [4, 5])
    for order in (rows, rows[::-1]):
        back = revert(arrays, order)
        assert {*back} == {*stored}
        for name, array in stored.items():
            np.testing.assert_array_equal(back[name], array)
    for wrong in (stored["w"].T, np.ones((2, 7))):
        with pytest.raises(ValueError, match=r"'w' is .*, which 'first_third' makes"):
            convert({**stored, "w": wrong}, rows, expected)


@pytest.mark.external
def test_computes_the_logits_of_the_tiny_gpt2_of_onnx(shared, tmp_path):
    """Its file shares one array among all biases, and one among all gains."""
    onnx = pytest.importorskip("onnx")
    directory = shared / "oracles" / "tiny_gpt2"
    graph = onnx.load(directory / "tiny_gpt2_beamsearch.onnx").graph
    inner = [a.g for a in graph.node[0].attribute if a.name == "decoder"]
    arrays = {
        item.name: onnx.numpy_helper.to_array(item)
        for part in (graph, *inner)
        for item in part.initializer
    }
    head = arrays.pop("onnx::MatMul_1438").T
    arrays["lm_head.weight"] = np.ascontiguousarray(head)
    sizes = {"attn.c_attn": 96, "attn.c_proj": 32, "mlp.c_fc": 128, "mlp.c_proj": 32}
    for i in range(5):
        for module, size in {**sizes, "ln_1": 32, "ln_2": 32}.items():
            name = f"transformer.h.{i}.{module}"
            if module.startswith("ln_"):
                arrays.setdefault(f"{name}.weight", np.ones(size, "float32"))
            arrays.setdefault(f"{name}.bias", np.zeros(size, "float32"))
    arrays["transformer.ln_f.weight"] = np.ones(32, "float32")
    arrays["transformer.ln_f.bias"] = np.zeros(32, "float32")
    sizes = {"vocab_size": 1000, "n_positions": 512, "n_embd": 32, "n_layer": 5}
    write_json(tmp_path / "config.json", model_type="gpt2", n_head=4, **sizes)
    save_checkpoint(tmp_path / "model.safetensors", arrays)
    expected = np.load(directory / "tiny_gpt2_logits.npz")
    ids = expected["input_ids"]
    inputs = {"token_ids": ids, "padding_mask": np.ones_like(ids)}
    found = compute(read(tmp_path), inputs)
    np.testing.assert_allclose(found["logits"], expected["logits"], 0, 1e-6)
