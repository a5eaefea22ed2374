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


def test_stateful_lstm(tmp_path, failures):
    layer = keras.layers.LSTM(2, stateful=True, use_cudnn=False)
    model = keras.Sequential([keras.Input(batch_shape=(1, 4, 3)), layer])
    archive = keras.export.ExportArchive()
    archive.track(model)
    spec = tf.TensorSpec([1, 4, 3], tf.float32, name="x")
    archive.add_endpoint("serve", lambda x: {"y": model(x)}, [spec])
    archive.write_out(str(tmp_path / "1"), verbose=False)
    found = failures(tmp_path / "1")
    assert {"state", "repeat", "batch_dimension"} <= set(found)
    assert "AssignVariableOp" in found["state"]
    assert "keeps state between requests" in found["repeat"]
    assert "fixed dimension 0 of 1" in found["batch_dimension"]


def test_jit_compile(save_function, failures):
    found = failures(save_function(lambda x: {"y": x * 2}, FLOATS, jit_compile=True))
    assert set(found) == {"xla", "answers"}
    assert "requires XLA compilation" in found["xla"]
    assert "export without jit_compile=True" in found["answers"]


def test_xla_operation(save_function, edit_graph, failures):
    directory = save_function(lambda x: {"y": tf.tanh(x)}, FLOATS)

    def rename(graph):
        for function in graph.graph_def.functions.function:
            for node in function.node_def:
                if node.op == "Tanh":
                    node.op = "XlaDynamicUpdateSlice"

    found = failures(edit_graph(directory, rename))
    assert "runs XlaDynamicUpdateSlice; the server does not compile" in found["xla"]
    assert "operations" not in found


def test_float16_output(save_function, failures):
    found = failures(save_function(lambda x: {"y": tf.cast(x, "float16")}, FLOATS))
    assert set(found) == {"dtypes"}
    assert "output 'y' of 'serving_default' is float16" in found["dtypes"]


def test_bfloat16_output(save_function, failures):
    found = failures(save_function(lambda x: {"y": tf.cast(x, "bfloat16")}, FLOATS))
    assert set(found) == {"dtypes"}
    assert "is bfloat16, which the server's JSON does not support" in found["dtypes"]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "complex64"])
def test_input_that_json_cannot_carry(save_function, failures, dtype):
    spec = tf.TensorSpec([None, 3], dtype, name="x")
    found = failures(save_function(lambda x: {"y": x + x}, spec))
    assert set(found) == {"dtypes"}
    assert "input 'x' of 'serving_default' is" in found["dtypes"]


def test_ragged_output(save_function, failures):
    directory = save_function(lambda text: {"y": tf.strings.split(text)}, TEXT)
    found = failures(directory)
    assert set(found) == {"dense"}
    assert "output 'y' of 'serving_default' is ragged or sparse" in found["dense"]


def test_python_function(save_function, failures):
    def function(x):
        y = tf.numpy_function(lambda value: value + 1, [x], tf.float32)
        return {"y": tf.ensure_shape(y, x.shape)}

    found = failures(save_function(function, FLOATS))
    assert set(found) == {"python", "answers"}
    assert "runs PyFunc; an export does not contain Python" in found["python"]


def test_missing_custom_operation(save_function, edit_graph, failures):
    directory = save_function(lambda x: {"y": tf.tanh(x)}, FLOATS)

    def rename(graph):
        for function in graph.graph_def.functions.function:
            for node in function.node_def:
                node.op = node.op.replace("Tanh", "MyCustomTanh")

    found = failures(edit_graph(directory, rename))
    assert "the server has no operation MyCustomTanh" in found["operations"]
    message = found.get("load", found.get("answers"))
    assert "Op type not registered 'MyCustomTanh'" in message


def test_cudnn_layer(tmp_path, monkeypatch, failures):
    # No GPU is needed to trace what Keras would build where it sees one.
    backend = importlib.import_module("keras.src.backend.tensorflow.rnn")
    monkeypatch.setattr(backend, "_is_gpu_available", lambda: True)
    model = keras.Sequential([keras.Input((4, 3)), keras.layers.LSTM(2)])
    archive = keras.export.ExportArchive()
    archive.track(model)
    spec = tf.TensorSpec([None, 4, 3], tf.float32, name="x")
    archive.add_endpoint("serve", lambda x: {"y": model(x)}, [spec])
    archive.write_out(str(tmp_path / "1"), verbose=False)
    found = failures(tmp_path / "1")
    assert set(found) == {"cudnn", "answers"}
    assert "CudnnRNN" in found["cudnn"]
    assert "build the layer with use_cudnn=False" in found["answers"]


