"""Recomputed activations give the losses and weights of those that are kept."""

import keras
import numpy as np
import pytest
import tiny
from tiny_tasks import make_tiny_task

import zoo
from zoo.layers import recompute_layers

TEXTS, LABELS = tiny.make_texts(9, seed=4)
SLOW = pytest.mark.slow
RATES = {"dropout": 0.2, "attention_dropout": 0.3}
LSTM_RATES = {"weight_dropout": 0.3, "hidden_dropout": 0.2}
CASES = {
    "plain": {},
    "accumulated": {"accumulate": 2},
    "eager": {"run_eagerly": True},
    "compiled": {"jit_compile": True},
    "recurrent": {"family": "ulmfit", "config": LSTM_RATES},
    "gpt": {"family": "gpt", "config": {"embedding_dropout": 0.1, **RATES}},
    # Without XLA, TensorFlow rounds merged operations in bfloat16 in other places.
    "bfloat16": {"dtype": "mixed_bfloat16", "jit_compile": True},
}


def fitted(remat, family="bert", config=RATES, dtype=None, **options):
    """Weights and losses after three updates with dropout."""
    keras.utils.clear_session()
    kind = zoo.TextClassifier if family == "bert" else zoo.CausalLM
    model = make_tiny_task(kind, family, config, dtype, seed=3)
    model.compile(keras.optimizers.SGD(0.3), remat=remat, **options)
    keras.utils.set_random_seed(1)
    y = LABELS if family == "bert" else None
    logs = model.fit(TEXTS, y, batch_size=9, epochs=3, verbose=0).history
    return [keras.ops.convert_to_numpy(v) for v in model.weights], logs["loss"]


@pytest.mark.parametrize(
    "name", [n if n == "plain" else pytest.param(n, marks=SLOW) for n in CASES]
)
def test_updates_are_the_same(name):
    """Also those of the later batches: the random numbers go on as without it."""
    ours, theirs = fitted(True, **CASES[name]), fitted(False, **CASES[name])
    np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-6)
    for found, wanted in zip(ours[0], theirs[0], strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-6)


@pytest.mark.slow
def test_updates_of_replicas_are_the_same(two_replicas):
    found = []
    for remat in (True, False):
        keras.utils.clear_session()
        with two_replicas.scope():
            model = make_tiny_task(zoo.TextClassifier, config=RATES, seed=3)
            model.compile(keras.optimizers.SGD(0.3), remat=remat, accumulate=2)
        model.fit(TEXTS, LABELS, batch_size=9, epochs=2, verbose=0)
        found.append([v.numpy() for v in model.trainable_weights])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_a_model_without_blocks_is_refused():
    inputs = keras.Input((2,))
    model = keras.Model(inputs, keras.layers.Dense(1)(inputs))
    with pytest.raises(ValueError, match="`remat` needs a model with blocks, such as"):
        recompute_layers(model)


def test_remat_is_a_bool():
    model = make_tiny_task(zoo.TextClassifier)
    with pytest.raises(ValueError, match="remat"):
        model.compile(remat="yes")
