"""Writes versions of a model for TensorFlow Serving, and publishes only sound ones."""

import dataclasses
import pathlib
import shutil
import tempfile
from collections.abc import Callable

import keras
import numpy as np
import tensorflow as tf
from tensorflow.saved_model.experimental import TrackableResource

from zoo.serving import records
from zoo.serving.answers import advise
from zoo.serving.graph import SavedGraph
from zoo.serving.lint import lint
from zoo.serving.session import Request, run_in_c_loader
from zoo.serving.versions import check_version, publish

_TOLERANCE = 1e-5
_CHECK_SECONDS = 600


@dataclasses.dataclass(frozen=True)
class Signature:
    """What clients can call.

    Args:
        function: called with one tensor per spec, by keyword; returns a dict from
            output name to dense tensor. Dimension 0 of all of them is the batch.
        specs: dict from input name to tf.TensorSpec, or a list of named specs. One
            input is best: REST clients can then send bare values.
        example: dict from input name to a numpy array, a real request; sent to the
            model before publication and by the server before it announces the version.
    """

    function: Callable
    specs: dict | list
    example: dict


def write_version(
    base_dir, signatures, track, version=None, check=True, extra_files=None
):
    """Export a model as a new version directory of a TensorFlow Serving model.

    The version is written beside its final place, loaded as the server loads it (in a
    process with neither Keras nor TensorFlow's Python), asked the examples, compared
    with the functions, and only then renamed; the server never sees half a version.

    Args:
        base_dir: directory of the model; its parent need not exist.
        signatures: dict from name to Signature. The first is also `serving_default`.
        track: list of tf.Modules and Keras models that hold what the functions use:
            variables, lookup tables, assets.
        version: int of at least 1; None takes the highest present plus one.
        check: False publishes without the self-check.
        extra_files: dict from file name to str or bytes, kept in `assets.extra`.

    Returns:
        pathlib.Path of the version directory.

    Raises:
        FileExistsError: the version exists.
        TypeError: an input or output is not a dense tensor.
        ValueError: a name, spec or example is wrong, a resource is not tracked, the
            model breaks a rule of the server or answers differently after loading.
    """
    if keras.config.backend() != "tensorflow":
        raise ValueError(
            "Exporting needs the Keras backend tensorflow. Received: "
            f"{keras.config.backend()}. Save the model, set KERAS_BACKEND=tensorflow "
            "and load it in a new process."
        )
    base_dir = pathlib.Path(base_dir)
    check_version(base_dir, version)
    endpoints = {
        name: _Endpoint(name, signature) for name, signature in signatures.items()
    }
    if not endpoints:
        raise ValueError(
            "`signatures` must have at least one entry. Received: none. Give "
            '{"serving_default": Signature(...)}.'
        )
    base_dir.mkdir(parents=True, exist_ok=True)
    # The server ignores names that are no integers.
    staging = pathlib.Path(tempfile.mkdtemp(prefix=".tmp-", dir=base_dir))
    try:
        staging.chmod(0o755)
        _save(staging, endpoints, track)
        _write_extras(staging, base_dir.name, endpoints, extra_files or {})
        if check:
            _check_answers(staging, endpoints)
        return publish(staging, base_dir, version)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


class _Endpoint:
    """A signature whose parts agree: dense specs, named, with an example that fits."""

    def __init__(self, name, signature):
        self.name = name
        self.specs = _named_specs(name, signature.specs)
        self.example = {
            key: _fit_example(name, spec, signature.example)
            for key, spec in self.specs.items()
        }
        unknown = signature.example.keys() - self.specs.keys()
        if unknown:
            raise ValueError(
                "`example` must have the names of `specs`. Received: "
                f"{sorted(unknown)} beside {list(self.specs)} in signature {name!r}. "
                "Remove or rename them."
            )
        self._function = signature.function

    def call(self, inputs):
        """Call the function and refuse what cannot be a response."""
        outputs = self._function(**inputs)
        dense = isinstance(outputs, dict) and all(
            isinstance(output, tf.Tensor) for output in outputs.values()
        )
        if not dense:
            raise TypeError(
                "A signature must return a dict from name to dense tensor. Received: "
                f"{_describe(outputs)} from {self.name!r}. Pad ragged tensors, or "
                "return strings."
            )
        return outputs

    def call_on_example(self):
        """Answer of the function itself, as numpy arrays by output name."""
        # The loader answers on the CPU; a GPU's TF32 would differ in the third digit.
        with tf.device("CPU:0"):
            inputs = {key: tf.constant(value) for key, value in self.example.items()}
            outputs = self.call(inputs)
        return {key: output.numpy() for key, output in outputs.items()}


