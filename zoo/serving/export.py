"""Writes versions of a model for TensorFlow Serving, and checks them before use."""

import dataclasses
import pathlib
import tempfile
from collections.abc import Callable

import keras
import numpy as np
import tensorflow as tf
from tensorflow.saved_model.experimental import TrackableResource

from zoo.files.buckets import local_path
from zoo.files.whole_files import WRITE_FAILURES, WriteErrors, removed_at_end
from zoo.serving.answers import advise, same
from zoo.serving.changes import warn_of_changes
from zoo.serving.graph import SavedGraph
from zoo.serving.lint import lint
from zoo.serving.session import Request, run_in_c_loader
from zoo.serving.versions import check_version, publish
from zoo.serving.warmup import WARMUP_PATH, encode_request, write_records

_TOLERANCE = 1e-5
_CHECK_SECONDS = 600


@dataclasses.dataclass(frozen=True)
class Signature:
    """A function that clients of the server can call.

    Args:
        function: function with one keyword argument for each spec, a tensor. It returns
            a dict from output name to dense tensor. Dimension 0 of all tensors is the
            batch.
        specs: dict from input name to tf.TensorSpec, or list of specs with names. With
            one input, REST clients can send values without the input's name.
        example: dict from input name to numpy array, a valid request. `write_version`
            sends it to the model. The server sends it before it makes the version
            available.
    """

    function: Callable
    specs: dict | list
    example: dict


def write_version(
    base_dir, signatures, track, version=None, check=True, extra_files=None
):
    """Exports a model as a new version directory for TensorFlow Serving.

    The version is written under a temporary name, which the server ignores. Then a
    self-check loads it as the server does, in a process that imports neither Keras nor
    TensorFlow for Python. It sends the examples and compares the answers with those of
    the functions. A warning lists what clients of the last version will find changed.
    At the end the directory is renamed to its version number. Several processes may
    export to the same `base_dir` at the same time: each gets a version of its own.

    Args:
        base_dir: path of the directory of the model. Missing directories are created.
        signatures: dict from name to Signature. The first one is also
            `serving_default`.
        track: list of tf.Modules and Keras models that hold everything that the
            functions use: variables, lookup tables, assets.
        version: int of at least 1, or None for the highest existing version plus one.
        check: bool, whether to run the self-check.
        extra_files: dict from file name to str or bytes, stored in `assets.extra`.

    Returns:
        pathlib.Path of the version directory.

    Raises:
        FileExistsError: if the version exists.
        OSError: if the disk is full or the permission to write is missing. Nothing is
            written then.
        TypeError: if an input or output is not a dense tensor.
        ValueError: if a name, a spec or an example is wrong, a resource is not tracked,
            the model breaks a rule of the server, or it answers differently after
            loading.
    """
    if keras.config.backend() != "tensorflow":
        raise ValueError(
            "An export needs the Keras backend tensorflow. Received: "
            f"{keras.config.backend()}. Save the model, set KERAS_BACKEND=tensorflow "
            "and load it in a new process."
        )
    base_dir = local_path(base_dir)
    check_version(base_dir, version)
    if not signatures:
        raise ValueError(
            "`signatures` must have at least one entry. Received: none. Give "
            '{"serving_default": Signature(...)}.'
        )
    endpoints = {name: _Endpoint(name, s) for name, s in signatures.items()}
    with WriteErrors(base_dir, WRITE_FAILURES):
        base_dir.mkdir(parents=True, exist_ok=True)
        # The server ignores names that are not integers.
        staging = pathlib.Path(tempfile.mkdtemp(prefix=".tmp-", dir=base_dir))
    with removed_at_end(staging), WriteErrors(base_dir):
        staging.chmod(0o755)
        _save(staging, endpoints, track)
        _write_extras(staging, base_dir.name, endpoints, extra_files or {})
        if check:
            _check_answers(staging, endpoints)
        warn_of_changes(staging, base_dir, version)
        return publish(staging, base_dir, version)


