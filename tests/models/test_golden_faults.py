"""Faults in options, rows and kernels that the goldens of BERT and GPT find."""

import dataclasses

import bert_golden
import gpt_golden
import numpy as np
import pytest
from foreign_files import ATOL

pytestmark = pytest.mark.slow
CONVERTED = {"bert": bert_golden.CONVERTED, **gpt_golden.CONVERTED}
FAULTS = (
    ("bert", "activation", "gelu_tanh"),
    ("bert", "layer_norm_epsilon", 1e-12),
    ("bert", "num_heads", 2),
    *(("gpt1", name, value) for name, value in gpt_golden.FAULTS.items()),
    *(("gpt2", name, value) for name, value in gpt_golden.FAULTS.items()),
)
SWAPPED = (
    ("block_0/attention/query/kernel", "block_0/attention/key/kernel"),
    ("block_0/attention/key/kernel", "block_0/attention/value/kernel"),
    ("block_1/attention/query/bias", "block_1/attention/value/bias"),
    ("block_0/attention_layer_norm/gamma", "block_0/output_layer_norm/gamma"),
    ("block_1/attention_layer_norm/beta", "block_1/output_layer_norm/beta"),
    ("block_0/intermediate/kernel", "block_1/intermediate/kernel"),
)
ARRAYS = [(name, path) for name, y in CONVERTED.items() for path in y.weights]


def difference(name, weights=None, **fields):
    """The largest difference from the golden outputs of a changed model."""
    golden = CONVERTED[name]
    config = dataclasses.replace(golden.config, **fields)
    found = dataclasses.replace(
        golden,
        config=config,
        weights={**golden.weights, **(weights or {})},
        head_options={k: getattr(config, k) for k in golden.head_options},
    )
    if name == "bert":
        return bert_golden.difference(found)
    return gpt_golden.difference(found, name, ("layer_outputs", "logits"))


@pytest.mark.parametrize(("name", "field", "value"), FAULTS)
def test_the_goldens_catch_wrong_options(name, field, value):
    assert difference(name, **{field: value}) > 20 * ATOL


@pytest.mark.parametrize("name", CONVERTED)
@pytest.mark.parametrize("pair", SWAPPED)
def test_the_goldens_catch_swapped_rows(name, pair):
    weights = CONVERTED[name].weights
    swapped = {pair[0]: weights[pair[1]], pair[1]: weights[pair[0]]}
    assert difference(name, swapped) > 20 * ATOL


@pytest.mark.parametrize(("name", "path"), ARRAYS)
def test_the_goldens_catch_a_missing_array_and_a_transpose(name, path):
    array = CONVERTED[name].weights[path]
    wrong = [np.ones_like(array) if path.endswith("gamma") else np.zeros_like(array)]
    if array.ndim > 1 and array.T.shape == array.shape:
        wrong.append(array.T)
    for changed in wrong:
        found = difference(name, {path: changed})
        if path.endswith("key/bias"):  # `test_loads_what_is_stored` finds it
            assert found < ATOL
        else:
            assert found > 20 * ATOL


def test_the_golden_catches_swapped_segments():
    name = "segment_embedding/embeddings"
    table = CONVERTED["bert"].weights[name]
    assert difference("bert", {name: table[[1, 0, 2]]}) > 20 * ATOL


@pytest.mark.parametrize("name", ["gpt1", "gpt2"])
def test_the_goldens_catch_the_other_order_of_norms(name):
    config, weights = CONVERTED[name].config, CONVERTED[name].weights
    config = dataclasses.replace(config, norm_first=not config.norm_first)
    weights = {k: v for k, v in weights.items() if not k.startswith("layer_norm/")}
    if config.norm_first:
        weights |= {"layer_norm/gamma": np.ones(8), "layer_norm/beta": np.zeros(8)}
    wrong = dataclasses.replace(CONVERTED[name], config=config, weights=weights)
    names = ("layer_outputs", "logits")
    assert gpt_golden.difference(wrong, name, names) > 20 * ATOL
