"""Greedy search, samples and beams on a model that is a table of probabilities."""

import itertools

import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from zoo.generation import GenerationOptions, beam_search, generate, keep_probable
from zoo.generation.scores import LOWEST_SCORE, adjust_scores, top_scores

END, SIZE, LONGEST = 1, 6, 5
RNG = np.random.default_rng(5)
TABLE = RNG.normal(size=(SIZE, SIZE)).astype("float32") * 1.5
START = np.array([2, 3, 4, 5, 2, 0], "int32")
PENALTIES = ("gnmt", "fairseq", "hugging_face", "ctranslate2")
SOME_PENALTIES = (
    *PENALTIES[:2],
    *(pytest.param(p, marks=pytest.mark.slow) for p in PENALTIES[2:]),
)


def step(tokens, states):
    """The next token depends on the last one only."""
    logits = ops.take(ops.convert_to_tensor(TABLE), tokens[:, -1], axis=0)
    return logits, {**states, "count": states["count"] + 1}


def run(start=START, compact=True, graph=False, limits=None, **options):
    """Tokens and scores of rows, as numpy."""
    options = GenerationOptions(**{"max_new_tokens": LONGEST, **options})
    repeats = options.num_return if options.samples else options.num_beams

    def call(start, *limits):
        rows = ops.repeat(start, repeats)
        states = {"count": ops.zeros_like(rows), "source": {"rows": start}}
        return generate(step, states, rows, options, END, compact, *limits)

    given = [start] if limits is None else [start, limits]
    if graph:
        spec = [tf.TensorSpec((None,), tf.int32)] * len(given)
        call = tf.function(call, input_signature=spec)
    return [np.asarray(x) for x in call(*map(tf.constant, given))]


def log_probabilities():
    """The table as float64 log-probabilities."""
    table = TABLE.astype("float64")
    return table - np.log(np.exp(table).sum(-1, keepdims=True))


def every_sequence(start, cut):
    """All sequences that end within the limit, with their log-probabilities.

    Args:
        start: int.
        cut: bool, whether those that the limit cuts off are included.
    """
    table, found = log_probabilities(), {}
    others = [t for t in range(SIZE) if t != END]
    bodies = [
        (*body, END)
        for length in range(LONGEST)
        for body in itertools.product(others, repeat=length)
    ]
    if cut:
        bodies += itertools.product(others, repeat=LONGEST)
    for body in bodies:
        row = (start, *body)
        found[body] = sum(table[a, b] for a, b in zip(row, body, strict=False))
    return found


def trimmed(row):
    """A row up to its first end."""
    row = row.tolist()
    return tuple(row[: row.index(END) + 1] if END in row else row)


def test_greedy_takes_the_most_probable_token():
    tokens, scores = run(graph=True)
    assert tokens.shape == (len(START), 1, LONGEST)
    table = log_probabilities()
    for start, row, score in zip(START, tokens[:, 0], scores[:, 0], strict=True):
        last, expected, total = start, [], 0.0
        while len(expected) < LONGEST and last != END:
            total += table[last].max()
            last = int(table[last].argmax())
            expected.append(last)
        assert trimmed(row) == tuple(expected)
        assert (row[len(expected) :] == END).all()
        np.testing.assert_allclose(score, total, atol=1e-5)


@pytest.mark.shown("gnmt", "fairseq")
@pytest.mark.parametrize(
    "penalty",
    (*PENALTIES[:3], pytest.param("ctranslate2", marks=pytest.mark.slow)),
)
def test_a_wide_beam_finds_the_best_sequences(penalty):
    alpha = {"gnmt": 0.6}.get(penalty, 1.0)
    options = {"num_beams": 200, "num_return": 3, "length_penalty": alpha}
    graph = penalty == "gnmt"
    tokens, scores = run(START[:3], graph=graph, penalty=penalty, **options)
    for start, rows, row_scores in zip(START, tokens, scores, strict=False):
        found = {}
        cut = penalty in ("hugging_face", "ctranslate2")
        for row, value in every_sequence(start, cut).items():
            size = len(row)
            scale = ((5 + size) / 6) ** alpha if penalty == "gnmt" else size**alpha
            found[row] = value / scale
        rows = [trimmed(row) for row in rows]
        if penalty == "fairseq":  # it keeps what ends first
            assert rows[0] in found
        else:
            assert rows == sorted(found, key=found.get, reverse=True)[:3]
        np.testing.assert_allclose(row_scores, [found[row] for row in rows], atol=1e-5)


