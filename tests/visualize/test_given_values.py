"""What a picture or a page is made from is shown, or an error says what is wrong."""

import inspect
import types

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from matplotlib.figure import Figure  # noqa: E402

from zoo import visualize  # noqa: E402
from zoo.training import RateCurve  # noqa: E402

NAN = float("nan")
ATTENTION = visualize.Attention(np.full((1, 1, 2, 2), 0.5), ["a", "b"], ["a", "b"])
SPANS = [[{"begin": 0, "end": 1, "label": "A", "score": 0.5}]]
# A valid call of each function, without the path.
CALLS = {
    "attention_page": {"attention": {"self": ATTENTION}},
    "plot_attention": {"attention": ATTENTION},
    "plot_confusion": {"matrix": [[1, 2], [3, 4]], "labels": ["a", "b"]},
    "plot_curves": {"curves": {"a": ([1, 2], [1.0, 2.0])}},
    "plot_history": {"histories": {"a": {"accuracy": [1.0, 2.0]}}},
    "plot_layer_weights": {"weights": {"a": [0.5, 0.5]}},
    "plot_map": {"vectors": np.eye(2), "labels": ["a", "b"], "texts": ["x", "y"]},
    "plot_positions": {"table": np.ones((2, 3))},
    "plot_rate_curve": {"curve": RateCurve((1.0,), (1.0,), (1.0,))},
    "plot_scatter": {"references": [1.0, 2.0], "predictions": [1.0, 2.0]},
    "plot_tree": {"tree": ("S", ("N", "a"))},
    "save_attention_page": {"attention": {"self": ATTENTION}},
    "save_spans_page": {"texts": ["ab"], "spans": SPANS},
    "spans_page": {"texts": ["ab"], "spans": SPANS},
}
# Few of them are valid for an argument.
VALUES = [
    *(None, 5, -1, 1.5, NAN, 10**400, True, "a", "", b"a", np.array(5), object()),
    *([], {}, [None], [NAN], ["a"], [5], [[]], [[1]], [["a"]], [[NAN]], [5, 6]),
    *({"a": 1}, {"a": None}, {"a": ([1], [2, 3])}, {"a": (["x"], ["y"])}),
    *({"a": {"accuracy": 5}}, {"a": {"accuracy": ["x"]}}, {"self": 5}),
    *({"self": (1, 2, 3)}, {"self": (np.ones((2, 2)), ["a"], ["b"])}, {"x": ATTENTION}),
    *(np.array([1, 2]), np.ones((2, 2, 2)), np.zeros((0, 2)), "(S (N a)", "S"),
    *([{}], [[{}]], [[{"begin": 0}]], [[{"begin": "0", "end": 1}]], [[5]]),
    *([[{"begin": 0, "end": 1, "score": "x"}]], [[{"begin": 0.5, "end": 1}]]),
    *(("S", "a", "b"), ("S", ("N", "a"), "b"), ("S", ("N", object()))),
]
TEXTS = {"title", "model", "xlabel", "ylabel", "unit", "metric"}
WORDS = [None, NAN, "a\ud800", [], object(), np.array([1, 2])]
# What is not of the type in the docstring, but clear.
TAKEN = {
    "spans_page.spans": [
        [[{"begin": 0, "end": 1, "label": 5, "score": "0.5"}]],
        [[{"begin": np.int64(0), "end": np.int32(1), "score": np.float32(0.5)}]],
        [({"begin": 0, "end": 2, "label": None, "score": None},)],
        np.array([[{"begin": 0, "end": 1, "label": np.str_("a")}]]),
    ],
    "spans_page.texts": [np.array(["ab"]), ("ab",)],
    "plot_tree.tree": ["(S (N a))", ["S", ["N", "a"]], ("S", ("N", 5)), (5, ("N",))],
    "plot_confusion.labels": [[0, 1], np.array([0.5, 1.5]), [None, True]],
    "plot_confusion.matrix": [np.array([[1, 0], [0, 1]]), [[0.5, 0.5], [1, 0]]],
    "plot_history.histories": [
        {5: types.SimpleNamespace(history={"accuracy": [1.0]})},
        {"a": {"accuracy": np.array([1.0, NAN])}},
    ],
    "plot_curves.curves": [{5: (range(2), np.array([1, 2]))}, {}],
    "plot_layer_weights.weights": [{5: np.array([0.5, 0.5])}],
    "plot_map.labels": [[1, 2], np.array([1, 2])],
    "plot_map.texts": [None, [], np.array([1, 2]), iter("ab")],
    "plot_attention.layer": [np.int64(0), -1],
    **{f"{name}.title": [None, 5, b"a", "a\nb"] for name in CALLS},
}


@pytest.fixture(autouse=True)
def undrawn(monkeypatch):
    """Figures are made, but not drawn."""

    def write_nothing(figure, path, **options):
        path.write_text("")

    monkeypatch.setattr(Figure, "savefig", write_nothing)


def call(name, folder, **changes):
    """Calls a function with some arguments changed."""
    function, arguments = getattr(visualize, name), {**CALLS[name]}
    if "path" in inspect.signature(function).parameters:
        arguments["path"] = folder / ("a.html" if "page" in name else "a.svg")
    return function(**{**arguments, **changes})


@pytest.mark.parametrize("name", CALLS)
def test_a_wrong_value_is_shown_or_named(name, tmp_path):
    parameters = inspect.signature(getattr(visualize, name)).parameters
    for argument in [*parameters.keys() - {"path"}]:
        for value in WORDS if argument in TEXTS else VALUES:
            try:
                call(name, tmp_path, **{argument: value})
            except (TypeError, ValueError) as error:
                assert "Received" in str(error), (argument, value, error)
    for path in (None, 5, "", b"a", ["a"]) if "path" in parameters else ():
        with pytest.raises(TypeError, match="`path` must be .*Received"):
            call(name, tmp_path, path=path)


@pytest.mark.parametrize("name", CALLS)
def test_the_first_argument_is_not_just_anything(name, tmp_path):
    function = getattr(visualize, name)
    first = next(n for n in inspect.signature(function).parameters if n != "path")
    for value in (None, 5, NAN, "a", object(), [object()], {"a": object()}, {1: {2}}):
        with pytest.raises((TypeError, ValueError), match="Received"):
            call(name, tmp_path, **{first: value})


@pytest.mark.parametrize("known", TAKEN)
def test_clear_values_are_taken(known, tmp_path):
    name, argument = known.split(".")
    for value in TAKEN[known]:
        call(name, tmp_path, **{argument: value})


def test_numbers_are_shown_as_text():
    page = visualize.spans_page(["ab"], TAKEN["spans_page.spans"][0], title=7)
    assert 'title="score 0.500">a<small>5</small>' in page and "<h1>7</h1>" in page