def _describe(outputs):
    if not isinstance(outputs, dict):
        return type(outputs).__name__
    return str({key: type(output).__name__ for key, output in outputs.items()})


def _named_specs(signature_name, specs):
    if not isinstance(specs, dict):
        specs = {getattr(spec, "name", None): spec for spec in specs}
    for name, spec in specs.items():
        if not isinstance(spec, tf.TensorSpec) or not isinstance(name, str):
            raise TypeError(
                "`specs` must hold tf.TensorSpecs with names. Received: "
                f"{name}={spec} in signature {signature_name!r}. Inputs of a server "
                "are dense; make ragged tensors from them inside the function."
            )
        if not spec.shape.rank or spec.shape[0] is not None:
            raise ValueError(
                "Dimension 0 of every spec must be the batch and so None. Received: "
                f"{name}={spec.shape} in signature {signature_name!r}. Give shape "
                "[None, ...]."
            )
    return {
        name: tf.TensorSpec(spec.shape, spec.dtype, name=name)
        for name, spec in specs.items()
    }


def _fit_example(signature_name, spec, example):
    if spec.name not in example:
        raise ValueError(
            "`example` must have a value for every spec. Received: none for "
            f"{spec.name!r} in signature {signature_name!r}. Add one."
        )
    value = np.asarray(example[spec.name])
    value = value.astype(spec.dtype.as_numpy_dtype)
    if not spec.shape.is_compatible_with(value.shape):
        raise ValueError(
            "An example must have the shape of its spec. Received: "
            f"{value.shape} for {spec.name}={spec.shape} in signature "
            f"{signature_name!r}. Give a batch."
        )
    return value


def _save(directory, endpoints, track):
    archive = keras.export.ExportArchive()
    for resource in track:
        archive.track(resource)
        # Keras collects the tables below a resource itself, but skips all of them
        # when the walk meets a TypeError, as it can with wrapt on Python 3.13.
        for node in tf.train.TrackableView(resource).descendants():
            if isinstance(node, TrackableResource):
                archive.track(node)
    try:
        for name, endpoint in endpoints.items():
            archive.add_endpoint(name, endpoint.call, [endpoint.specs])
        archive.write_out(str(directory), verbose=False)
    except AssertionError as error:
        raise ValueError(
            "Everything that a signature's function uses must be in `track`. Received: "
            f"an untracked resource: {error}. Put the tf.Module that holds it there."
        ) from error


def _write_extras(directory, model_name, endpoints, extra_files):
    extras = directory / records.WARMUP_PATH.parent
    extras.mkdir(exist_ok=True)
    for name, content in extra_files.items():
        path = extras / name
        if path.parent != extras or path.name == records.WARMUP_PATH.name:
            raise ValueError(
                "`extra_files` must be plain file names other than the warm-up "
                f"file's. Received: {name!r}. Rename it."
            )
        data = content.encode("utf-8") if isinstance(content, str) else content
        path.write_bytes(data)
    payloads = [
        records.encode_request(model_name, name, endpoint.example)
        for name, endpoint in endpoints.items()
    ]
    records.write_records(directory / records.WARMUP_PATH, payloads)


def _check_answers(directory, endpoints):
    graph = SavedGraph(directory)
    requests = [
        Request(graph.signatures[name], endpoint.example)
        for name, endpoint in endpoints.items()
    ]
    report = run_in_c_loader(directory, graph, requests, _CHECK_SECONDS)
    if report.error:
        _refuse(advise(report.error))
    for finding in lint(graph, report.operations):
        if not finding.passed:
            _refuse(finding.reason)
    for answer, endpoint in zip(report.answers, endpoints.values(), strict=True):
        if answer.error:
            _refuse(f"signature {endpoint.name!r}: {advise(answer.error)}")
        for name, expected in endpoint.call_on_example().items():
            received = answer.outputs[name]
            if not _agree(expected, received):
                _refuse(
                    f"signature {endpoint.name!r} answers {name!r} with "
                    f"{received!r:.200}, its function with {expected!r:.200}"
                )


def _refuse(reason):
    raise ValueError(
        "A version must answer in TensorFlow's C loader as its functions do. "
        f"Received: {reason}. Nothing was published; `zoo.serving.diagnose` on an "
        "export made with check=False says more."
    )


def _agree(expected, received):
    if expected.shape != received.shape:
        return False
    if expected.dtype.kind == "f":
        return np.allclose(received, expected, rtol=_TOLERANCE, atol=_TOLERANCE)
    return bool(np.all(received == expected))
