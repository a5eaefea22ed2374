"""Requests with which the doctor tries a model: real ones if it has any, else made up.

A request that comes with the model as warm-up record is realistic; whatever is made up
from types and shapes alone is plausible for a text, a mask or a table of numbers, and
may be refused by, say, a model that expects images in its strings.
"""

import dataclasses

import numpy as np

from zoo.serving import records, wire
from zoo.serving.lint import REST_DTYPES
from zoo.serving.session import Answer, Request

_MAX_ROWS = 4
_UNKNOWN_SIZE = 8
_TEXTS = (
    "Hello world",
    "The 3rd example, longer: it's 12,5 % of all!",
    "Ünïcødé 猫 🙂",
)


@dataclasses.dataclass(frozen=True)
class Trial:
    """One request, why it is sent, and later its answer.

    `kind` is "row" (a batch of one), "repeat" (row 0 again), "batch" (all rows) or
    "warm-up" (a record as it is).
    """

    signature: str
    kind: str
    request: Request
    answer: Answer = Answer(error="no answer")


def make_trials(graph, warmup):
    """Plan the requests for every signature.

    Args:
        graph: SavedGraph.
        warmup: list of (signature name, inputs), valid for the graph.

    Returns:
        list of Trial, in the order in which to send them.
    """
    trials = []
    for name, signature in graph.signatures.items():
        if not _askable(signature):
            continue
        recorded = [inputs for owner, inputs in warmup if owner == name]
        rows = _rows(signature, recorded)
        batch = {key: _stack([row[key] for row in rows]) for key in rows[0]}
        plan = [*(("row", row) for row in rows), ("repeat", rows[0]), ("batch", batch)]
        plan += [("warm-up", inputs) for inputs in recorded]
        trials += [Trial(name, kind, Request(signature, row)) for kind, row in plan]
    return trials


def _askable(signature):
    """Whether requests can be made and answers read; if not, the lint says why."""
    endpoints = [*signature.inputs.values(), *signature.outputs.values()]
    return (
        all(endpoint.tensor for endpoint in endpoints)
        and all(endpoint.dtype in wire.DTYPES.values() for endpoint in endpoints)
        and all(endpoint.dtype in REST_DTYPES for endpoint in signature.inputs.values())
    )


def _rows(signature, recorded):
    rows = [row for inputs in recorded for row in _split(inputs)]
    if not rows:
        rows = [_make_row(signature, index) for index in range(len(_TEXTS))]
    # Rows of different widths do not fit into one batch.
    shapes = {key: value.shape for key, value in rows[0].items()}
    rows = [
        row
        for row in rows[:_MAX_ROWS]
        if {key: value.shape for key, value in row.items()} == shapes
    ]
    if all(endpoint.dtype == "string" for endpoint in signature.inputs.values()):
        rows.append({key: np.full_like(rows[0][key], b"") for key in rows[0]})
    # A batch of one would prove nothing.
    return rows if len(rows) > 1 else rows * 2


def _stack(values):
    return np.concatenate(values) if np.ndim(values[0]) else values[0]


def _split(inputs):
    # A scalar has no rows; the lint reports it.
    if not inputs or any(not np.ndim(value) for value in inputs.values()):
        return [inputs]
    size = min(len(value) for value in inputs.values())
    return [
        {key: value[row : row + 1] for key, value in inputs.items()}
        for row in range(size)
    ]


def _make_row(signature, index):
    return {
        name: _make_value(endpoint, index)
        for name, endpoint in signature.inputs.items()
    }


def _make_value(endpoint, index):
    if endpoint.shape == ():
        # A scalar is the same for all rows of a batch.
        shape, index = (), 0
    else:
        batch, *sizes = endpoint.shape or (1,)
        sizes = (_UNKNOWN_SIZE if size < 0 else size for size in sizes)
        shape = (max(batch, 1), *sizes)
    random = np.random.default_rng(index)
    if endpoint.dtype == "string":
        return np.full(shape, _TEXTS[index].encode("utf-8"), object)
    if endpoint.dtype == "bool":
        return np.ones(shape, bool)
    if endpoint.dtype.startswith("float"):
        return np.asarray(random.random(shape), endpoint.dtype)
    # 0 and 1 are valid as masks, segments and ids of any vocabulary.
    return np.asarray(random.integers(0, 2, shape), endpoint.dtype)


def read_warmup(directory, graph):
    """Read the warm-up records of a version and check them against its signatures.

    Args:
        directory: pathlib.Path of the version.
        graph: SavedGraph of it.

    Returns:
        (list of (signature name, inputs), list of problems); both are empty when there
        is no file.
    """
    path = directory / records.WARMUP_PATH
    if not path.is_file():
        return [], []
    try:
        payloads = records.read_records(path)
    except ValueError as error:
        return [], [str(error)]
    requests, problems = [], []
    if len(payloads) > records.MAX_WARMUP_RECORDS:
        problems.append(
            f"there are {len(payloads)} records; the server refuses more than "
            f"{records.MAX_WARMUP_RECORDS}"
        )
    for index, payload in enumerate(payloads[: records.MAX_WARMUP_RECORDS]):
        try:
            request = records.decode_request(payload)
        except ValueError as error:
            problems.append(f"record {index}: {error}")
            continue
        # Classify and regress records are left to the server.
        if request is None:
            continue
        mismatch = _mismatch(graph, *request)
        if mismatch:
            problems.append(f"record {index}: {mismatch}")
        else:
            requests.append(request)
    return requests, problems


def _mismatch(graph, name, inputs):
    if name not in graph.signatures:
        return f"there is no signature {name!r} among {list(graph.signatures)}"
    expected = graph.signatures[name].inputs
    if inputs.keys() != expected.keys():
        return (
            f"the inputs {sorted(inputs)} must be those of {name!r}, {list(expected)}"
        )
    for key, value in inputs.items():
        dtype = "string" if value.dtype.kind == "O" else value.dtype.name
        if dtype != expected[key].dtype:
            return f"input {key!r} is {dtype}, {name!r} takes {expected[key].dtype}"
    return ""
