"""Models that a server cannot serve: the doctor must name the reason, and only it."""

import importlib
import shutil

import keras
import numpy as np
import pytest
import tensorflow as tf

from zoo.serving import session, warmup

FLOATS = tf.TensorSpec([None, 3], tf.float32, name="x")
TEXT = tf.TensorSpec([None], tf.string, name="text")


def test_keras_model_through_tf_saved_model_save(tmp_path, failures):
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    directory = tmp_path / "1"
    serve = tf.function(lambda x: {"y": model(x), "z": -model(x)}, [FLOATS])
    tf.saved_model.save(model, str(directory), signatures=serve)
    reloaded = tf.saved_model.load(str(directory))
    reloaded.signatures["serving_default"](x=tf.ones((1, 3)))
    found = failures(directory)
    assert set(found) == {"answers"}
    assert "export with keras.export.ExportArchive" in found["answers"]
    assert "Could not find variable" in found["answers"]


def run_numpy(x):
    y = tf.numpy_function(lambda value: value + 1, [x], tf.float32)
    return tf.ensure_shape(y, x.shape)


def decode(image):
    one = tf.io.decode_jpeg(image[0], channels=3)
    return tf.repeat(tf.reduce_sum(one), tf.shape(image)[0])


def divide_by_length(text):
    length = tf.cast(tf.strings.length(text), tf.float32)
    return length / length


