"""Options of a generation: their ranges, numpy's numbers, and inputs of a graph."""

import dataclasses
import math

import numpy as np
import pytest
import tensorflow as tf

from zoo.generation import GenerationOptions, generate

SIZE, END = 7, 2
OTHERS = {*range(SIZE)} - {END}
NAN, INF = float("nan"), float("inf")
INTEGERS = (
    *("max_new_tokens", "extra_tokens", "min_new_tokens", "num_beams", "num_return"),
    *("top_k", "no_repeat_ngram_size", "first_token", "last_token", "seed"),
)
NUMBERS = ("temperature", "top_p", "repetition_penalty", "length_penalty")
# What no integer option and no number option takes.
NO_INTEGERS = (1.5, 5.0, "8", [1], True, np.True_, NAN, np.float32(2), 2**70, -(10**9))
NO_NUMBERS = ("0.5", [0.5], True, NAN, INF, -INF, 1j, np.ones(2), -1e300, 1e300)
WRONG = [
    *((name, value) for name in INTEGERS for value in NO_INTEGERS),
    *((name, value) for name in NUMBERS for value in NO_NUMBERS),
    *((name, None) for name in ("seed", "repetition_penalty", "max_new_tokens")),
    *((name, 10**6) for name in ("num_beams", "num_return", "max_new_tokens")),
    ("seed", -1),
    ("max_new_tokens", 0),
    ("top_k", 0),
    ("top_p", 1.5),
    ("temperature", 0),
    ("length_penalty", 100),
    ("no_repeat_ngram_size", 101),
    *(("stop", value) for value in (5, [5], "", ["a", ""], ["\ud800"], {"a": 1}, b"a")),
    *(("suppressed", v) for v in (5, "a", ["a"], [1.5], [-1], [None], {1: 2}, [True])),
    *(("penalty", value) for value in ("x", None, 1, ["gnmt"])),
    *(("renormalize", value) for value in (1, "yes", None)),
]


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_wrong_values_raise_errors_that_name_the_option(name, value):
    with pytest.raises(ValueError, match=rf"`{name}` must .*Received: "):
        GenerationOptions(**{name: value})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_beams": 0}, "`num_beams` must be an integer from 1 to 1,000. Rec.*: 0"),
        ({"top_p": 0}, r"`top_p` must be a number in \(0, 1\]"),
        ({"temperature": 0}, "`temperature` must be a positive number"),
        ({"min_new_tokens": 9, "max_new_tokens": 8}, "`min_new_tokens` must be in"),
        ({"num_beams": 2, "top_k": 3}, "Sampling and beam search"),
        ({"num_return": 2}, "`num_return` must be at most `num_beams`"),
        ({"penalty": "x"}, "`penalty` must be one of 'gnmt'"),
        ({"length_penalty": None}, "`length_penalty` must be a number"),
    ],
)
def test_wrong_values_and_combinations_have_these_messages(options, message):
    with pytest.raises(ValueError, match=message):
        GenerationOptions(**options)


def test_numbers_of_numpy_are_numbers():
    given = {
        "temperature": np.float32(0.5),
        "top_k": np.int64(5),
        "top_p": np.float16(0.5),
        "max_new_tokens": np.uint8(9),
        "repetition_penalty": np.float64(1.5),
        "seed": np.int32(8),
        "renormalize": np.False_,
    }
    found = GenerationOptions(**given, suppressed=np.array([3, 4]))
    expected = {name: value.item() for name, value in given.items()}
    assert found == GenerationOptions(**expected, suppressed=(3, 4))
    plain = {type(value) for value in dataclasses.asdict(found).values()}
    assert plain <= {int, float, bool, str, tuple, type(None)}
    assert GenerationOptions(stop=None, suppressed=None) == GenerationOptions()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"first_token": SIZE}, "`first_token` must be tokens.* 0 to 6. Received: 7"),
        ({"last_token": 10**6}, "`last_token` must be tokens"),
        ({"suppressed": [1, 10**9]}, "`suppressed` must be tokens"),
        ({"suppressed": range(SIZE)}, "`suppressed` must leave a token"),
        (
            {"suppressed": OTHERS, "min_new_tokens": 2},
            "end, because of `min_new_tokens`",
        ),
    ],
)
def test_tokens_must_be_tokens_of_the_model(options, message):
    with pytest.raises(ValueError, match=message):
        GenerationOptions(**options).check_tokens(SIZE, END)


def step(tokens, states):
    """Logits that depend on the last token and on the place, if that moves."""
    rows = tf.cast(tokens, tf.float32) * 1.7 + states["place"]
    logits = 4 * tf.sin(rows + 2.3 * tf.range(SIZE, dtype=tf.float32))
    return logits, {**states, "place": states["place"] + states["moves"]}


