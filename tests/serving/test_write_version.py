"""Publishing versions: what is written, what is refused, and nothing in between."""

import json
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorflow_serving.apis import prediction_log_pb2

from zoo.serving import Signature, diagnose, export, format_findings, write_version
from zoo.serving.graph import SavedGraph
from zoo.serving.session import Request, run_in_c_loader
from zoo.serving.warmup import WARMUP_PATH

FLOATS = tf.TensorSpec([None, 3], tf.float32, name="x")
EXAMPLE = {"x": np.ones((2, 3), np.float32)}


def double(x):
    return {"y": 2 * x, "z": -x}


def test_good_version_passes_every_check(good_version):
    findings = diagnose(good_version.parent)
    assert all(finding.passed for finding in findings), format_findings(findings)
    assert [finding.check for finding in findings] == (
        "directory tag signatures dense dtypes batch_dimension rest operations python "
        "xla cudnn state load answers repeat batching finite strings warm-up clients"
    ).split()
    assert format_findings(findings).endswith("20 of 20 checks passed")
    assert findings[-1].reason == "there is no earlier version"


def test_plain_export_of_keras_passes(tmp_path):
    inputs = keras.Input((3,), name="x")
    model = keras.Model(inputs, keras.layers.Dense(2)(inputs))
    model.export(tmp_path / "1", verbose=False)
    findings = diagnose(tmp_path)
    assert all(finding.passed for finding in findings), format_findings(findings)
    warnings = [f.check for f in findings if f.reason.startswith("warning:")]
    assert warnings == ["rest", "warm-up"]


def test_layout(good_version):
    assert good_version.name == "1"
    assert [path.name for path in good_version.parent.iterdir()] == ["1"]
    # The server in its container is another user.
    assert good_version.stat().st_mode & 0o777 == 0o755
    labels = good_version / "assets.extra" / "labels.txt"
    assert labels.read_text() == "negative\npositive\n"
    signatures = SavedGraph(good_version).signatures
    assert list(signatures) == ["serving_default", "tokens"]
    assert list(signatures["serving_default"].inputs) == ["text"]
    assert list(signatures["serving_default"].outputs) == ["label", "logits"]


def test_c_loader_answers_as_the_functions(good_version, classifier):
    graph = SavedGraph(good_version)
    texts = np.array(["good", "", "bad film", "Ünknown"])
    request = Request(graph.signatures["serving_default"], {"text": texts})
    report = run_in_c_loader(good_version, graph, [request], timeout=60)
    expected = classifier.classify(tf.constant(texts))
    answer = report.answers[0].outputs
    np.testing.assert_allclose(answer["logits"], expected["logits"], atol=1e-6)
    assert answer["label"].tolist() == expected["label"].numpy().tolist()


def test_warmup_is_read_by_the_official_classes(good_version):
    file = tf.data.TFRecordDataset(str(good_version / WARMUP_PATH))
    logs = [prediction_log_pb2.PredictionLog.FromString(r.numpy()) for r in file]
    requests = [log.predict_log.request for log in logs]
    names = [request.model_spec.signature_name for request in requests]
    assert names == ["serving_default", "tokens"]
    assert requests[0].model_spec.name == "clf"
    texts = tf.make_ndarray(requests[0].inputs["text"])
    assert [text.decode() for text in texts] == ["good film", "", "bad and Ünknown 🙂"]
    ids = tf.make_ndarray(requests[1].inputs["token_ids"])
    assert ids.dtype == np.int64 and ids.tolist() == [[1, 3, 0, 0, 0, 0]]


def test_versions_count_up_and_can_be_chosen(tmp_path):
    def write(version=None):
        signatures = {"double": Signature(double, [FLOATS], EXAMPLE)}
        return write_version(tmp_path / "m", signatures, [], version, check=False).name

    assert [write(), write(), write(10), write()] == ["1", "2", "10", "11"]
    signatures = SavedGraph(tmp_path / "m" / "1").signatures
    assert list(signatures) == ["double", "serving_default"]
    with pytest.raises(FileExistsError, match="must not be overwritten.*version=2"):
        write(2)
    with pytest.raises(ValueError, match="`version` must be an integer.*'v1'"):
        write("v1")
    with pytest.raises(ValueError, match="`version` must be an integer.*version=0"):
        write(0)


class Wrong(tf.Module):
    """Answers otherwise as soon as it is not traced."""

    def __call__(self, x):
        return {"y": x + 1.0 if tf.executing_eagerly() else x}


def sum_rows(x):
    return {"y": tf.reduce_sum(x)}


def compiled(x):
    return {"y": tf.function(lambda x: 2 * x, jit_compile=True)(x)}


def nan(x):
    return {"y": x / 0 * 0}