OUTPUT = "output 'y' of 'serving_default' is "
# A function, the type of its input, and the failed checks with parts of reasons.
FAULTS = {
    "float16": (
        lambda x: tf.cast(x, "float16"),
        FLOATS,
        {"dtypes": OUTPUT + "float16"},
    ),
    "bfloat16": (
        lambda x: tf.cast(x, "bfloat16"),
        FLOATS,
        {"dtypes": "is bfloat16, which the server's JSON does not support"},
    ),
    **{
        f"input of {dtype}": (
            lambda x: x + x,
            tf.TensorSpec([None, 3], dtype, name="x"),
            {"dtypes": "input 'x' of 'serving_default' is"},
        )
        for dtype in ("float16", "bfloat16", "complex64")
    },
    "ragged": (tf.strings.split, TEXT, {"dense": OUTPUT + "ragged or sparse"}),
    "Python": (
        run_numpy,
        FLOATS,
        {"python": "runs PyFunc; an export does not contain Python", "answers": ""},
    ),
    "random numbers": (
        lambda x: x + tf.random.uniform(tf.shape(x)),
        FLOATS,
        {"repeat": "uses random numbers", "batching": ""},
    ),
    "other rows": (
        lambda x: x - tf.reduce_mean(x, 0),
        FLOATS,
        {"batching": "differs between a single row and a batch"},
    ),
    "scalar": (
        tf.reduce_sum,
        FLOATS,
        {
            "batch_dimension": OUTPUT + "a scalar",
            "batching": "dimension 0 must be the batch",
        },
    ),
    "pictures": (decode, TEXT, {"answers": "give it warm-up records"}),
    "width of the batch": (lambda t: tf.strings.split(t).to_tensor(""), TEXT, {}),
    "NaN": (
        divide_by_length,
        TEXT,
        {"finite": "NaN or infinite in the answer to the empty string"},
    ),
    "bytes": (
        lambda text: text + b"\xff",
        TEXT,
        {"strings": "is not UTF-8; give it a name that ends"},
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_faulty_function_fails_these_checks_only(save_function, failures, name):
    function, spec, reasons = FAULTS[name]
    found = failures(save_function(lambda x: {"y": function(x)}, spec))
    assert found.keys() == reasons.keys()
    assert all(reason in found[check] for check, reason in reasons.items())


def test_text_whose_name_is_that_of_bytes(save_function, failures):
    found = failures(save_function(lambda t: {"y_bytes": tf.strings.upper(t)}, TEXT))
    assert set(found) == {"strings"}
    assert "'y_bytes' of 'serving_default' is text" in found["strings"]


@pytest.mark.parametrize("name", ["XlaDynamicUpdateSlice", "MyCustomTanh"])
def test_an_operation_that_the_server_lacks(save_function, edit_graph, failures, name):
    directory = save_function(lambda x: {"y": tf.tanh(x)}, FLOATS)

    def rename(graph):
        for function in graph.graph_def.functions.function:
            for node in function.node_def:
                node.op = node.op.replace("Tanh", name)

    found = failures(edit_graph(directory, rename))
    if name.startswith("Xla"):
        assert f"runs {name}; the server does not compile" in found["xla"]
        assert "operations" not in found
        return
    assert f"the server has no operation {name}" in found["operations"]
    message = found.get("load", found.get("answers"))
    assert f"Op type not registered '{name}'" in message


def export(model, shape, directory):
    """Exports a Keras model of one input, as anybody might."""
    archive = keras.export.ExportArchive()
    archive.track(model)
    spec = tf.TensorSpec(shape, tf.float32, name="x")
    archive.add_endpoint("serve", lambda x: {"y": model(x)}, [spec])
    archive.write_out(str(directory), verbose=False)
    return directory


def test_stateful_lstm(tmp_path, failures):
    layer = keras.layers.LSTM(2, stateful=True, use_cudnn=False)
    model = keras.Sequential([keras.Input(batch_shape=(1, 4, 3)), layer])
    found = failures(export(model, [1, 4, 3], tmp_path / "1"))
    assert {"state", "repeat", "batch_dimension"} <= set(found)
    assert "AssignVariableOp" in found["state"]
    assert "keeps state between requests" in found["repeat"]
    assert "fixed dimension 0 of 1" in found["batch_dimension"]


def test_cudnn_layer(tmp_path, monkeypatch, failures):
    # No GPU is needed to trace what Keras would build where it sees one.
    backend = importlib.import_module("keras.src.backend.tensorflow.rnn")
    monkeypatch.setattr(backend, "_is_gpu_available", lambda: True)
    model = keras.Sequential([keras.Input((4, 3)), keras.layers.LSTM(2)])
    found = failures(export(model, [None, 4, 3], tmp_path / "1"))
    assert set(found) == {"cudnn", "answers"}
    assert "CudnnRNN" in found["cudnn"]
    assert "build the layer with use_cudnn=False" in found["answers"]


def test_jit_compile(save_function, failures):
    found = failures(save_function(lambda x: {"y": x * 2}, FLOATS, jit_compile=True))
    assert set(found) == {"xla", "answers"}
    assert "requires XLA compilation" in found["xla"]
    assert "export without jit_compile=True" in found["answers"]


def test_variable_assignment(save_function, failures):
    module = tf.Module()
    module.count = tf.Variable(0.0)
    found = failures(
        save_function(lambda x: {"y": x + module.count.assign_add(1.0)}, FLOATS, module)
    )
    assert {"state", "repeat"} <= set(found)
    assert "runs AssignAddVariableOp" in found["state"]


def test_scalar_input(tmp_path, failures):
    module = tf.Module()
    specs = [FLOATS, tf.TensorSpec([], tf.float32, name="temperature")]
    module.serve = tf.function(lambda x, temperature: {"y": x / temperature}, specs)
    directory = tmp_path / "1"
    tf.saved_model.save(module, str(directory), signatures=module.serve)
    found = failures(directory)
    assert set(found) == {"batch_dimension"}
    message = "input 'temperature' of 'serving_default' is a scalar"
    assert message in found["batch_dimension"]


@pytest.mark.parametrize(
    "change, check, message",
    [
        (
            lambda graph: graph.signature_def.pop("serving_default"),
            "signatures",
            "there is no 'serving_default'",
        ),
        (
            lambda graph: setattr(
                graph.signature_def["tokens"], "method_name", "my/method"
            ),
            "signatures",
            "signature 'tokens' has the method name 'my/method'",
        ),
        (
            lambda graph: graph.meta_info_def.tags.append("gpu"),
            "tag",
            "tags here: [['serve', 'gpu']]",
        ),
    ],
    ids=["default", "method", "tag"],
)
def test_edited_declarations(
    version_copy, edit_graph, failures, change, check, message
):
    found = failures(edit_graph(version_copy, change))
    assert message in found[check]


@pytest.mark.parametrize(
    "damage, message",
    [
        (lambda d: d[:20] + bytes([d[20] ^ 1]) + d[21:], "record 0 with a wrong CRC"),
        (lambda data: data[:-3], "record 1 is incomplete"),
    ],
    ids=["checksum", "length"],
)
def test_damaged_warmup_records(version_copy, failures, damage, message):
    path = version_copy / warmup.WARMUP_PATH
    path.write_bytes(damage(path.read_bytes()))
    found = failures(version_copy)
    assert set(found) == {"warm-up"}
    assert message in found["warm-up"]
    assert "the server does not load a version whose warm-up" in found["warm-up"]


def encode(name, ids, signature="tokens"):
    return warmup.encode_request("clf", signature, {name: ids})


IDS = np.zeros((1, 6), np.int64)
WARMUPS = {
    "signature": (encode("token_ids", IDS, "classify"), "is no signature 'classify'"),
    "names": (
        encode("ids", IDS),
        r"the inputs ['ids'] must be those of 'tokens', ['token_ids']",
    ),
    "dtype": (
        encode("token_ids", IDS.astype("int32")),
        "input 'token_ids' is int32, but 'tokens' takes int64",
    ),
    "shape": (encode("token_ids", IDS[:, :4]), "a record fails: "),
    "bytes": (b"\xff\xff", "must be a PredictionLog"),
    "count": (encode("token_ids", IDS), "there are 1001 records"),
}


@pytest.mark.shown("names", "shape", "count")
@pytest.mark.parametrize("name", WARMUPS)
def test_warmup_that_does_not_fit(version_copy, failures, name):
    payload, message = WARMUPS[name]
    payloads = [payload] * (1001 if name == "count" else 1)
    warmup.write_records(version_copy / warmup.WARMUP_PATH, payloads)
    assert message in failures(version_copy)["warm-up"]


def test_model_that_hangs(save_function, failures):
    def function(x):
        loop = tf.while_loop(lambda y: tf.reduce_sum(y) > -1, lambda y: [y * 1.0], [x])
        return {"y": loop[0]}

    found = failures(save_function(function, FLOATS), timeout=4)
    assert "a request does not end" in found["answers"]


def test_process_that_crashes(good_version, tmp_path, monkeypatch, failures):
    program = tmp_path / "crash.py"
    program.write_text("import os; os.write(2, b'last words'); os.abort()")
    monkeypatch.setattr(session, "_PROGRAM", program)
    found = failures(good_version)
    assert "the process ended with code -6: last words" in found["load"]
    assert "could not be read; see `load`" in found["operations"]
    assert "answers" not in found


def test_directory_whose_name_is_no_version(good_version, tmp_path, failures):
    found = failures(shutil.copytree(good_version, tmp_path / "v1"))
    assert set(found) == {"directory"}
    assert "the server ignores 'v1'" in found["directory"]
