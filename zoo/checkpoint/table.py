"""Tables of rows between the names and layouts of a checkpoint and ours."""

import dataclasses
import re

import numpy as np


def _merge_last(array, num_heads):
    """(..., H, K) to (..., HK)."""
    if array.ndim < 2 or array.shape[-2] != num_heads:
        return array
    return array.reshape(*array.shape[:-2], -1)


def _split_last(array, num_heads):
    """(..., HK) to (..., H, K)."""
    return array.reshape(*array.shape[:-1], num_heads, -1)


def _merge_first(array, num_heads):
    """(H, K, D) to (HK, D)."""
    if array.ndim < 2 or array.shape[0] != num_heads:
        return array
    return array.reshape(-1, *array.shape[2:])


def _split_first(array, num_heads):
    """(HK, D) to (H, K, D)."""
    return array.reshape(num_heads, -1, *array.shape[1:])


def _swap_gates(array):
    """Four gates along the last axis, the two in the middle in the other order."""
    if array.shape[-1] % 4:
        return array
    first, second, third, fourth = np.split(array, 4, axis=-1)
    return np.concatenate([first, third, second, fourth], axis=-1)


# name: (from the checkpoint's layout to ours, the inverse); an array that does not fit
# is handed back as it is, so that the check of shapes can tell both.
OPERATIONS = {
    "copy": (lambda array, _: array, lambda array, _: array),
    "transpose": (lambda array, _: array.T, lambda array, _: array.T),
    "merge_last": (_merge_last, _split_last),
    "merge_first": (_merge_first, _split_first),
    "swap_gates": (lambda array, _: _swap_gates(array),) * 2,
    "first": (lambda array, _: array[0], lambda array, _: array[None]),
}


@dataclasses.dataclass(frozen=True)
class Row:
    """One array of ours, where a checkpoint keeps it, and in which layout.

    Args:
        target: our variable's path. `{i}` stands for the number of a layer.
        sources: str or tuple of str, the names under which checkpoints hold it. The
            first that is there is read; others that are there must hold the same
            values (tied weights are often stored twice). The first is written.
        operation: how the stored array becomes ours: "copy", "transpose",
            "merge_last" (..., H, K) to (..., HK), "merge_first" (H, K, D) to (HK, D),
            "swap_gates" i, g, f, o to i, f, g, o, "first" (1, ...) to (...).

    Raises:
        ValueError: if the operation is unknown.
    """

    target: str
    sources: tuple
    operation: str = "copy"

    def __post_init__(self):
        """Checks the operation; a single source becomes a tuple."""
        if isinstance(self.sources, str):
            object.__setattr__(self, "sources", (self.sources,))
        if self.operation not in OPERATIONS:
            raise ValueError(
                f"`operation` must be one of {sorted(OPERATIONS)}. Received: "
                f"{self.operation!r}."
            )


def expand(rows, num_layers, first=0):
    """Repeats the rows that stand for a layer.

    Args:
        rows: iterable of `Row`; `{i}` counts layers from 0, `{n}` from `first`, and
            `{_i}` is nothing for the first layer, then `_1`, `_2`, as Keras counts. In
            the sources of a row that stands for no layer they go on after the last.
        num_layers: int.
        first: int.

    Returns:
        list of `Row` without placeholders.
    """
    expanded = []
    for row in rows:
        for i in range(num_layers) if "{" in row.target else [num_layers]:
            values = {"i": i, "n": first + i, "_i": f"_{i}" if i else ""}
            sources = tuple(source.format(**values) for source in row.sources)
            expanded.append(Row(row.target.format(**values), sources, row.operation))
    return expanded