@pytest.mark.parametrize(
    "function, message",
    [
        (Wrong(), "signature 'm' answers 'y' with .*, but its function with"),
        (nan, "signature 'm' answers 'y' with .*nan"),
        (sum_rows, "output 'y' of 'm' is a scalar"),
        (compiled, "requires XLA compilation"),
        (lambda x: {"y": tf.cast(x, "float16")}, "is float16"),
        (
            lambda x: {"y": tf.numpy_function(np.sin, [x], tf.float32)},
            "runs PyFunc",
        ),
    ],
    ids=["differs", "nan", "scalar", "compiled", "float16", "python"],
)
def test_refused_by_the_self_check(tmp_path, function, message):
    signatures = {"m": Signature(function, [FLOATS], EXAMPLE)}
    with pytest.raises(ValueError, match=f"(?s)must give the same answers.*{message}"):
        write_version(tmp_path, signatures, [])
    assert list(tmp_path.iterdir()) == []


def test_loading_failure_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(export, "_CHECK_SECONDS", 0.01)
    signatures = {"m": Signature(double, [FLOATS], EXAMPLE)}
    with pytest.raises(ValueError, match="must give the same.*no answer within 0.01 s"):
        write_version(tmp_path, signatures, [])
    assert list(tmp_path.iterdir()) == []


def test_untracked_resource(tmp_path, classifier):
    signatures = classifier.signatures()
    with pytest.raises(ValueError, match="(?s)must be in `track`.*untracked resource"):
        write_version(tmp_path, signatures, [classifier.model], check=False)
    assert list(tmp_path.iterdir()) == []


def test_tables_are_tracked_where_keras_skips_them(tmp_path, monkeypatch, classifier):
    # On Python 3.13 the walk of Keras can end in a TypeError, which it swallows; here
    # every walk from a module does.
    children = tf.train.TrackableView.children.__func__
    failed = []

    def fail(cls, obj, save_type="checkpoint", **options):
        if save_type == "savedmodel" and isinstance(obj, tf.Module):
            failed.append(obj)
            raise TypeError("wrapt")
        return children(cls, obj, save_type, **options)

    monkeypatch.setattr(tf.train.TrackableView, "children", classmethod(fail))
    version = write_version(tmp_path, classifier.signatures(), classifier.track)
    assert classifier.tokenizer in failed
    assert all(finding.passed for finding in diagnose(version))


BATCH = "Dimension 0 of every spec must be the batch"
NAMES = "`specs` must hold tf.TensorSpecs with names"
# What is wrong in a signature, and the error.
REFUSED = {
    "ragged": (
        {"function": lambda x: {"y": tf.RaggedTensor.from_tensor(x)}},
        TypeError,
        "dict from name to dense tensor.*RaggedTensor",
    ),
    "no dict": ({"function": lambda x: x}, TypeError, "dense tensor.*Received: "),
    "ragged spec": (
        {"specs": {"x": tf.RaggedTensorSpec([None, None])}},
        TypeError,
        f"{NAMES}.*RaggedTensorSpec",
    ),
    "no name": ({"specs": [tf.TensorSpec([None, 3])]}, TypeError, NAMES),
    "fixed batch": ({"specs": {"x": tf.TensorSpec([2, 3])}}, ValueError, BATCH),
    "scalar": (
        {"specs": {"x": tf.TensorSpec([])}, "example": {"x": 1.0}},
        ValueError,
        BATCH,
    ),
    "no value": ({"example": {}}, ValueError, "a value for every spec.*none for 'x'"),
    "shape": (
        {"example": {"x": np.ones(3)}},
        ValueError,
        r"must have the shape of its spec.*\(3,\) for x=\(None, 3\)",
    ),
    "names": (
        {"example": {**EXAMPLE, "mask": 1}},
        ValueError,
        r"`example` must have the names of `specs`.*\['mask'\]",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_signatures(tmp_path, name):
    changes, error, message = REFUSED[name]
    valid = {"function": double, "specs": [FLOATS], "example": EXAMPLE}
    with pytest.raises(error, match=f"(?s){message}"):
        signatures = {"m": Signature(**{**valid, **changes})}
        write_version(tmp_path / "m", signatures, [], check=False)
    assert not list(tmp_path.glob("m/*"))


def test_no_signature(tmp_path):
    with pytest.raises(ValueError, match="`signatures` must have at least one entry"):
        write_version(tmp_path, {}, [])


def test_other_backends(tmp_path, monkeypatch):
    monkeypatch.setattr(keras.config, "backend", lambda: "jax")
    with pytest.raises(ValueError, match="needs the Keras backend tensorflow.*jax"):
        write_version(tmp_path, {}, [])


@pytest.mark.parametrize("name", ["../out.txt", WARMUP_PATH.name])
def test_refused_extra_files(tmp_path, name):
    signatures = {"m": Signature(double, [FLOATS], EXAMPLE)}
    with pytest.raises(ValueError, match="`extra_files` must be file names without"):
        write_version(tmp_path / "m", signatures, [], extra_files={name: "text"})
    assert [path.name for path in tmp_path.iterdir()] == ["m"]
    assert list((tmp_path / "m").iterdir()) == []


def test_doctor_does_not_import_tensorflow(good_version):
    program = (
        "import json, sys; from zoo import serving; "
        f"serving.format_findings(serving.diagnose({str(good_version)!r})); "
        "print(json.dumps(sorted({'tensorflow', 'keras'} & set(sys.modules))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True
    )
    assert json.loads(done.stdout) == []