@pytest.mark.shown("1-fairseq")
@pytest.mark.parametrize("penalty", SOME_PENALTIES)
@pytest.mark.parametrize("beams", [1, 3])
def test_a_row_does_not_depend_on_the_others(penalty, beams):
    options = {"num_beams": beams, "penalty": penalty, "num_return": beams}
    tokens, scores = run(graph=True, **options)
    order = np.array([3, 1, 5, 0, 4, 2])
    for change in (order, [2], [5, 0]):
        again, others = run(START[change], graph=True, **options)
        np.testing.assert_array_equal(again, tokens[change])
        np.testing.assert_array_equal(others, scores[change])
    for other in ({"compact": False, "graph": True}, {"graph": False}):
        again, others = run(**options, **other)
        np.testing.assert_array_equal(again, tokens)
        np.testing.assert_allclose(others, scores, atol=1e-6)


def test_one_beam_is_greedy():
    tokens, _ = run()
    options = GenerationOptions(max_new_tokens=LONGEST)
    states = {"count": tf.zeros_like(START)}
    found, _ = beam_search(step, states, tf.constant(START), options, END, False)
    np.testing.assert_array_equal(found, tokens)


def test_samples_follow_the_probabilities_and_the_seed():
    start = np.full(4000, 2, "int32")
    tokens, scores = run(start, temperature=1.0, max_new_tokens=1, seed=3)
    again, _ = run(start, temperature=1.0, max_new_tokens=1, seed=3)
    other, _ = run(start, temperature=1.0, max_new_tokens=1, seed=4)
    np.testing.assert_array_equal(tokens, again)
    assert (tokens != other).any()
    shares = np.bincount(tokens[:, 0, 0], minlength=SIZE) / len(start)
    np.testing.assert_allclose(shares, np.exp(log_probabilities()[2]), atol=0.03)
    expected = log_probabilities()[2][tokens[:, 0, 0]]
    np.testing.assert_allclose(scores[:, 0], expected, atol=1e-5)
    few, _ = run(start, top_k=2, max_new_tokens=1)
    assert {*few.ravel()} == {*np.argsort(TABLE[2])[-2:]}


def test_top_p_keeps_the_token_that_reaches_it():
    logits = np.log(np.array([[0.5, 0.3, 0.15, 0.05]], "float32"))
    for share, kept in ((0.4, 1), (0.5, 1), (0.6, 2), (0.8, 2), (0.81, 3), (1.0, 4)):
        found = np.asarray(keep_probable(tf.constant(logits), top_p=share))
        assert (found > LOWEST_SCORE).sum() == kept, share


def test_limits_of_a_generation():
    tokens, _ = run(min_new_tokens=4)
    assert all(len(trimmed(row)) >= 4 for row in tokens[:, 0])
    tokens, _ = run(first_token=3)
    assert (tokens[:, 0, 0] == 3).all()
    tokens, _ = run(last_token=END, suppressed=(0, 2))
    assert not np.isin(tokens, (0, 2)).any() and (tokens[..., -1] == END).all()


