"""The chain against a sum over all paths."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from zoo.layers import CRF, crf

LENGTHS = [4, 1, 0, 3]
MASK = np.arange(4)[None] < np.array(LENGTHS)[:, None]
EMISSIONS = np.random.default_rng(0).normal(size=(4, 4, 3)).astype("float32")


def make(boundaries=True):
    layer = CRF(boundaries)
    layer.build(EMISSIONS.shape)
    draw = np.random.default_rng(1)
    for weight in layer.weights:
        weight.assign(draw.normal(size=weight.shape))
    return layer


def score(layer, row, path):
    """The score of one path by the definition."""
    transitions = layer.transitions.numpy()
    total = sum(EMISSIONS[row, t, tag] for t, tag in enumerate(path))
    total += sum(transitions[i, j] for i, j in itertools.pairwise(path))
    if layer.boundaries and path:
        total += layer.start.numpy()[path[0]] + layer.end.numpy()[path[-1]]
    return float(total)


def paths(row):
    return list(itertools.product(range(3), repeat=LENGTHS[row]))


def is_allowed(allowed, path):
    return all(allowed[pair] for pair in itertools.pairwise((3, *path, 3)))


@pytest.mark.shown("False", "True-True")
@pytest.mark.parametrize("boundaries", [True, False])
@pytest.mark.parametrize("jit", [False, True])
def test_likelihood_marginals_and_best_path_by_brute_force(jit, boundaries):
    layer = make(boundaries)

    def run():
        potentials = layer(EMISSIONS, mask=MASK)
        functions = (crf.log_partition, crf.marginals, crf.best_path)
        return [function(potentials) for function in functions]

    total, share, (best, best_score) = tf.function(run, jit_compile=jit)()
    for row, length in enumerate(LENGTHS):
        scores = np.array([score(layer, row, path) for path in paths(row)])
        whole = np.logaddexp.reduce(scores)
        np.testing.assert_allclose(total[row], whole, rtol=1e-5, atol=1e-5)
        chances = np.exp(scores - whole)
        expected = np.zeros((length, 3))
        for path, chance in zip(paths(row), chances, strict=True):
            expected[np.arange(length), path] += chance
        np.testing.assert_allclose(share[row, :length], expected, atol=1e-5)
        assert tuple(best[row, :length].numpy()) == paths(row)[np.argmax(scores)]
        np.testing.assert_allclose(best_score[row], scores.max(), atol=1e-5)


def test_a_path_has_its_score():
    layer = make()
    tags = np.where(MASK, np.arange(16).reshape(4, 4) % 3, -1)
    found = crf.path_score(layer(EMISSIONS, mask=MASK), tags)
    for row, length in enumerate(LENGTHS):
        expected = score(layer, row, tags[row, :length].tolist())
        np.testing.assert_allclose(found[row], expected, atol=1e-5)


def test_the_gradient_is_the_difference_quotient():
    """The gradient of the likelihood, for every weight and every emission."""
    layer = make()
    tags = np.where(MASK, np.arange(16).reshape(4, 4) % 3, -1)
    emissions = tf.Variable(EMISSIONS)

    @tf.function
    def loss():
        potentials = layer(emissions, mask=MASK)
        gold = crf.path_score(potentials, tags)
        return tf.reduce_sum((crf.log_partition(potentials) - gold) * [1.0, 2, 3, 4])

    with tf.GradientTape() as tape:
        value = loss()
    variables = [emissions, *(weight.value for weight in layer.weights)]
    gradients = tape.gradient(value, variables)
    for variable, gradient in zip(variables, gradients, strict=True):
        start = variable.numpy()
        for place in np.ndindex(*start.shape):
            values = []
            for sign in (1, -1):
                moved = start.copy()
                moved[place] += sign * 2e-2
                variable.assign(moved)
                values.append(float(loss()))
            variable.assign(start)
            quotient = (values[0] - values[1]) / 4e-2
            np.testing.assert_allclose(gradient[place], quotient, atol=2e-3)
    assert not gradients[0].numpy()[~MASK].any()


def test_probabilities_of_a_long_text_sum_to_one():
    draw = np.random.default_rng(0)
    emissions = draw.normal(0, 8, (1, 4000, 3)).astype("float32") + 20
    potentials = make()(emissions, mask=np.ones((1, 4000), bool))
    found = tf.function(crf.marginals)(potentials).numpy().sum(axis=2)
    np.testing.assert_allclose(found, 1.0, atol=1e-5)
    half = EMISSIONS.astype("float16")
    assert CRF(dtype="mixed_bfloat16")(half).dtype == "float32"


def test_forbidden_transitions_are_never_taken():
    layer, allowed = make(), np.ones((4, 4), bool)
    allowed[0, 1] = allowed[3, 2] = allowed[1, 3] = False  # 0 to 1, first 2, last 1
    potentials = crf.forbid(layer(EMISSIONS, mask=MASK), allowed, MASK)
    best = crf.best_path(potentials)[0].numpy()
    for row, length in enumerate(LENGTHS):
        fine = [path for path in paths(row) if not path or is_allowed(allowed, path)]
        scores = [score(layer, row, path) for path in fine]
        assert tuple(best[row, :length]) == fine[np.argmax(scores)]
