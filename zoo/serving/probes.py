"""The requests that the doctor sends to a model.

If the model has warm-up records, the doctor sends their rows. Otherwise it generates
requests from the types and shapes of the inputs, plausible for texts, masks and
numbers. A model that expects encoded images in its strings may reject them.
"""

import dataclasses

import numpy as np

from zoo.serving import wire
from zoo.serving.lint import REST_DTYPES
from zoo.serving.session import Answer, Request
from zoo.serving.warmup import (
    MAX_WARMUP_RECORDS,
    WARMUP_PATH,
    decode_request,
    read_records,
)

_MAX_ROWS = 4
_UNKNOWN_SIZE = 8
_TEXTS = (
    "Hello world",
    "The 3rd example, longer: it's 12,5 % of all!",
    "Ünïcødé 猫 🙂",
)


@dataclasses.dataclass(frozen=True)
class Trial:
    """One request and its answer."""

    signature: str
    kind: str  # "row" (of one), "repeat" (of row 0), "batch" (of all) or "warm-up"
    request: Request
    answer: Answer = Answer(error="no answer")


def make_trials(graph, warmup):
    """The requests for every signature, in the order of sending, without answers."""
    trials = []
    for name, signature in graph.signatures.items():
        if not _askable(signature):
            continue
        recorded = [inputs for owner, inputs in warmup if owner == name]
        rows = _rows(signature, recorded)
        batch = {}
        for key, value in rows[0].items():
            # All rows of a batch share a scalar.
            values = [row[key] for row in rows]
            batch[key] = np.concatenate(values) if np.ndim(value) else value
        plan = [*(("row", row) for row in rows), ("repeat", rows[0]), ("batch", batch)]
        plan += [("warm-up", inputs) for inputs in recorded]
        trials += [Trial(name, kind, Request(signature, row)) for kind, row in plan]
    return trials


def _askable(signature):
    """Whether requests can be made and answers can be read; if not, `lint` says why."""
    endpoints = [*signature.inputs.values(), *signature.outputs.values()]
    known = all(end.tensor and end.dtype in wire.DTYPES.values() for end in endpoints)
    return known and all(end.dtype in REST_DTYPES for end in signature.inputs.values())


def _rows(signature, recorded):
    rows = [row for inputs in recorded for row in _split(inputs)]
    if not rows:
        rows = [
            {name: _make_value(end, index) for name, end in signature.inputs.items()}
            for index in range(len(_TEXTS))
        ]
    # Only rows of equal shapes form a batch.
    rows = rows[:_MAX_ROWS]
    shapes = [{key: value.shape for key, value in row.items()} for row in rows]
    rows = [row for row, shape in zip(rows, shapes, strict=True) if shape == shapes[0]]
    if all(endpoint.dtype == "string" for endpoint in signature.inputs.values()):
        rows.append({key: np.full_like(rows[0][key], b"") for key in rows[0]})
    # A batch of one row would not be different from the row.
    return rows if len(rows) > 1 else rows * 2


def _split(inputs):
    # A scalar has no rows; `lint` reports it.
    if not inputs or any(not np.ndim(value) for value in inputs.values()):
        return [inputs]
    size = min(len(value) for value in inputs.values())
    return [
        {key: value[row : row + 1] for key, value in inputs.items()}
        for row in range(size)
    ]


def _make_value(endpoint, index):
    if endpoint.shape == ():
        # All rows of a batch share a scalar.
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
    """Valid warm-up records of a version, (signature name, inputs), and problems."""
    path = directory / WARMUP_PATH
    if not path.is_file():
        return [], []
    try:
        payloads = read_records(path)
    except ValueError as error:
        return [], [str(error)]
    requests, problems = [], []
    most = MAX_WARMUP_RECORDS
    if len(payloads) > most:
        problems.append(
            f"there are {len(payloads)} records; the server accepts at most {most}"
        )
    for index, payload in enumerate(payloads[:most]):
        try:
            request = decode_request(payload)
            # The doctor does not check records of other kinds, such as classify.
            if request is not None:
                _check_request(graph, *request)
                requests.append(request)
        except ValueError as error:
            problems.append(f"record {index}: {error}")
    return requests, problems


def _check_request(graph, name, inputs):
    if name not in graph.signatures:
        raise ValueError(f"there is no signature {name!r} among {[*graph.signatures]}")
    expected = graph.signatures[name].inputs
    if inputs.keys() != expected.keys():
        raise ValueError(
            f"the inputs {sorted(inputs)} must be those of {name!r}, {list(expected)}"
        )
    for key, value in inputs.items():
        dtype = "string" if value.dtype.kind == "O" else value.dtype.name
        known = expected[key].dtype
        if dtype != known:
            raise ValueError(f"input {key!r} is {dtype}, but {name!r} takes {known}")
