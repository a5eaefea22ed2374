"""Checkpoint files of every kind, damaged and hostile ones, and tables of rows."""

import json
import pathlib

import h5py
import numpy as np
import pytest
import safetensors.numpy
import tensorflow as tf
from ml_dtypes import bfloat16
from places import GOLDENS
from torch_pickles import Touch

from zoo.checkpoint import open_checkpoint, save_checkpoint

ARRAYS = {
    "a/kernel": np.arange(6, dtype="float32").reshape(3, 2).T,
    "scalar": np.array(3.0, "float32"),
    "b": np.array([1.5, -2.0], "float16"),
}


def save_tensorflow(prefix, arrays):
    """Writes a name-based TensorFlow checkpoint."""
    names, tensors = [*arrays], [*arrays.values()]
    tf.raw_ops.SaveV2(
        prefix=str(prefix),
        tensor_names=names,
        shape_and_slices=[""] * len(names),
        tensors=tensors,
    )
    return prefix


def save(directory, kind):
    """Writes ARRAYS as a file of a kind and returns its path."""
    path = directory / f"file{kind}"
    if kind == ".index":
        save_tensorflow(directory / "file", ARRAYS)
    elif kind == ".index.json":
        names = {}
        for i, (name, array) in enumerate(ARRAYS.items()):
            names[name] = f"shard-{i}.safetensors"
            save_checkpoint(directory / names[name], {name: array})
        path.write_text(json.dumps({"weight_map": names}))
    elif kind.endswith(".pt"):
        name = "torch_legacy.pt" if kind == ".legacy.pt" else "torch_zip.pt"
        path.write_bytes((GOLDENS / name).read_bytes())
    else:
        save_checkpoint(path, ARRAYS)
    return path


KINDS = (".safetensors", ".h5", ".npz", ".pth", ".index", ".index.json")


@pytest.mark.parametrize("kind", KINDS)
def test_reads_names_shapes_dtypes_and_values(tmp_path, kind):
    checkpoint = open_checkpoint(save(tmp_path, kind))
    assert set(checkpoint) == set(ARRAYS)
    assert len(checkpoint) == 3
    for name, array in ARRAYS.items():
        assert checkpoint[name].dtype == array.dtype
        np.testing.assert_array_equal(checkpoint[name], array)
    with pytest.raises(KeyError, match="c"):
        checkpoint["c"]


def test_save_writes_other_files_not_at_all(tmp_path):
    message = r"\.safetensors, \.h5, \.hdf5, \.npz, \.pth.*file\.bin"
    with pytest.raises(ValueError, match=message):
        save_checkpoint(tmp_path / "file.bin", ARRAYS)
    with pytest.raises(TypeError, match="Object dtype"):
        save_checkpoint(tmp_path / "file.h5", {"a": object()})
    assert not list(tmp_path.iterdir())


def test_reads_bfloat16_from_safetensors(tmp_path):
    path, values = tmp_path / "file.safetensors", [1.0, 2.5, -3.0]
    safetensors.numpy.save_file({"a": np.array(values, bfloat16)}, path)
    read = open_checkpoint(path)["a"].astype("float32")
    np.testing.assert_array_equal(read, values)


@pytest.mark.parametrize("as_type", (str, pathlib.Path))
def test_finds_a_tensorflow_checkpoint_by_prefix_and_by_directory(tmp_path, as_type):
    prefix = save_tensorflow(tmp_path / "model.ckpt-7", ARRAYS)
    (tmp_path / "faiss.index").write_bytes(b"")  # of another program
    for path in (prefix, tmp_path):
        assert set(open_checkpoint(as_type(path))) == set(ARRAYS)


def test_a_directory_of_two_needs_a_file_that_names_one(tmp_path):
    save_tensorflow(tmp_path / "model-1", {"a": np.float32(1)})
    save_tensorflow(tmp_path / "model-2", {"a": np.float32(2)})
    with pytest.raises(ValueError, match=r"exactly one.*\['model-1', 'model-2'\]"):
        open_checkpoint(tmp_path)
    # The directory of the machine that wrote it must not be followed.
    state = 'model_checkpoint_path: "/elsewhere/model-2"\n'
    (tmp_path / "checkpoint").write_text(state)
    assert open_checkpoint(tmp_path)["a"] == 2


def test_no_file_and_an_unknown_kind_say_so(tmp_path):
    with pytest.raises(ValueError, match=r"exactly one.*Received: \[\]"):
        open_checkpoint(tmp_path)
    with pytest.raises(FileNotFoundError, match="no checkpoint at .*absent.h5"):
        open_checkpoint(tmp_path / "absent.h5")
    path = tmp_path / "file.onnx"
    path.write_bytes(b"0")
    with pytest.raises(ValueError, match=r"end in .*\.safetensors.*file\.onnx"):
        open_checkpoint(path)


