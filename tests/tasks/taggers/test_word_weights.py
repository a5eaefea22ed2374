"""Weights of words and of tags, in arrays and datasets, with windows."""

import keras
import numpy as np
import pytest
import tensorflow as tf
import tiny
from tiny_tasks import make_tiny_task

import zoo

TEXTS, _ = tiny.make_texts(8, seed=2, longest=10)
TAGS = tiny.make_tags(TEXTS)
WEIGHTS = [[1.0 + (i + j) % 3 for j in range(len(row))] for i, row in enumerate(TAGS)]
STRINGS = [" ".join(map(str, row)) for row in WEIGHTS]


def make(**options):
    model = make_tiny_task(zoo.TokenClassifier, labels=tiny.TAGS, seed=2, **options)
    model.compile(keras.optimizers.SGD(0.05))
    return model


@pytest.mark.parametrize("length", [32, 6], ids=["rows", "windows"])
def test_weights_of_words_are_those_of_their_losses(length):
    """A word of weight 2 counts twice, wherever it stands in the windows of a text."""
    model = make(sequence_length=length)
    x, y, weight = next(iter(model.batches(TEXTS, TAGS, WEIGHTS, batch_size=100)))
    plain = next(iter(model.batches(TEXTS, TAGS, batch_size=100)))
    np.testing.assert_array_equal(y, plain[1])
    real = y.numpy() >= 0
    assert weight.numpy()[real].sum() == sum(map(sum, WEIGHTS))
    assert not weight.numpy()[~real].any()
    losses = keras.losses.sparse_categorical_crossentropy(
        np.maximum(y, 0), model(x), from_logits=True
    )
    expected = np.average(losses, weights=weight)
    forms = [
        (TEXTS, TAGS, WEIGHTS),
        (TEXTS, TAGS, STRINGS),
        (TEXTS, TAGS, tf.ragged.constant(WEIGHTS)),
    ]
    joined = [" ".join(row) for row in TAGS]
    dataset = tf.data.Dataset.from_tensor_slices((TEXTS, joined, STRINGS)).batch(3)
    found = model.evaluate(dataset, verbose=0, return_dict=True)["loss"]
    assert found == pytest.approx(expected, rel=1e-5)
    for texts, tags, weights in forms:
        found = model.evaluate(
            texts, tags, sample_weight=weights, verbose=0, return_dict=True
        )
        assert found["loss"] == pytest.approx(expected, rel=1e-5)


FACTORS = dict(zip(tiny.TAGS, (1.0, 5.0, 0.5), strict=True))
OF_WORDS = [[FACTORS[tag] for tag in row] for row in TAGS]
OF_BOTH = [
    [a * b for a, b in zip(*rows, strict=True)]
    for rows in zip(OF_WORDS, WEIGHTS, strict=True)
]


@pytest.mark.parametrize(
    "options, weights",
    [
        ({"class_weight": FACTORS, "sample_weight": WEIGHTS}, OF_BOTH),
        pytest.param({"class_weight": FACTORS}, OF_WORDS, marks=pytest.mark.slow),
        pytest.param(
            {"class_weight": [1.0, 5.0, 0.5]}, OF_WORDS, marks=pytest.mark.slow
        ),
        pytest.param(
            {"class_weight": FACTORS, "sample_weight": [2.0] * 8},
            OF_WORDS,
            marks=pytest.mark.slow,
        ),
    ],
    ids=["with weights of words", "dict", "list", "with weights of texts"],
)
def test_class_weights_are_those_of_the_words(options, weights):
    models = make(), make()
    for model, given in zip(models, (options, {"sample_weight": weights}), strict=True):
        model.fit(TEXTS, TAGS, verbose=0, **given)
    for a, b in zip(*(m.get_weights() for m in models), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)


@pytest.mark.slow
def test_class_weights_are_balanced_and_given_to_one_batch():
    make().fit(TEXTS, TAGS, class_weight="balanced", verbose=0)
    losses = [
        model.train_on_batch(TEXTS, TAGS, class_weight=FACTORS)
        for model in (make(), make())
    ]
    assert losses[0] == losses[1]


@pytest.mark.parametrize(
    "options, message",
    [
        ({"sample_weight": WEIGHTS[:-1]}, "a row for each text|7"),
        (
            {"sample_weight": [[1.0] * 99] * 8},
            "a number for every word. Received: 99",
        ),
        ({"sample_weight": [["x"] * len(r) for r in TAGS]}, "must hold numbers"),
        ({"sample_weight": [[-1.0] * len(r) for r in TAGS]}, "at least 0"),
        ({"sample_weight": [[1.0] * len(TAGS[0]), *[3.0] * 7]}, "a list of numbers"),
        ({"class_weight": {"B-NOBODY": 2.0}}, "must hold labels of the model"),
    ],
)
def test_wrong_weights(options, message):
    with pytest.raises(ValueError, match=message):
        make().fit(TEXTS, TAGS, verbose=0, **options)


def test_a_chain_and_streams_have_no_weights_of_words():
    chain = make(decoder="crf")
    for options in ({"class_weight": "balanced"}, {"sample_weight": WEIGHTS}):
        with pytest.raises(ValueError, match='need `decoder="softmax"`'):
            chain.fit(TEXTS, TAGS, verbose=0, **options)
    joined = [" ".join(row) for row in TAGS]
    data = tf.data.Dataset.from_tensor_slices((TEXTS, joined)).batch(4)
    with pytest.raises(ValueError, match="`class_weight` of words or .* needs arrays"):
        make().fit(data, class_weight={tiny.TAGS[0]: 2.0}, verbose=0)