@pytest.mark.shown("None-forced", "gnmt-endless", "fairseq-endless")
@pytest.mark.parametrize(
    "end", [{"last_token": 4}, {"suppressed": (END,)}], ids=["forced", "endless"]
)
@pytest.mark.parametrize("penalty", (None, *SOME_PENALTIES))
def test_a_row_has_its_own_limit(penalty, end):
    beams = {"num_beams": 3, "num_return": 2, "penalty": penalty, "length_penalty": 0.6}
    options = {**(beams if penalty else {}), **end}
    limits = np.array([1, 5, 2, 3, 4, 9], "int32")  # 9 is more than `max_new_tokens`
    whole = [
        run(limits=limits, compact=compact, **options) for compact in (True, False)
    ]
    for row, limit in enumerate(np.minimum(limits, LONGEST).tolist()):
        alone, score = run(START[row : row + 1], max_new_tokens=limit, **options)
        for tokens, scores in whole:
            np.testing.assert_array_equal(tokens[row, :, :limit], alone[0])
            assert tokens.shape[-1] == LONGEST and (tokens[row, :, limit:] == END).all()
            np.testing.assert_allclose(scores[row], score[0], rtol=1e-6)


def adjusted(scores, count, tokens=((0, 0, 0),), end=END, last=False, **options):
    """The scores after some tokens, with the options of a generation."""
    place, rows = tf.constant(count), tf.fill((len(tokens),), last)
    options = GenerationOptions(**options)
    return adjust_scores(scores, tf.constant(tokens), place, options, end, rows)


@pytest.mark.parametrize(("penalty", "cost"), [("hugging_face", 0.0), ("gnmt", None)])
def test_a_forced_token_costs_nothing_with_hugging_face(penalty, cost):
    scores = tf.constant([[-2.0, -1.0, -3.0, -4.0]])
    options = {"max_new_tokens": 3, "last_token": 2, "penalty": penalty}
    found = adjusted(scores, 2, last=True, **options)[0]
    assert found[2] == (-3.0 if cost is None else cost)
    assert (np.delete(found, 2) == LOWEST_SCORE).all()
    np.testing.assert_array_equal(adjusted(scores, 1, **options), scores)


def test_the_probabilities_of_the_allowed_tokens_sum_to_one():
    scores = tf.math.log(tf.constant([[0.5, 0.3, 0.1, 0.1]]))
    found = np.exp(adjusted(scores, 0, suppressed=(0,), renormalize=True))
    np.testing.assert_allclose(found, [[0, 0.6, 0.2, 0.2]], atol=1e-6)


def test_a_repeated_token_is_less_probable():
    scores = tf.constant([[2.0, -1.0, 3.0, -4.0]] * 2)
    written = [[0, 1, 2], [3, 3, 0]]
    ended = [[1, 4, 4], [4, 4, 4]]  # by a token outside of the vocabulary
    for count, tokens, end, expected in (
        (0, written, END, [[2, -1, 3, -4], [2, -1, 3, -4]]),
        (2, written, END, [[1, -2, 3, -4], [2, -1, 3, -8]]),
        (3, written, END, [[1, -2, 1.5, -4], [1, -1, 3, -8]]),
        (2, ended, 4, [[2, -2, 3, -4], [2, -1, 3, -4]]),
    ):
        found = adjusted(scores, count, tokens, end, repetition_penalty=2.0)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("size", [3, 130, 1280, 2600])
def test_top_scores_are_those_of_keras(size):
    draw = np.random.default_rng(size)
    scores = draw.normal(0, 1, (50, size)).round(1).astype("float32")  # with ties
    for count in (1, 3):
        found, tokens = top_scores(scores, count)
        expected, index = ops.top_k(scores, count)
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(tokens, index)


def test_a_forbidden_end_finishes_nothing():
    options = {"num_beams": 5, "num_return": 5, "penalty": "fairseq", "first_token": 3}
    tokens, scores = run(**options)
    assert (tokens[..., 0] == 3).all() and (scores > LOWEST_SCORE / 2).all()
    options = {"num_beams": 3, "penalty": "gnmt", "last_token": 4, "min_new_tokens": 5}
    tokens, scores = run(**options)
    assert (scores > LOWEST_SCORE / 2).all() and (tokens[..., -1] == 4).all()