def run(options, numbers=None, rows=3, moves=0.37):
    """Tokens and scores of a generation by `step`."""
    several = options.num_beams if options.searches else options.num_return
    start = tf.repeat(tf.range(rows, dtype=tf.int32), several)
    place = tf.zeros((tf.size(start), 1))
    states = {"place": place, "moves": place + moves}
    return generate(step, states, start, options, END, False, numbers=numbers)


NUMBERS_IN_01 = np.random.default_rng(1).random((3, 8)).astype("float32")
CASES = [
    {},
    {"temperature": 4.0},
    {"temperature": 4.0, "top_k": 3},
    {"top_p": 0.9, "suppressed": (4,)},
    {"repetition_penalty": 1.8, "min_new_tokens": 5},
    {"no_repeat_ngram_size": 2, "min_new_tokens": 8, "first_token": 5},
    {"suppressed": (1, 5), "last_token": 5},
    {"num_beams": 2},
    {"num_beams": 3, "num_return": 2, "no_repeat_ngram_size": 1, "min_new_tokens": 4},
    {"num_beams": 4, "length_penalty": -1.5, "renormalize": True, "suppressed": (3,)},
]


def test_one_graph_serves_all_options_of_a_structure():
    traced = {}

    def compiled(options):
        structure, values = options.structure(), options.inputs(SIZE)
        if structure not in traced:
            traced[structure] = tf.function(
                lambda values, numbers: run(structure.with_inputs(values), numbers),
                autograph=False,
            )
        values = {name: tf.constant(value) for name, value in values.items()}
        return traced[structure](values, tf.constant(NUMBERS_IN_01))

    different = set()
    for case in CASES:
        options = GenerationOptions(max_new_tokens=8, **case)
        tokens, scores = run(options, NUMBERS_IN_01)
        found_tokens, found_scores = compiled(options)
        np.testing.assert_array_equal(tokens, found_tokens)
        np.testing.assert_allclose(scores, found_scores, rtol=1e-5)
        different.add(tokens.numpy().tobytes())
    assert len(different) >= 8
    assert len(traced) == 2
    assert all(f.experimental_get_tracing_count() == 1 for f in traced.values())


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("more", [{}, {"num_beams": 3}], ids=["greedy", "beams"])
def test_no_tokens_are_repeated_in_their_order(size, more):
    count = SIZE - 1 if size == 1 else 12
    limits = {"max_new_tokens": count, "min_new_tokens": count, "last_token": END}
    options = GenerationOptions(**limits, **more)
    plain, _ = run(options, moves=0.0)
    options = dataclasses.replace(options, no_repeat_ngram_size=size)
    tokens, _ = run(options, moves=0.0)
    assert plain.numpy().tolist() != tokens.numpy().tolist()
    for row in tokens.numpy()[:, 0].tolist():
        parts = [tuple(row[i : i + size]) for i in range(len(row) - size + 1)]
        assert len({*parts}) == len(parts)


@pytest.mark.parametrize(
    "options",
    [{"temperature": value} for value in (1e-9, 1e-39, 1e-300, math.ulp(0.0))]
    + [{"top_p": value} for value in (1e-9, 1e-50, math.ulp(0.0))]
    + [{"top_k": 1}, {"top_k": 1, "temperature": 3e38}],
)
def test_samples_at_the_limit_are_the_most_probable_tokens(options):
    most_probable, _ = run(GenerationOptions(max_new_tokens=8))
    tokens, scores = run(GenerationOptions(max_new_tokens=8, **options), NUMBERS_IN_01)
    np.testing.assert_array_equal(tokens, most_probable)
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("penalty", [1e-300, 1e-39, 3e38])
@pytest.mark.parametrize("more", [{}, {"num_beams": 2}, {"temperature": 1.0}])
def test_extreme_penalties_give_numbers(penalty, more):
    given = {"max_new_tokens": 5, "repetition_penalty": penalty, "suppressed": [4]}
    tokens, scores = run(GenerationOptions(**given, **more), NUMBERS_IN_01)
    assert not (tokens == 4).numpy().any() and np.isfinite(scores).all()


def test_a_forced_token_may_be_suppressed():
    limits = {"max_new_tokens": 4, "min_new_tokens": 4}
    forced = {"first_token": 6, "last_token": 5, "suppressed": (5, 6)}
    for rule in ("hugging_face", "gnmt"):
        options = GenerationOptions(**limits, **forced, penalty=rule)
        tokens = run(options)[0].numpy()[:, 0]
        assert {*tokens[:, 0]} == {6} and {*tokens[:, -1]} == {5}
        assert not np.isin(tokens[:, 1:-1], (5, 6)).any()
