"""Tables of rows: what they convert, revert and refuse."""

import keras
import numpy as np
import pytest

from zoo.checkpoint import Row, assign, convert, expand, revert

KERNEL = np.arange(6, dtype="float32").reshape(2, 3)
ROWS = (Row("dense/kernel", ("w", "weight"), "transpose"), Row("dense/bias", "b"))
EXPECTED = {"dense/kernel": (3, 2), "dense/bias": (2,)}
CHECKPOINT = {"w": KERNEL, "b": np.ones(2, "float16")}


def test_rows_of_a_layer_are_repeated_and_counted():
    rows = (
        Row("block_{i}/a", ("x.{i}", "y{_i}", "z-{n}"), "transpose"),
        Row("b", "{n}"),
    )
    assert expand(rows, 2, first=4) == [
        Row("block_0/a", ("x.0", "y", "z-4"), "transpose"),
        Row("block_1/a", ("x.1", "y_1", "z-5"), "transpose"),
        Row("b", ("6",)),
    ]
    with pytest.raises(ValueError, match="`operation` must be one of.*'rotate'"):
        Row("a", "b", "rotate")


def test_converts_to_float32_by_the_first_name_that_is_there():
    for name in ("w", "weight"):
        checkpoint = {name: KERNEL, "b": np.ones(2, "float16")}
        arrays = convert(checkpoint, ROWS, EXPECTED)
        np.testing.assert_array_equal(arrays["dense/kernel"], KERNEL.T)
        assert all(a.dtype == "float32" for a in arrays.values())
        assert all(a.flags["C_CONTIGUOUS"] for a in arrays.values())


@pytest.mark.parametrize(
    ("changes", "message"),
    (
        ({"b": None}, r"missing: 'b', for 'dense/bias'"),
        ({"w": None}, r"missing: 'w' or 'weight', for 'dense/kernel'"),
        ({"c": np.ones((1, 7))}, r"unused: 'c' \(1, 7\)"),
        (
            {"w": KERNEL.T},
            r"'dense/kernel' must be \(3, 2\); 'w' is \(3, 2\), which "
            r"'transpose' makes \(2, 3\)",
        ),
        ({"w": KERNEL.astype(int)}, r"'w' must be floating point, but is int64"),
        ({"weight": KERNEL + 1}, r"'weight' must equal 'w', because both"),
    ),
)
def test_an_array_that_does_not_fit_is_named(changes, message):
    checkpoint = {**CHECKPOINT, **changes}
    checkpoint = {k: v for k, v in checkpoint.items() if v is not None}
    with pytest.raises(ValueError, match=message):
        convert(checkpoint, ROWS, EXPECTED)


def test_the_only_entry_of_an_axis_is_taken_and_several_are_an_error():
    rows, expected = [Row("bias", "b", "first")], {"bias": (2,)}
    array = np.ones((1, 2), "float32")
    assert convert({"b": array}, rows, expected)["bias"].shape == (2,)
    with pytest.raises(ValueError, match=r"'bias' must be \(2,\)"):
        convert({"b": np.repeat(array, 2, axis=0)}, rows, expected)


def test_all_faults_are_named_at_once():
    with pytest.raises(ValueError) as error:
        convert({"b": np.ones(3, "float32"), "c": KERNEL}, ROWS, EXPECTED)
    for word in ("missing: 'w'", "must be (2,); 'b' is (3,)", "unused: 'c' (2, 3)"):
        assert word in str(error.value)


def test_rows_and_expectations_must_agree():
    with pytest.raises(ValueError, match="nothing expects 'dense/bias'"):
        convert(CHECKPOINT, ROWS, {"dense/kernel": (3, 2)})
    with pytest.raises(ValueError, match="no row makes 'other'"):
        convert(CHECKPOINT, ROWS, {**EXPECTED, "other": ()})


