"""Runs the C loader in a new process, and collects the answers to requests."""

import base64
import contextlib
import dataclasses
import functools
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading

import numpy as np

from zoo.serving import wire
from zoo.serving.graph import SERVE_TAG, TEXT_OPS

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


class Loader:
    """A SavedModel in a new process of the C loader, which answers one by one.

    GPUs are hidden from the process, because a server may have none. `timeout` is in
    seconds, for loading, and for each request. FileNotFoundError if TensorFlow's C
    library is not installed, or tensorflow-text is needed and not installed.

    Attributes:
        operations: frozenset of str, see `Report`; empty before `load`.
        loaded: bool.
        error: str, why loading failed or the process ended; else "".
    """

    def __init__(self, directory, graph, timeout):
        needs_text = bool(graph.operations() & TEXT_OPS)
        job = {
            "library": str(_tensorflow_library()),
            "extensions": list(map(str, _text_libraries())) if needs_text else [],
            "directory": str(directory),
            "tag": SERVE_TAG,
        }
        self.operations, self.loaded, self.error = frozenset(), False, ""
        self._timeout, self._hangs = timeout, False
        # A pipe that nobody reads would block a process that prints a lot.
        self._printed = tempfile.TemporaryFile()
        # With -I the process ignores PYTHONPATH and the working directory, so that no
        # file there can replace a module of the standard library.
        self._process = subprocess.Popen(
            [sys.executable, "-I", str(_PROGRAM)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._printed,
            env={**os.environ, "CUDA_VISIBLE_DEVICES": "-1"},
        )
        self._send(job)

    def load(self):
        """Waits until the model is loaded, or there is an error."""
        while not (self.loaded or self.error):
            event = self._receive()
            if "operations" in event:
                listed = wire.OpList.FromString(base64.b64decode(event["operations"]))
                self.operations = frozenset(op.name for op in listed.op)
            self.loaded = "loaded" in event

    def run(self, request):
        """The `Answer` to a request; None if there is an error in `error`."""
        self.load()
        feeds = {}
        for name, array in request.inputs.items():
            proto = wire.encode_tensor(array).SerializeToString()
            tensor = request.signature.inputs[name].tensor
            feeds[tensor] = base64.b64encode(proto).decode("ascii")
        outputs = request.signature.outputs
        fetches = [output.tensor for output in outputs.values()]
        if self.error:
            return None
        self._send({"feeds": feeds, "fetches": fetches})
        event = self._receive()
        if "outputs" in event:
            arrays = map(_read_array, event["outputs"])
            return Answer(outputs=dict(zip(outputs, arrays, strict=True)))
        return Answer(error=event["failed"]) if "failed" in event else None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def close(self):
        """Ends the process."""
        self._process.kill()
        self._process.wait()
        for file in (self._process.stdin, self._process.stdout, self._printed):
            with contextlib.suppress(OSError):  # what was not sent
                file.close()

    def _send(self, message):
        with contextlib.suppress(BrokenPipeError):  # `_receive` says why it ended
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()

    def _receive(self):
        """The next event, a dict; `error` is set if it is the last one."""
        timer = threading.Timer(self._timeout, self._stop)
        timer.start()
        try:
            line = self._process.stdout.readline()
        finally:
            timer.cancel()
        # The last line of a process that was stopped may be incomplete.
        if line.endswith(b"\n"):
            event = json.loads(line)
            self.error = event.get("error", "")
            return event
        code = self._process.wait()
        self._printed.seek(0)
        lines = self._printed.read().decode("utf-8", "replace").strip().splitlines()
        self.error = f"the process ended with code {code}: {' | '.join(lines[-3:])}"
        if self._hangs:
            self.error = f"no answer within {self._timeout} s: loading or a request "
            self.error += "does not end"
        return {}

    def _stop(self):
        self._hangs = True
        self._process.kill()


def run_in_c_loader(directory, graph, requests, timeout):
    """Loads a SavedModel as the server does, and runs requests; returns a `Report`.

    See `Loader` for the arguments.
    """
    with Loader(directory, graph, timeout) as loader:
        loader.load()
        answers = []
        for request in requests:
            answer = loader.run(request)
            if answer is None:
                break
            answers.append(answer)
        return Report(loader.operations, loader.loaded, answers, loader.error)


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


def _read_array(tensor):
    shape, dtype = tensor["shape"], wire.DTYPES.get(tensor["dtype"])
    if dtype == "string":
        values = [base64.b64decode(element) for element in tensor["content"]]
        return np.array(values, object).reshape(shape)
    data = base64.b64decode(tensor["content"])
    # NumPy has no bfloat16. Its two bytes are enough to compare answers.
    known = "uint16" if dtype == "bfloat16" else dtype
    return np.frombuffer(data, known).reshape(shape)
