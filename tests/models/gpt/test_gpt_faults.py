"""Faults that the golden GPTs find: in options, rows and kernels."""

import dataclasses

import numpy as np
import pytest
from gpt_golden import ATOL, GOLDEN, KINDS, OUTPUTS, difference

from zoo.models.gpt import GPT, read

pytestmark = pytest.mark.slow
CONVERTED = {kind: read(GOLDEN / kind) for kind in KINDS}


@pytest.fixture
def golden():
    """Both golden checkpoints, converted."""
    return CONVERTED


FAULTS = {
    "activation": {"activation": "gelu"},
    "layer_norm_epsilon": {"layer_norm_epsilon": 1e-5},
    "num_heads": {"num_heads": 2},
}
SWAPPED = [
    ("block_0/attention/query/kernel", "block_0/attention/key/kernel"),
    ("block_0/attention/key/kernel", "block_0/attention/value/kernel"),
    ("block_1/attention/query/bias", "block_1/attention/value/bias"),
    ("block_0/attention_layer_norm/gamma", "block_0/output_layer_norm/gamma"),
    ("block_1/attention_layer_norm/beta", "block_1/output_layer_norm/beta"),
    ("block_0/intermediate/kernel", "block_1/intermediate/kernel"),
]


def assert_caught(converted, kind):
    """A fault must change an output by far more than the tolerance."""
    names = ("layer_outputs", "logits")
    assert difference(converted, OUTPUTS[kind], names) > 20 * ATOL


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fault", FAULTS)
def test_the_goldens_catch_wrong_options(golden, kind, fault):
    config = dataclasses.replace(golden[kind].config, **FAULTS[fault])
    assert_caught(dataclasses.replace(golden[kind], config=config), kind)


@pytest.mark.parametrize("kind", KINDS)
def test_the_goldens_catch_the_other_order_of_norms(golden, kind):
    config, weights = golden[kind].config, golden[kind].weights
    config = dataclasses.replace(config, norm_first=not config.norm_first)
    weights = {k: v for k, v in weights.items() if not k.startswith("layer_norm/")}
    if config.norm_first:
        weights |= {"layer_norm/gamma": np.ones(8), "layer_norm/beta": np.zeros(8)}
    wrong = dataclasses.replace(golden[kind], config=config, weights=weights)
    assert_caught(wrong, kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pair", SWAPPED)
def test_the_goldens_catch_swapped_rows(golden, kind, pair):
    weights = dict(golden[kind].weights)
    weights |= {pair[0]: weights[pair[1]], pair[1]: weights[pair[0]]}
    assert_caught(dataclasses.replace(golden[kind], weights=weights), kind)


ROWS = [
    (kind, path) for kind in KINDS for path in GPT.weight_shapes(CONVERTED[kind].config)
]


@pytest.mark.parametrize(("kind", "path"), ROWS)
def test_the_goldens_catch_a_missing_array_and_a_transpose(golden, kind, path):
    weights = golden[kind].weights
    wrong = np.ones_like if path.endswith("gamma") else np.zeros_like
    for change in (wrong, np.transpose):
        array = change(weights[path])
        if array.shape != weights[path].shape or (
            change is np.transpose and array.ndim == 1
        ):
            continue
        faulty = dataclasses.replace(golden[kind], weights={**weights, path: array})
        if path.endswith("key/bias"):  # `test_loads_what_is_stored` finds it
            assert difference(faulty, OUTPUTS[kind]) < ATOL
        else:
            assert_caught(faulty, kind)