def test_a_tied_array_and_an_ignored_one_are_accounted_for():
    checkpoint = {
        **CHECKPOINT,
        "weight": KERNEL,
        "w/adam_m": KERNEL,
        "step": np.int64(1),
    }
    assert convert(checkpoint, ROWS, EXPECTED, ignore=(".*/adam_m", "step"))
    with pytest.raises(ValueError, match=r"unused: 'w/adam_m'"):
        convert(checkpoint, ROWS, EXPECTED, ignore=("adam_m", "step"))


def test_heads_are_merged_in_order_and_split_again():
    stored = {
        "query": np.arange(24, dtype="float32").reshape(4, 2, 3),
        "bias": np.arange(6, dtype="float32").reshape(2, 3),
        "output": np.arange(24, dtype="float32").reshape(2, 3, 4),
    }
    rows = (
        Row("query", "query", "merge_last"),
        Row("bias", "bias", "merge_last"),
        Row("output", "output", "merge_first"),
    )
    expected = {"query": (4, 6), "bias": (6,), "output": (6, 4)}
    arrays = convert(stored, rows, expected, num_heads=2)
    # Head 1 is columns 3 to 5 of the query, rows 3 to 5 of the output.
    np.testing.assert_array_equal(arrays["query"][:, 3:], stored["query"][:, 1])
    np.testing.assert_array_equal(arrays["output"][3:], stored["output"][1])
    np.testing.assert_equal(revert(arrays, rows, num_heads=2), stored)
    with pytest.raises(ValueError, match=r"'query' is \(4, 2, 3\).*with num_heads=3"):
        convert(stored, rows, expected, num_heads=3)


def test_reverting_writes_the_first_name():
    arrays = convert(CHECKPOINT, ROWS, EXPECTED)
    back = revert(arrays, ROWS)
    assert set(back) == {"w", "b"}
    np.testing.assert_array_equal(back["w"], KERNEL)
    with pytest.raises(ValueError, match="unused: 'c'; no row writes it"):
        revert({**arrays, "c": KERNEL}, ROWS)
    with pytest.raises(ValueError, match="missing: 'dense/bias'"):
        revert({"dense/kernel": KERNEL}, ROWS)


def make_layers():
    """A dropout, whose seed state is no weight, and a dense layer."""
    inputs = keras.Input((2,))
    outputs = keras.layers.Dropout(0.5)(keras.layers.Dense(2, name="dense")(inputs))
    return keras.Model(inputs, outputs)


def test_assigns_every_variable_but_random_states():
    model = make_layers()
    assert any("seed_generator" in v.path for v in model.variables)
    arrays = {"dense/kernel": KERNEL[:, :2], "dense/bias": np.ones(2)}
    assign([*model.variables, *model.variables], arrays)
    np.testing.assert_array_equal(model.weights[0], arrays["dense/kernel"])
    np.testing.assert_array_equal(model.weights[1], arrays["dense/bias"])


@pytest.mark.parametrize(
    ("changes", "message"),
    (
        ({"dense/bias": None}, r"missing: 'dense/bias' \(2,\)"),
        ({"other": np.ones(3)}, r"unused: 'other' \(3,\)"),
        ({"dense/bias": np.ones(3)}, r"'dense/bias' must be \(2,\), but .* is \(3,\)"),
    ),
)
def test_assigns_all_or_nothing(changes, message):
    model = make_layers()
    before = [v.numpy() for v in model.weights]
    arrays = {"dense/kernel": KERNEL[:, :2], "dense/bias": np.ones(2), **changes}
    arrays = {name: array for name, array in arrays.items() if array is not None}
    with pytest.raises(ValueError, match=message):
        assign(model.variables, arrays)
    np.testing.assert_equal([v.numpy() for v in model.weights], before)


def test_two_variables_of_one_path_are_refused():
    variables = [*make_layers().variables, *make_layers().variables]
    with pytest.raises(ValueError, match="two variables have the path 'dense/kernel'"):
        assign(variables, {"dense/kernel": KERNEL[:, :2], "dense/bias": np.ones(2)})