@pytest.mark.parametrize(
    "kind", (".safetensors", ".h5", ".npz", ".index", ".pt", ".legacy.pt")
)
@pytest.mark.parametrize("share", (0.0, 0.3, 0.5, 0.8, 0.95))
def test_a_truncated_file_is_named(tmp_path, kind, share):
    path = save(tmp_path, kind)
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    with pytest.raises(ValueError, match=rf"{path.with_suffix('')}.* must"):
        dict(open_checkpoint(path))


def test_a_truncated_tensorflow_data_file_is_named(tmp_path):
    prefix = save_tensorflow(tmp_path / "model", ARRAYS)
    data = tmp_path / "model.data-00000-of-00001"
    data.write_bytes(data.read_bytes()[:5])
    with pytest.raises(ValueError, match=f"{prefix}.*must hold a complete"):
        dict(open_checkpoint(prefix))


@pytest.mark.parametrize("kind", (".safetensors", ".h5", ".npz", ".pt", ".index.json"))
@pytest.mark.parametrize("other", (".safetensors", ".h5", ".npz", ".pt"))
def test_a_file_of_another_kind_is_refused(tmp_path, kind, other):
    path = save(tmp_path, other).rename(tmp_path / f"renamed{kind}")
    if kind == other:
        assert dict(open_checkpoint(path))
        return
    with pytest.raises(ValueError, match=f"{path}.* must"):
        dict(open_checkpoint(path))


def test_a_pickled_numpy_object_is_refused(tmp_path):
    path = tmp_path / "file.npz"
    mark = tmp_path / "mark"
    np.savez(path, a=np.array([Touch(mark)], dtype=object))
    with pytest.raises(ValueError, match="Object arrays cannot be loaded"):
        dict(open_checkpoint(path))
    assert not mark.exists()


@pytest.mark.parametrize(
    "shard", ("../file.safetensors", "/file.safetensors", "a/../b.bin", "file.index")
)
def test_an_index_cannot_leave_its_directory(tmp_path, shard):
    (tmp_path / "inner").mkdir()
    save_checkpoint(tmp_path / "file.safetensors", ARRAYS)
    path = tmp_path / "inner" / "model.safetensors.index.json"
    path.write_text(json.dumps({"weight_map": {"b": shard}}))
    with pytest.raises(ValueError, match="in its own directory"):
        open_checkpoint(path)


def test_an_index_must_agree_with_its_shards(tmp_path):
    path = save(tmp_path, ".index.json")
    shard = tmp_path / "shard-1.safetensors"
    shard.rename(tmp_path / "moved")
    with pytest.raises(ValueError, match="no checkpoint at .*shard-1.safetensors"):
        open_checkpoint(path)
    (tmp_path / "moved").rename(shard)
    index = json.loads(path.read_text())
    index["weight_map"]["c"] = "shard-0.safetensors"
    path.write_text(json.dumps(index))
    message = "'shard-0.safetensors' holds 'c', but it does not"
    with pytest.raises(ValueError, match=message):
        open_checkpoint(path)


def test_hdf5_data_in_other_files_is_not_read(tmp_path):
    secret = tmp_path / "secret"
    secret.write_bytes(b"x" * 8)
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["a"] = np.arange(3)
    with h5py.File(tmp_path / "linked.h5", "w") as file:
        file["a"] = h5py.ExternalLink("other.h5", "/a")
    assert dict(open_checkpoint(tmp_path / "linked.h5")) == {}
    with h5py.File(tmp_path / "external.h5", "w") as file:
        file.create_dataset("a", (8,), "uint8", external=[(str(secret), 0, 8)])
    with h5py.File(tmp_path / "virtual.h5", "w") as file:
        layout = h5py.VirtualLayout((3,), "int64")
        layout[:] = h5py.VirtualSource(tmp_path / "other.h5", "a", (3,))
        file.create_virtual_dataset("a", layout)
    for name in ("external.h5", "virtual.h5"):
        with pytest.raises(ValueError, match=f"{name}.*'a' stores its data in another"):
            open_checkpoint(tmp_path / name)


def test_other_damage_is_called_so(tmp_path):
    np.save(tmp_path / "a.npy", np.ones(3))
    (tmp_path / "a.npy").rename(tmp_path / "a.npz")
    with pytest.raises(ValueError, match="must hold a complete"):
        open_checkpoint(tmp_path / "a.npz")
    for content in ("[]", '{"weight_map": []}', '{"weight_map": {"a": 1}}'):
        path = tmp_path / "model.safetensors.index.json"
        path.write_text(content)
        with pytest.raises(ValueError, match="must hold a complete"):
            open_checkpoint(path)
