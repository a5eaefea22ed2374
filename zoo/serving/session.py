"""Runs the C loader in a new process, and collects the answers to requests."""

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
from zoo.serving.graph import SERVE_TAG, TEXT_OPS, SavedGraph
from zoo.serving.versions import find_version

_PROGRAM = pathlib.Path(__file__).with_name("c_loader.py")


@dataclasses.dataclass(frozen=True)
class Request:
    """One request to a model: a GraphSignature, and arrays by the names of inputs."""

    signature: object
    inputs: dict


@dataclasses.dataclass(frozen=True)
class Answer:
    """The answer to one request: arrays by the names of outputs, or else an error."""

    outputs: dict | None = None
    error: str = ""


@dataclasses.dataclass(frozen=True)
class Report:
    """The results of one process."""

    operations: frozenset  # of the installed TensorFlow without tensorflow-text
    loaded: bool
    answers: list  # some may be missing if there is an error
    error: str  # why loading failed or the process ended; else ""


def run_in_c_loader(directory, graph, requests, timeout):
    """Loads a SavedModel in a new process, as the server does; returns a `Report`.

    GPUs are hidden from the process, because a server may have none. `timeout` is in
    seconds, for loading and all requests together. FileNotFoundError if TensorFlow's C
    library is not installed, or tensorflow-text is needed and not installed.
    """
    needs_text = bool(graph.operations() & TEXT_OPS)
    job = {
        "library": str(_tensorflow_library()),
        "extensions": [str(path) for path in _text_libraries()] if needs_text else [],
        "directory": str(directory),
        "tag": SERVE_TAG,
        "runs": [],
    }
    for request in requests:
        feeds = {}
        for name, array in request.inputs.items():
            proto = wire.encode_tensor(array).SerializeToString()
            tensor = request.signature.inputs[name].tensor
            feeds[tensor] = base64.b64encode(proto).decode("ascii")
        fetches = [output.tensor for output in request.signature.outputs.values()]
        job["runs"].append({"feeds": feeds, "fetches": fetches})
    # With -I the process ignores PYTHONPATH and the working directory, so that no file
    # there can replace a module of the standard library.
    command = [sys.executable, "-I", str(_PROGRAM)]
    failure = ""
    try:
        done = subprocess.run(
            command,
            input=json.dumps(job).encode(),
            capture_output=True,
            timeout=timeout,
            env={**os.environ, "CUDA_VISIBLE_DEVICES": "-1"},
        )
        output = done.stdout
        if done.returncode:
            lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
            failure = f"the process ended with code {done.returncode}: "
            failure += " | ".join(lines[-3:])
    except subprocess.TimeoutExpired as error:
        output = error.stdout or b""
        failure = f"no answer within {timeout} s: loading or a request does not end"
    return _read_events(output, requests, failure)


def _package_directory(package):
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError(
            f"To load this model, the package {package} must be installed. Received: "
            f"no such package. Run `pip install {package.replace('_', '-')}`."
        )
    return pathlib.Path(list(spec.submodule_search_locations)[0])


@functools.cache
def _tensorflow_library():
    directory = _package_directory("tensorflow")
    found = sorted(directory.glob("libtensorflow_cc.*"))
    if not found:
        raise FileNotFoundError(
            "The self-check needs libtensorflow_cc, which TensorFlow's wheels for "
            f"Linux and macOS have. Received: none in {directory}. Use such a wheel, "
            "or `check=False`."
        )
    return found[0]


@functools.cache
def _text_libraries():
    # It is unknown which library registers an operation, so all are loaded.
    directory = _package_directory("tensorflow_text") / "python" / "ops"
    return sorted([*directory.glob("_*.so"), *directory.glob("_*.dylib")])


def _read_events(output, requests, failure):
    operations, loaded, answers = frozenset(), False, []
    for line in output.splitlines(keepends=True):
        # The last line of a process that was stopped may be incomplete.
        if not line.endswith(b"\n"):
            break
        event = json.loads(line)
        if "operations" in event:
            listed = wire.OpList.FromString(base64.b64decode(event["operations"]))
            operations = frozenset(op.name for op in listed.op)
        elif "loaded" in event:
            loaded = True
        elif "run" in event:
            names = requests[event["run"]].signature.outputs
            answer = Answer(error=event.get("error", ""))
            if "outputs" in event:
                arrays = map(_read_array, event["outputs"])
                answer = Answer(outputs=dict(zip(names, arrays, strict=True)))
            answers.append(answer)
        else:
            failure = event["error"]
    return Report(operations, loaded, answers, failure)


def _read_array(tensor):
    shape, dtype = tensor["shape"], wire.DTYPES.get(tensor["dtype"])
    if dtype == "string":
        values = [base64.b64decode(element) for element in tensor["content"]]
        return np.array(values, object).reshape(shape)
    data = base64.b64decode(tensor["content"])
    # NumPy has no bfloat16. Its two bytes are enough to compare answers.
    known = "uint16" if dtype == "bfloat16" else dtype
    return np.frombuffer(data, known).reshape(shape)


def ask(directory, inputs, signature="serving_default", timeout=300):
    """Loads a SavedModel in a new process, as the server does, and sends one request.

    The new process does not import TensorFlow for Python.

    Args:
        directory: path of a version directory, or of a directory of versions. In the
            second case the newest version answers.
        inputs: dict from input name to numpy array. Strings have dtype object.
        signature: str, the name of the signature.
        timeout: int or float, seconds.

    Returns:
        dict from output name to numpy array. Strings are str objects.

    Raises:
        FileNotFoundError: if there is no SavedModel.
        ValueError: if the signature or an input is unknown, or the model does not
            answer.
    """
    version = find_version(directory)
    graph = SavedGraph(version)
    if signature not in graph.signatures:
        raise ValueError(
            f"{version} has the signatures {sorted(graph.signatures)}. Received: "
            f"{signature!r}. Use one of these names."
        )
    found = graph.signatures[signature]
    if set(inputs) != set(found.inputs):
        raise ValueError(
            f"Signature {signature!r} takes {sorted(found.inputs)}. Received: "
            f"{sorted(inputs)}. Give exactly these inputs."
        )
    report = run_in_c_loader(version, graph, [Request(found, inputs)], timeout)
    answer = report.answers[0] if report.answers else Answer(error=report.error)
    if answer.outputs is None:
        raise ValueError(
            f"The model must answer the request. Received: no answer from {version}: "
            f"{answer.error}. `zoo.serving.diagnose` may say more."
        )
    for name, array in answer.outputs.items():
        if array.dtype == object:
            decoded = [value.decode("utf-8", "replace") for value in array.ravel()]
            answer.outputs[name] = np.array(decoded, object).reshape(array.shape)
    return answer.outputs