def convert(checkpoint, rows, expected, ignore=(), num_heads=None):
    """Turns a checkpoint's arrays into ours; nothing may be left over on either side.

    Args:
        checkpoint: mapping of str to array.
        rows: iterable of `Row`, expanded.
        expected: dict of our path to shape.
        ignore: regular expressions; a name that one matches in full is no weight.
        num_heads: int, for the operations that merge heads.

    Returns:
        dict of our path to float32 array.

    Raises:
        ValueError: naming every array that is missing, left over, of another shape or
            not of floating point, and every pair of sources that disagree.
    """
    arrays, problems, used = {}, [], set()
    for row in rows:
        found = [source for source in row.sources if source in checkpoint]
        used.update(found)
        if row.target not in expected:
            problems.append(f"extra row: nothing expects {row.target!r}")
        elif not found:
            names = " or ".join(map(repr, row.sources))
            problems.append(f"missing: {names}, for {row.target!r}")
        else:
            arrays[row.target], problem = _convert_row(
                checkpoint, row, found, tuple(expected[row.target]), num_heads
            )
            problems += problem
    targets = {row.target for row in rows}
    problems += [f"no row makes {t!r}" for t in expected if t not in targets]
    problems += [
        f"left over: {name!r} {checkpoint[name].shape}, which no row takes"
        for name in checkpoint
        if name not in used and not any(re.fullmatch(i, name) for i in ignore)
    ]
    _raise_if_any(problems, "A checkpoint must hold the table's arrays and no others")
    return arrays


def _convert_row(checkpoint, row, found, expected, num_heads):
    """Our array and a list of what is wrong with it."""
    stored = checkpoint[found[0]]
    array = OPERATIONS[row.operation][0](stored, num_heads)
    # Shapes do not catch a missing transpose of a square kernel; only goldens do.
    if array.shape != expected:
        heads = f" with num_heads={num_heads}" if "merge" in row.operation else ""
        return None, [
            f"shape: {row.target!r} must be {expected}; {found[0]!r} is "
            f"{stored.shape}, which {row.operation!r}{heads} makes {array.shape}"
        ]
    # bfloat16 is no floating point type in NumPy's own books, hence the name.
    if "float" not in stored.dtype.name:
        return None, [f"dtype: {found[0]!r} must be floating point, is {stored.dtype}"]
    problems = [
        f"disagreement: {other!r} must equal {found[0]!r}, both are {row.target!r}"
        for other in found[1:]
        if not np.array_equal(checkpoint[other], stored)
    ]
    return np.array(array, "float32", order="C"), problems


def revert(arrays, rows, num_heads=None):
    """The inverse of `convert`: our arrays under a checkpoint's names and layouts.

    Args:
        arrays: dict of our path to array.
        rows: iterable of `Row`, expanded.
        num_heads: int, for the operations that merge heads.

    Returns:
        dict of each row's first source to array.

    Raises:
        ValueError: naming every array without a row and every row without an array.
    """
    rows = list(rows)
    targets = [row.target for row in rows]
    problems = [f"missing: {t!r}" for t in targets if t not in arrays]
    problems += [
        f"left over: {n!r}, which no row takes" for n in set(arrays) - {*targets}
    ]
    _raise_if_any(problems, "The arrays must be the table's and no others")
    return {
        row.sources[0]: OPERATIONS[row.operation][1](arrays[row.target], num_heads)
        for row in rows
    }


def assign(variables, arrays):
    """Gives every variable its array; on any error none is changed.

    Args:
        variables: iterable of `keras.Variable`, or dict of path to it; states of seed
            generators are left.
        arrays: dict of path to array.

    Raises:
        ValueError: naming every variable without an array, every array without a
            variable, every shape that differs and every path that occurs twice.
    """
    targets, problems = {}, []
    named = isinstance(variables, dict)
    pairs = variables.items() if named else [(v.path, v) for v in variables]
    for path, variable in pairs:
        if path.endswith("seed_generator_state"):
            continue
        # The same variable twice is a shared one, such as a tied table.
        if targets.setdefault(path, variable) is not variable:
            problems.append(f"two variables have the path {path!r}")
    for path, variable in targets.items():
        shape = tuple(variable.shape)
        if path not in arrays:
            problems.append(f"missing: {path!r} {shape}")
        elif tuple(arrays[path].shape) != shape:
            problems.append(
                f"shape: {path!r} must be {shape}, the array is {arrays[path].shape}"
            )
    problems += [
        f"left over: {path!r} {array.shape}, which no variable takes"
        for path, array in arrays.items()
        if path not in targets
    ]
    _raise_if_any(problems, "Every variable must get an array of its shape")
    for path, variable in targets.items():
        variable.assign(arrays[path])


def _raise_if_any(problems, rule):
    if problems:
        lines = "\n- ".join(problems)
        raise ValueError(
            f"{rule}. Received:\n- {lines}\nCheck that the configuration and the "
            "weights belong together."
        )
