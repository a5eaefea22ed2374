"""Our protocol buffers and TFRecords against TensorFlow's own readers."""

import numpy as np
import pytest
import tensorflow as tf
from functions import functions_of
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow_serving.apis import prediction_log_pb2

from zoo.serving import warmup, wire
from zoo.serving.graph import SavedGraph

ARRAYS = [
    np.array([[1.5, -2.0], [0.0, np.inf]], np.float32),
    np.array(3.25, np.float64),
    np.array([1, -(2**62)], np.int64),
    np.array([[-7]], np.int32),
    np.array([-7, 7], np.int16),
    np.array([-7, 7], np.int8),
    np.array([255], np.uint8),
    np.array([2**32 - 1], np.uint32),
    np.array([2**64 - 1], np.uint64),
    np.array([True, False]),
    np.array([[b"a\0", b""]], object),
    np.zeros((0, 4), np.float32),
]


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: str(array.dtype))
def test_tensors_are_those_of_tensorflow(array):
    written = wire.encode_tensor(array).SerializeToString()
    proto = tf.make_tensor_proto(array)
    official = type(proto).FromString(written)
    theirs = tf.make_ndarray(official)
    assert theirs.tolist() == array.tolist() and theirs.dtype == array.dtype
    read = wire.decode_tensor(wire.TensorProto.FromString(proto.SerializeToString()))
    assert read.tolist() == array.tolist() and read.dtype == array.dtype
    ours = wire.decode_tensor(wire.TensorProto.FromString(written))
    assert ours.tolist() == array.tolist()


def test_repeated_last_values_are_filled_in():
    proto = tf.make_tensor_proto(1.5, shape=[2, 2])
    read = wire.decode_tensor(wire.TensorProto.FromString(proto.SerializeToString()))
    assert read.tolist() == [[1.5, 1.5], [1.5, 1.5]]


def test_texts_become_utf8():
    proto = wire.encode_tensor(np.array(["Ü", "🙂"]))
    assert wire.decode_tensor(proto).tolist() == ["Ü".encode(), "🙂".encode()]


def test_refused_tensors():
    with pytest.raises(TypeError, match="numbers, booleans or strings.*complex128"):
        wire.encode_tensor(np.array([1j]))
    half = tf.make_tensor_proto(np.ones(2, np.float16)).SerializeToString()
    with pytest.raises(ValueError, match="must hold float32.*DataType 19"):
        wire.decode_tensor(wire.TensorProto.FromString(half))
    proto = wire.encode_tensor(np.ones(3, np.float32))
    proto.tensor_shape.dim[0].size = 4
    with pytest.raises(ValueError, match=r"as many values.*3 values for shape \[4\]"):
        wire.decode_tensor(proto)


def test_graph_is_read_as_tensorflow_reads_it(good_version):
    official = saved_model_pb2.SavedModel.FromString(
        (good_version / "saved_model.pb").read_bytes()
    ).meta_graphs[0]
    nodes = list(official.graph_def.node)
    names = {function.signature.name for function in functions_of(official.graph_def)}
    for function in functions_of(official.graph_def):
        nodes += function.node_def
    graph = SavedGraph(good_version)
    assert graph.operations() == {node.op for node in nodes} - names
    signature = official.signature_def["tokens"]
    assert graph.signatures["tokens"].method_name == signature.method_name
    endpoint = graph.signatures["tokens"].inputs["token_ids"]
    assert endpoint.tensor == signature.inputs["token_ids"].name
    assert (endpoint.dtype, endpoint.shape) == ("int64", (-1, 6))


def test_reachable_leaves_out_saving_and_restoring(good_version):
    graph = SavedGraph(good_version)
    assert {"SaveV2", "RestoreV2"} <= graph.operations()
    nodes, functions = graph.reachable(graph.signatures["tokens"])
    operations = {node.op for node in nodes}
    assert "MatMul" in operations and functions
    assert not {"SaveV2", "RestoreV2", "LookupTableFindV2"} & operations


def test_reachable_follows_control_inputs_and_lists_of_functions(tmp_path):
    saved_model = saved_model_pb2.SavedModel()
    meta = saved_model.meta_graphs.add()
    meta.meta_info_def.tags.append("serve")
    meta.signature_def["serving_default"].outputs["y"].name = "y:0"
    meta.graph_def.node.add(name="y", op="Case", input=["x:1", "^change"])
    branch = meta.graph_def.node[0].attr["branches"].list.func.add()
    branch.name = "branch"
    for name in ("x", "change", "other"):
        meta.graph_def.node.add(name=name, op=name.title())
    function = functions_of(meta.graph_def).add()
    function.signature.name = "branch"
    function.node_def.add(name="x", op="InBranch")
    function.node_def.add(name="z", op="branch")
    path = tmp_path / "saved_model.pb"
    path.write_bytes(saved_model.SerializeToString())
    graph = SavedGraph(tmp_path)
    nodes, _ = graph.reachable(graph.signatures["serving_default"])
    assert {node.op for node in nodes} == {"Case", "X", "Change", "InBranch", "branch"}
    assert graph.operations() == {"Case", "X", "Change", "InBranch", "Other"}
    meta.meta_info_def.tags.append("gpu")
    path.write_bytes(saved_model.SerializeToString())
    assert SavedGraph(tmp_path).signatures == {}


def test_broken_files(tmp_path):
    with pytest.raises(FileNotFoundError, match="must hold a saved_model.pb"):
        SavedGraph(tmp_path)
    (tmp_path / "saved_model.pb").write_bytes(b"\xff")
    with pytest.raises(ValueError, match="must be a SavedModel protocol buffer"):
        SavedGraph(tmp_path)


def test_records_are_those_of_tensorflow(tmp_path):
    payloads = [b"", b"123456789", bytes(range(256)) * 3]
    warmup.write_records(tmp_path / "ours", payloads)
    theirs = tf.data.TFRecordDataset(str(tmp_path / "ours"))
    assert [record.numpy() for record in theirs] == payloads
    with tf.io.TFRecordWriter(str(tmp_path / "theirs")) as writer:
        for payload in payloads:
            writer.write(payload)
    assert warmup.read_records(tmp_path / "theirs") == payloads


def test_requests_written_by_the_official_classes():
    log = prediction_log_pb2.PredictionLog()
    assert warmup.decode_request(log.SerializeToString()) is None
    inputs = log.predict_log.request.inputs
    inputs["text"].CopyFrom(tf.make_tensor_proto(["a", "b"]))
    name, read = warmup.decode_request(log.SerializeToString())
    assert name == "serving_default"
    assert read["text"].tolist() == [b"a", b"b"]


def test_crc_of_the_standard():
    # RFC 3720, B.4: the CRC-32C of 32 zero bytes.
    crc = 0x8A9136AA
    masked = ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
    assert warmup.masked_crc32c(bytes(32)) == masked


def test_broken_records(tmp_path):
    path = tmp_path / "records"
    warmup.write_records(path, [b"abc"])
    data = path.read_bytes()
    path.write_bytes(data[:-1])
    with pytest.raises(ValueError, match="record 0 is incomplete"):
        warmup.read_records(path)
    path.write_bytes(data[:12] + b"x" + data[13:])
    with pytest.raises(ValueError, match="checksum must match.*record 0"):
        warmup.read_records(path)


def test_strings_in_another_encoding_are_an_error():
    proto = wire.TensorProto(dtype=7, tensor_content=b"abc")
    with pytest.raises(ValueError, match="must be in `string_val`"):
        wire.decode_tensor(proto)
