"""A batch that is computed in parts makes the update of the whole batch."""

import keras
import numpy as np
import pytest
import tensorflow as tf
import tiny
from tiny_tasks import make_tiny_task

import zoo

TEXTS, LABELS = tiny.make_texts(9, seed=4)
TAGS = tiny.make_tags(TEXTS)
WEIGHTS = np.array([1, 2, 0, 3, 1, 0.5, 1, 4, 1])
SLOW = pytest.mark.slow
# Of tasks with one output and with two; the weights of the parts differ.
PLAIN = {"head_dropout": 0.0}
CASES = {
    "classifier": (zoo.TextClassifier, PLAIN, LABELS, None),
    "tagger": (zoo.TokenClassifier, {"labels": tiny.TAGS, **PLAIN}, TAGS, WEIGHTS),
    "masked": (zoo.MaskedLM, {"next_sentence": True}, None, None),
    "causal": (zoo.CausalLM, {"family": "gpt"}, None, None),
}


def fitted(name, accumulate, strategy=None):
    """Weights and logs after two updates of a task without dropout."""
    kind, arguments, y, weights = CASES[name]
    with (strategy or tf.distribute.get_strategy()).scope():
        model = make_tiny_task(kind, seed=3, **arguments)
        model.compile(keras.optimizers.SGD(0.3), accumulate=accumulate)
    options = {"sample_weight": weights, "epochs": 2, "verbose": 0}
    logs = model.fit(TEXTS, y, batch_size=9, **options).history
    return [v.numpy() for v in model.weights], logs


def assert_same(ours, theirs):
    for found, wanted in zip(ours[0], theirs[0], strict=True):
        np.testing.assert_allclose(found, wanted, atol=2e-6)
    for name, values in theirs[1].items():
        np.testing.assert_allclose(ours[1][name], values, rtol=2e-6, err_msg=name)


@pytest.mark.parametrize("parts", [2, pytest.param(20, marks=SLOW)])
@pytest.mark.parametrize(
    "name", [n if n == "tagger" else pytest.param(n, marks=SLOW) for n in CASES]
)
def test_the_update_is_that_of_the_whole_batch(name, parts):
    """Also if there are more parts than rows."""
    assert_same(fitted(name, parts), fitted(name, 1))


@pytest.mark.slow
def test_replicas_accumulate(two_replicas):
    """Four rows and five of them, in parts."""
    whole = fitted("tagger", 1)
    assert_same(fitted("tagger", 3, two_replicas), whole)


@pytest.mark.parametrize("parts", [0, 1.5, "2", None, True])
def test_wrong_numbers_of_parts(parts):
    model = make_tiny_task(zoo.TextClassifier, labels=tiny.LABELS)
    with pytest.raises(ValueError, match="accumulate"):
        model.compile("sgd", accumulate=parts)


def test_losses_of_layers_are_refused():
    """They are means over a batch, such as the auxiliary loss of GPT."""
    model = make_tiny_task(zoo.TextClassifier, "gpt", head="delimiter", lm_weight=0.5)
    model.compile("sgd", accumulate=2)
    with pytest.raises(ValueError, match="must be 1 if layers add losses. Received: 2"):
        model.fit(TEXTS, LABELS, verbose=0)
