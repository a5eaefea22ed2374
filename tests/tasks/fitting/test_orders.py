"""The order of batches: no call of `fit` repeats that of another one."""

import light_fits as fits
import pytest
import tensorflow as tf
import tiny
from light_fits import EAGER, NUMBERS, RATE, SIZE, TEXTS, Seen, make
from tiny_gpt import tiny_byte_tokenizer

from zoo.registry import build_backbone
from zoo.tasks import CausalLM


def orders(model, calls, *data, **options):
    """The labels of all batches of some calls of `fit`, a list for each call."""
    seen, found = Seen(model), []
    for call in calls:
        seen.batches = []
        model.fit(*data, verbose=0, **{"batch_size": SIZE, **options, **call})
        found.append(seen.labels)
    return found


BUDGET = {"token_budget": 60, "batch_size": None}


@pytest.mark.parametrize(
    "options",
    [{}, {"steps_per_epoch": 2}, pytest.param(BUDGET, marks=pytest.mark.slow)],
)
def test_repeated_calls_go_on_shuffling(options, tokenizer):
    model, whole = make(tokenizer), make(tokenizer)
    found = orders(model, [{"epochs": 1}] * 3, TEXTS, NUMBERS, **options)
    (expected,) = orders(whole, [{"epochs": 3}], TEXTS, NUMBERS, **options)
    assert len({str(order) for order in found}) == 3
    assert sum(found, []) == expected
    other = make(tokenizer)
    (order,) = orders(other, [{"epochs": 1, "seed": 1}], TEXTS, NUMBERS, **options)
    assert order != found[0]


def test_calls_that_end_within_an_epoch_go_on_shuffling(tokenizer):
    options = {"callbacks": [fits.StopAfter(2)]}
    found = orders(make(tokenizer), [{}] * 4, TEXTS, NUMBERS, **options)
    assert len({str(order) for order in found}) == 4


def test_a_py_dataset_is_shuffled_by_the_seed(tokenizer):
    def run(calls, **options):
        model = make(tokenizer)
        seen = Seen(model)
        for epochs in calls:
            data = fits.Batches(fits.pairs(TEXTS, NUMBERS, SIZE))
            model.fit(data, epochs=epochs, verbose=0, **options)
        found = [seen.labels[i : i + 3] for i in range(0, 9, 3)]
        assert all(sorted(epoch) == sorted(found[0]) for epoch in found)
        return [*map(str, found)]

    found = run([1, 1, 1])
    assert found == run([3]) != run([3], seed=1)
    assert len({*found}) > 1
    assert len({*run([3], shuffle=False)}) == 1


def tokens_of_calls(model, calls, data, **options):
    """The tokens of all batches of some calls of `fit`."""
    seen = Seen(model)
    for epochs in calls:
        model.fit(data, epochs=epochs, verbose=0, **options)
    return seen.tokens


@pytest.mark.parametrize("kind", ["list", "dataset", "unknown"])
def test_masks_of_repeated_calls_differ(kind, make_task):
    data, options = TEXTS, {"batch_size": 24, "shuffle": False}
    if kind != "list":
        data, options = tf.data.Dataset.from_tensor_slices(TEXTS).batch(24), {}
    if kind == "unknown":
        data = data.filter(lambda x: True)
    found, whole = (
        tokens_of_calls(make_task("masked_lm", compile=EAGER), calls, data, **options)
        for calls in ([1, 1, 1], [3])
    )
    assert found == whole and found[0] != found[1] != found[2] != found[0]


@pytest.mark.parametrize("kind", ["rows", "packing"])
def test_streams_and_packed_rows_of_repeated_calls_differ(kind, tokenizer):
    options, family, config = {"rows": 2, "jitter": True}, "ulmfit", tiny.ULMFIT_CONFIG
    if kind == "packing":
        options, family, config = {"packing": "streams"}, "gpt", tiny.GPT_CONFIG
        tokenizer = tiny_byte_tokenizer()
    backbone = build_backbone(family, {**config, "num_layers": 1})
    found = []
    for calls in ([1, 1], [2]):
        model = CausalLM(backbone, tokenizer, **options)
        model.compile(learning_rate=RATE, **EAGER)
        found.append(tokens_of_calls(model, calls, TEXTS))
    half = len(found[0]) // 2
    assert found[0] == found[1] and found[0][:half] != found[0][half:]