def test_variable_assignment(save_function, failures):
    module = tf.Module()
    module.count = tf.Variable(0.0)
    found = failures(
        save_function(lambda x: {"y": x + module.count.assign_add(1.0)}, FLOATS, module)
    )
    assert {"state", "repeat"} <= set(found)
    assert "runs AssignAddVariableOp" in found["state"]


def test_random_answer(save_function, failures):
    found = failures(
        save_function(lambda x: {"y": x + tf.random.uniform(tf.shape(x))}, FLOATS)
    )
    assert set(found) == {"repeat", "batching"}
    assert "uses random numbers" in found["repeat"]


def test_answer_that_depends_on_the_batch(save_function, failures):
    found = failures(save_function(lambda x: {"y": x - tf.reduce_mean(x, 0)}, FLOATS))
    assert set(found) == {"batching"}
    assert "differs between a single row and a batch" in found["batching"]


def test_scalar_output(save_function, failures):
    found = failures(save_function(lambda x: {"y": tf.reduce_sum(x)}, FLOATS))
    assert set(found) == {"batch_dimension", "batching"}
    assert "output 'y' of 'serving_default' is a scalar" in found["batch_dimension"]
    assert "dimension 0 must be the batch" in found["batching"]


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


def test_requests_that_make_no_sense_to_the_model(save_function, failures):
    def decode(image):
        one = tf.io.decode_jpeg(image[0], channels=3)
        return {"y": tf.repeat(tf.reduce_sum(one), tf.shape(image)[0])}

    found = failures(save_function(decode, TEXT))
    assert set(found) == {"answers"}
    assert "give it warm-up records" in found["answers"]


def test_width_of_the_batch_is_only_a_warning(save_function, failures):
    directory = save_function(
        lambda text: {"y": tf.strings.split(text).to_tensor("")}, TEXT
    )
    assert failures(directory) == {}


def test_nan_for_the_empty_string(save_function, failures):
    def function(text):
        length = tf.cast(tf.strings.length(text), tf.float32)
        return {"y": length / length}

    found = failures(save_function(function, TEXT))
    assert set(found) == {"finite"}
    assert "NaN or infinite in the answer to the empty string" in found["finite"]


@pytest.mark.parametrize(
    "name, function, message",
    [
        ("y_bytes", tf.strings.upper, "'y_bytes' of 'serving_default' is text"),
        ("y", lambda text: text + b"\xff", "is not UTF-8; give it a name that ends"),
    ],
)
def test_text_and_bytes(save_function, failures, name, function, message):
    found = failures(save_function(lambda text: {name: function(text)}, TEXT))
    assert set(found) == {"strings"}
    assert message in found["strings"]


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


def warmup_path(directory):
    return directory / warmup.WARMUP_PATH


def test_warmup_with_a_wrong_checksum(version_copy, failures):
    data = bytearray(warmup_path(version_copy).read_bytes())
    data[20] ^= 1
    warmup_path(version_copy).write_bytes(data)
    found = failures(version_copy)
    assert set(found) == {"warm-up"}
    assert "record 0 with a wrong CRC" in found["warm-up"]
    assert "the server does not load a version whose warm-up" in found["warm-up"]


def test_warmup_cut_short(version_copy, failures):
    data = warmup_path(version_copy).read_bytes()
    warmup_path(version_copy).write_bytes(data[:-3])
    assert "record 1 is incomplete" in failures(version_copy)["warm-up"]


IDS = np.zeros((1, 6), np.int64)


@pytest.mark.shown("names", "shape")
@pytest.mark.parametrize(
    "payload, message",
    [
        (
            warmup.encode_request("clf", "classify", {"text": np.array(["a"])}),
            "there is no signature 'classify'",
        ),
        (
            warmup.encode_request("clf", "tokens", {"ids": IDS}),
            r"the inputs ['ids'] must be those of 'tokens', ['token_ids']",
        ),
        (
            warmup.encode_request("clf", "tokens", {"token_ids": IDS.astype("int32")}),
            "input 'token_ids' is int32, but 'tokens' takes int64",
        ),
        (
            warmup.encode_request("clf", "tokens", {"token_ids": IDS[:, :4]}),
            "a record fails: ",
        ),
        (b"\xff\xff", "must be a PredictionLog"),
    ],
    ids=["signature", "names", "dtype", "shape", "bytes"],
)
def test_warmup_that_does_not_fit(version_copy, failures, payload, message):
    warmup.write_records(warmup_path(version_copy), [payload])
    assert message in failures(version_copy)["warm-up"]


def test_too_many_warmup_records(version_copy, failures):
    payload = warmup.encode_request("clf", "tokens", {"token_ids": IDS})
    warmup.write_records(warmup_path(version_copy), [payload] * 1001)
    assert "there are 1001 records" in failures(version_copy)["warm-up"]


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