class _Endpoint:
    """A checked `Signature`; TypeError and ValueError for wrong specs or examples."""

    def __init__(self, name, signature):
        self.name = name
        self.specs = _named_specs(name, signature.specs)
        self.example = {}
        for key, spec in self.specs.items():
            if key not in signature.example:
                raise ValueError(
                    "`example` must have a value for every spec. Received: none for "
                    f"{key!r} in signature {name!r}. Add one."
                )
            value = np.asarray(signature.example[key])
            self.example[key] = value.astype(spec.dtype.as_numpy_dtype)
            if not spec.shape.is_compatible_with(value.shape):
                raise ValueError(
                    "An example must have the shape of its spec. Received: "
                    f"{value.shape} for {key}={spec.shape} in signature {name!r}. Give "
                    "a batch."
                )
        unknown = signature.example.keys() - self.specs.keys()
        if unknown:
            raise ValueError(
                "`example` must have the names of `specs`. Received: "
                f"{sorted(unknown)} in signature {name!r}, whose specs are "
                f"{list(self.specs)}. Remove or rename them."
            )
        self._function = signature.function

    def call(self, inputs):
        """Calls the function and checks that the server can send its outputs."""
        outputs = self._function(**inputs)
        received = type(outputs).__name__
        if isinstance(outputs, dict):
            if all(isinstance(output, tf.Tensor) for output in outputs.values()):
                return outputs
            received = {key: type(output).__name__ for key, output in outputs.items()}
        raise TypeError(
            "A signature must return a dict from name to dense tensor. Received: "
            f"{received} from {self.name!r}. Pad ragged tensors, or return strings."
        )

    def call_on_example(self):
        """Calls the function; returns a dict from output name to numpy array."""
        # The C loader uses the CPU. TF32 on a GPU would differ in the third digit.
        with tf.device("CPU:0"):
            inputs = {key: tf.constant(value) for key, value in self.example.items()}
            outputs = self.call(inputs)
        return {key: output.numpy() for key, output in outputs.items()}


def _named_specs(signature_name, specs):
    if not isinstance(specs, dict):
        specs = {getattr(spec, "name", None): spec for spec in specs}
    for name, spec in specs.items():
        if not isinstance(spec, tf.TensorSpec) or not isinstance(name, str):
            raise TypeError(
                "`specs` must hold tf.TensorSpecs with names. Received: "
                f"{name}={spec} in signature {signature_name!r}. A server takes only "
                "dense inputs. Make ragged tensors inside the function."
            )
        if not spec.shape.rank or spec.shape[0] is not None:
            raise ValueError(
                "Dimension 0 of every spec must be the batch, None. Received: "
                f"{name}={spec.shape} in signature {signature_name!r}. Give shape "
                "[None, ...]."
            )
    return {
        name: tf.TensorSpec(spec.shape, spec.dtype, name=name)
        for name, spec in specs.items()
    }


def _save(directory, endpoints, track):
    archive = keras.export.ExportArchive()
    for resource in track:
        archive.track(resource)
        # Keras collects the tables of a resource itself. But if it meets a TypeError,
        # which wrapt can raise on Python 3.13, it skips all of them.
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
            f"an untracked resource: {error}. Add the tf.Module that holds it."
        ) from error


def _write_extras(directory, model_name, endpoints, extra_files):
    extras = directory / WARMUP_PATH.parent
    extras.mkdir(exist_ok=True)
    for name, content in extra_files.items():
        path = extras / name
        if path.parent != extras or path.name == WARMUP_PATH.name:
            raise ValueError(
                "`extra_files` must be file names without a directory, other than "
                f"{WARMUP_PATH.name!r}. Received: {name!r}. Rename it."
            )
        data = content.encode("utf-8") if isinstance(content, str) else content
        path.write_bytes(data)
    payloads = [
        encode_request(model_name, name, endpoint.example)
        for name, endpoint in endpoints.items()
    ]
    write_records(directory / WARMUP_PATH, payloads)


def _check_answers(directory, endpoints):
    graph = SavedGraph(directory)
    requests = [
        Request(graph.signatures[name], end.example) for name, end in endpoints.items()
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
            if not same(received, expected, _TOLERANCE, equal_nan=False):
                _refuse(
                    f"signature {endpoint.name!r} answers {name!r} with "
                    f"{received!r:.200}, but its function with {expected!r:.200}"
                )


def _refuse(reason):
    raise ValueError(
        "A version must give the same answers in TensorFlow's C loader as its "
        f"functions. Received: {reason}. Nothing was published. For details, export "
        "with check=False and call `zoo.serving.diagnose`."
    )
