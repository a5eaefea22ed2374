"""Tables that map the arrays of a checkpoint to the variables of this package.

In this module, "our" means the names and layouts of this package.
"""

import dataclasses
import re

import numpy as np

from zoo.checks.ranges import check_choice


def _merge_last(array, num_heads):
    """Reshapes (..., H, K) to (..., HK)."""
    if array.ndim < 2 or array.shape[-2] != num_heads:
        return array
    return array.reshape(*array.shape[:-2], -1)


def _split_last(array, num_heads):
    """Reshapes (..., HK) to (..., H, K)."""
    return array.reshape(*array.shape[:-1], num_heads, -1)


def _merge_first(array, num_heads):
    """Reshapes (H, K, D) to (HK, D)."""
    if array.ndim < 2 or array.shape[0] != num_heads:
        return array
    return array.reshape(-1, *array.shape[2:])


def _split_first(array, num_heads):
    """Reshapes (HK, D) to (H, K, D)."""
    return array.reshape(num_heads, -1, *array.shape[1:])


def _only(array):
    """The only entry of the first axis."""
    return array[0] if array.shape[:1] == (1,) else array


def _third(array, number):
    """One of three equal parts along the last axis."""
    if array.ndim == 0 or array.shape[-1] % 3:
        return array
    return np.split(array, 3, axis=-1)[number]


def _swap_gates(array):
    """Exchanges the second and the third of four gates along the last axis."""
    if array.shape[-1] % 4:
        return array
    first, second, third, fourth = np.split(array, 4, axis=-1)
    return np.concatenate([first, third, second, fourth], axis=-1)


# The arrays of modules that are no dense layers, by the end of their paths.
LEAVES = {"embedding": ("embeddings",), "layer_norm": ("gamma", "beta")}
# How torch ends the name of an array, and Keras 3 in its files of weights.
TORCH_LEAVES = {
    **dict.fromkeys(("embeddings", "kernel", "gamma"), ".weight"),
    **dict.fromkeys(("bias", "beta"), ".bias"),
}
KERAS_LEAVES = {
    **dict.fromkeys(("embeddings", "kernel", "gamma"), "/vars/0"),
    **dict.fromkeys(("bias", "beta"), "/vars/1"),
}
ATTENTION_OUTPUT = "attention/output_projection/kernel"
# Parts of one stored array. `revert` joins them again.
THIRDS = ("first_third", "second_third", "last_third")
# From the name of an operation to a function from the checkpoint's layout to ours, and
# to its inverse. An array of an unsuitable shape is returned unchanged. Then the check
# of shapes reports it.
OPERATIONS = {
    "copy": (lambda array, _: array, lambda array, _: array),
    "transpose": (lambda array, _: array.T, lambda array, _: array.T),
    "merge_last": (_merge_last, _split_last),
    "merge_first": (_merge_first, _split_first),
    "swap_gates": (lambda array, _: _swap_gates(array),) * 2,
    "first": (lambda array, _: _only(array), lambda array, _: array[None]),
    "first_third": (lambda array, _: _third(array, 0), lambda array, _: array),
    "second_third": (lambda array, _: _third(array, 1), lambda array, _: array),
    "last_third": (lambda array, _: _third(array, 2), lambda array, _: array),
}


@dataclasses.dataclass(frozen=True)
class Row:
    """One of our arrays, its names in checkpoints, and its layout there.

    Args:
        target: str, the path of our variable. `{i}` is the number of a layer.
        sources: str or tuple of str, the names that checkpoints use. `convert` reads
            the first name that exists. If others exist, they must hold equal values:
            tied weights are often stored twice. `revert` writes the first name.
        operation: str, the conversion of the stored array to ours; another one raises
            ValueError:

            - "copy": no change
            - "transpose": reversed axes
            - "merge_last": (..., H, K) to (..., HK)
            - "merge_first": (H, K, D) to (HK, D)
            - "swap_gates": gates i, g, f, o to i, f, g, o
            - "first": (1, ...) to (...)
            - "first_third", "second_third", "last_third": (..., 3 D) to (..., D). Three
              rows have the same sources.
    """

    target: str
    sources: tuple
    operation: str = "copy"

    def __post_init__(self):
        object.__setattr__(self, "sources", _as_tuple(self.sources))
        check_choice("operation", self.operation, sorted(OPERATIONS))


def module_rows(modules, leaves, transposed=False, heads=False, operations=None):
    """The rows, list of `Row`, of modules: embeddings, layer norms and dense layers.

    Args:
        modules: dict of our module to its name in the checkpoint, or to several names.
            A module has embeddings if its path ends with "embedding", gamma and beta if
            it ends with "layer_norm", and else a kernel and a bias.
        leaves: dict of "embeddings", "kernel", "bias", "gamma" and "beta" to what
            replaces `{}` in the name of the module, or follows a name without it. It
            may have several such values.
        transposed: bool, whether kernels are stored as (outputs, inputs).
        heads: bool, whether the kernels of attention are stored as (D, H, K) and
            (H, K, D).
        operations: dict of our module to its operation, for some modules.
    """
    rows = []
    for module, names in modules.items():
        kinds = [kind for kind in LEAVES if module.endswith(kind)]
        for leaf in LEAVES[kinds[0]] if kinds else ("kernel", "bias"):
            operation = (operations or {}).get(module, "copy")
            if transposed and leaf == "kernel":
                operation = "transpose"
            elif heads and module.endswith(("/query", "/key", "/value")):
                operation = "merge_last"
            elif heads and f"{module}/{leaf}".endswith(ATTENTION_OUTPUT):
                operation = "merge_first"
            sources = tuple(
                name.replace("{}", end) if "{}" in name else name + end
                for name in _as_tuple(names)
                for end in _as_tuple(leaves[leaf])
            )
            rows.append(Row(f"{module}/{leaf}", sources, operation))
    return rows


def _as_tuple(names):
    """A tuple of str, of which one may stand alone."""
    return (names,) if isinstance(names, str) else tuple(names)


def expand(rows, num_layers, first=0):
    """Repeats the rows whose target has a placeholder, once for each of `num_layers`.

    The placeholders of a target or source are:

    - `{i}`: the number of the layer, from 0
    - `{n}`: the number of the layer, from `first`
    - `{_i}`: empty for the first layer, then `_1`, `_2` and so on, as Keras counts

    If only a source has placeholders, they are the number after the last layer. The
    result is a list of `Row`.
    """
    expanded = []
    for row in rows:
        for i in range(num_layers) if "{" in row.target else [num_layers]:
            values = {"i": i, "n": first + i, "_i": f"_{i}" if i else ""}
            sources = tuple(source.format(**values) for source in row.sources)
            expanded.append(Row(row.target.format(**values), sources, row.operation))
    return expanded


def convert(checkpoint, rows, expected, ignore=(), num_heads=None):
    """Converts the arrays of a checkpoint to ours, a dict of path to float32 array.

    Every expected array must be in the checkpoint, and a row must use every array of
    the checkpoint.

    Args:
        checkpoint: mapping of str to array.
        rows: iterable of `Row` without placeholders.
        expected: dict of our path to shape.
        ignore: iterable of regular expressions of whole names of no weights, which no
            row needs to use.
        num_heads: int, for the operations that merge heads.

    Raises:
        ValueError: if arrays are missing or unused, have another shape, are not
            floating point, or differ between two sources of a row. The message lists
            all of them.
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
        f"unused: {name!r} {checkpoint[name].shape}; no row reads it"
        for name in checkpoint
        if name not in used and not any(re.fullmatch(i, name) for i in ignore)
    ]
    _raise_if_any(problems, "A checkpoint must hold the table's arrays and no others")
    return arrays


def _convert_row(checkpoint, row, found, expected, num_heads):
    """Converts one array; returns it and a list of problems."""
    stored = checkpoint[found[0]]
    array = OPERATIONS[row.operation][0](stored, num_heads)
    # This cannot detect a missing transpose of a square kernel. Only goldens can.
    if array.shape != expected:
        heads = f" with num_heads={num_heads}" if "merge" in row.operation else ""
        return None, [
            f"shape: {row.target!r} must be {expected}; {found[0]!r} is "
            f"{stored.shape}, which {row.operation!r}{heads} makes {array.shape}"
        ]
    # NumPy does not count bfloat16 as a floating point type, so the name is compared.
    if "float" not in stored.dtype.name:
        return None, [
            f"dtype: {found[0]!r} must be floating point, but is {stored.dtype}"
        ]
    problems = [
        f"different values: {other!r} must equal {found[0]!r}, because both are "
        f"{row.target!r}"
        for other in found[1:]
        if not np.array_equal(checkpoint[other], stored)
    ]
    return np.array(array, "float32", order="C"), problems


def revert(arrays, rows, num_heads=None):
    """Converts our arrays to the names and layouts of a checkpoint; see `convert`.

    This is its inverse: an array gets the name of the first source of its row.
    ValueError lists the arrays without a row and the rows without an array.
    """
    rows = list(rows)
    targets = [row.target for row in rows]
    problems = [f"missing: {t!r}" for t in targets if t not in arrays]
    problems += [f"unused: {n!r}; no row writes it" for n in set(arrays) - {*targets}]
    _raise_if_any(problems, "The arrays must be the table's arrays and no others")
    found, thirds = {}, {}
    for row in rows:
        array = OPERATIONS[row.operation][1](arrays[row.target], num_heads)
        if row.operation in THIRDS:
            thirds.setdefault(row.sources[0], {})[row.operation] = array
        found[row.sources[0]] = array
    for name, parts in thirds.items():
        found[name] = np.concatenate([parts[third] for third in THIRDS], axis=-1)
    return found


def assign(variables, arrays):
    """Assigns an array to every variable. If there is an error, no variable changes.

    Args:
        variables: iterable of `keras.Variable`, or dict of path to `keras.Variable`.
            States of seed generators are ignored.
        arrays: dict of path to array.

    Raises:
        ValueError: if a variable has no array, an array has no variable, shapes differ
            or two variables have one path. The message lists all of them.
    """
    targets, problems = {}, []
    named = isinstance(variables, dict)
    pairs = variables.items() if named else [(v.path, v) for v in variables]
    for path, variable in pairs:
        if path.endswith("seed_generator_state"):
            continue
        # A shared variable, such as a tied embedding table, may occur twice.
        if targets.setdefault(path, variable) is not variable:
            problems.append(f"two variables have the path {path!r}")
    for path, variable in targets.items():
        shape = tuple(variable.shape)
        if path not in arrays:
            problems.append(f"missing: {path!r} {shape}")
        elif tuple(arrays[path].shape) != shape:
            problems.append(
                f"shape: {path!r} must be {shape}, but the array is "
                f"{arrays[path].shape}"
            )
    problems += [
        f"unused: {path!r} {array.shape}; no variable has this path"
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
