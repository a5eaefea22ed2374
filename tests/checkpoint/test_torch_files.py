"""Torch's files, of both kinds, damaged and hostile ones."""

import argparse
import collections
import os
import pathlib
import pickle

import numpy as np
import pytest
from ml_dtypes import bfloat16
from places import GOLDENS
from torch_pickles import Tensor, Touch, dump, write_legacy, write_state, write_zip

from zoo.checkpoint import open_checkpoint, open_training_checkpoint
from zoo.checkpoint.torch_files import LEGACY_MAGIC

FOUR = {"0": np.arange(4, dtype="float32").tobytes()}
WHOLE, DIFFERENT = Tensor(0, (4,), (1,)), "uses storage '0' in different ways"


@pytest.mark.parametrize("name", ("torch_zip.pt", "torch_legacy.pt"))
def test_reads_every_kind_of_torch_tensor_without_torch(name):
    checkpoint = open_checkpoint(GOLDENS / name)
    expected = np.load(GOLDENS / "torch_zip.npz")
    assert set(checkpoint) == set(expected.files)
    for name in expected.files:
        array = checkpoint[name]
        assert array.flags["C_CONTIGUOUS"]
        if name == "bfloat16":
            assert array.dtype == bfloat16
            array = array.astype("float32")
        assert array.dtype == expected[name].dtype
        np.testing.assert_array_equal(array, expected[name])


def test_a_malicious_pickle_is_refused_and_not_executed(tmp_path):
    mark = tmp_path / "mark"
    data = pickle.dumps({"a": Touch(mark)})
    pickle.loads(data)
    assert mark.exists()
    mark.unlink()
    path = write_zip(tmp_path / "file.bin", data, {})
    with pytest.raises(ValueError, match=r"file\.bin.*io\.open, which no tensor"):
        open_checkpoint(path)
    path.write_bytes(data)
    with pytest.raises(ValueError, match="must be in the format of torch 0.4"):
        open_checkpoint(path)
    for place in range(4):  # of the four pickles after the magic number
        parts = [*map(pickle.dumps, (1001, {"little_endian": True}, {}, []))]
        parts[place] = data
        path.write_bytes(LEGACY_MAGIC + b"".join(parts))
        with pytest.raises(ValueError, match=r"file\.bin.*io\.open, which no tensor"):
            open_checkpoint(path)
    assert not mark.exists()


@pytest.mark.parametrize("write", (write_zip, write_legacy))
def test_a_torch_tensor_inside_of_its_storage_is_read(tmp_path, write):
    data = dump({"a": Tensor(1, (2,), (2,)), "b": Tensor(0, (4,), (1,))})
    found = open_checkpoint(write(tmp_path / "file.bin", data, FOUR))
    np.testing.assert_equal(dict(found), {"a": np.array([1, 3]), "b": np.arange(4)})


@pytest.mark.parametrize(
    ("tensor", "message"),
    (
        (Tensor(0, (5,), (1,)), "does not match"),
        (Tensor(2, (2,), (2,)), "exceeds its storage"),
        (Tensor(4, (1,), (1,)), "exceeds its storage"),
        (Tensor(0, (2, 2), (3, 1)), "exceeds its storage"),
        (Tensor(-1, (2,), (1,)), "integers that are not negative"),
        (Tensor(3, (2,), (-1,)), "integers that are not negative"),
        (Tensor(0, ("2",), (1,)), "integers that are not negative"),
        (Tensor(0, (2**40,), (0,)), "does not match"),
        (Tensor(0, (1,), (1,), size=2**40), "does not match"),
        (Tensor(0, (2,), (1, 1)), "tensor 'a'"),
        (Tensor(0, (4,), (1,), key="1"), "tensor 'a'"),
        (Tensor(0, (4,), (1,), key="../data.pkl"), "is not valid"),
    ),
)
def test_a_torch_tensor_outside_of_its_storage_is_refused(tmp_path, tensor, message):
    path = write_zip(tmp_path / "file.bin", dump({"a": tensor}), FOUR)
    with pytest.raises(ValueError, match=message):
        dict(open_checkpoint(path))


@pytest.mark.parametrize("value", ([], {"a": 1}, {"model": {}}, {1: 2}, None))
def test_a_torch_file_of_anything_but_tensors_is_refused(tmp_path, value):
    path = write_zip(tmp_path / "file.bin", pickle.dumps(value), FOUR)
    with pytest.raises(ValueError, match="exactly one dict of tensors"):
        open_checkpoint(path)


@pytest.mark.parametrize(
    ("value", "options", "message"),
    (
        ({"a": Tensor(2, (2,), (2,))}, {}, "exceeds its storage"),
        ({"a": Tensor(0, (5,), (1,), size=5)}, {}, "does not have 5 elements"),
        ({"a": WHOLE}, {"keys": []}, "list of storages"),
        ({"a": WHOLE}, {"keys": ["0", "1"]}, "list of storages"),
        ({"a": WHOLE}, {"keys": [0]}, "must hold a complete"),
        ({"a": WHOLE}, {"version": 1}, "version is not 1001"),
        ({"a": WHOLE}, {"little": False}, "not little-endian"),
        ({"a": [WHOLE]}, {}, "exactly one dict of tensors"),
        ({"a": WHOLE, "b": Tensor(0, (2,), (1,), size=2)}, {}, DIFFERENT),
        ({"a": Tensor(0, (2,), (1,), part=(("1", 0, 2),))}, {}, DIFFERENT),
    ),
)
def test_an_old_torch_file_that_contradicts_itself_is_refused(
    tmp_path, value, options, message
):
    path = tmp_path / "file.pkl"
    write_legacy(path, dump(value), FOUR, **options)
    with pytest.raises(ValueError, match=message):
        dict(open_checkpoint(path))


@pytest.mark.parametrize("legacy", (False, True))
def test_what_the_tests_write_is_what_torch_writes(tmp_path, legacy):
    draw = np.random.default_rng(0)
    shapes = {"a.weight": (3, 4, 2), "a.bias": (5,), "scalar": (), "empty": (0, 2)}
    arrays = {k: draw.normal(size=v).astype("float32") for k, v in shapes.items()}
    write_state(tmp_path / "file.pkl", arrays, legacy)
    checkpoint = open_checkpoint(tmp_path / "file.pkl")
    assert set(checkpoint) == set(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(checkpoint[name], array)
    torch = pytest.importorskip("torch", reason="torch is in the extra `parity`")
    read = torch.load(tmp_path / "file.pkl", weights_only=True)
    for name, array in arrays.items():
        np.testing.assert_array_equal(read[name].numpy(), array)


def test_objects_beside_the_tensors_are_records(tmp_path):
    beside = {
        "args": argparse.Namespace(layers=2, names=["a"]),
        "numbers": collections.Counter("aab"),
        "score": np.float64(1.5),
        "kinds": {frozenset((1, 2)), pathlib.PurePosixPath("a/b")},
    }
    data = dump({"model": {"a": Tensor(1, (2,), (2,))}, **beside})
    path = write_zip(tmp_path / "file.pt", data, FOUR)
    arrays, found = open_training_checkpoint(path, "model")
    np.testing.assert_array_equal(arrays["a"], [1, 3])
    assert found["args"] == {"layers": 2, "names": ["a"]}
    assert set(found) == set(beside) and found["score"] == found["kinds"] == {}
    assert not isinstance(found["args"], argparse.Namespace)
    with pytest.raises(ValueError, match="exactly one dict of tensors"):
        open_checkpoint(write_zip(path, dump({"model": {}}), FOUR))
    with pytest.raises(ValueError, match=r"file\.pt.*argparse.Namespace, which no"):
        open_checkpoint(write_zip(path, data, FOUR))
    with pytest.raises(ValueError, match="a dict of tensors as 'weights'"):
        open_training_checkpoint(path, "weights")
    with pytest.raises(FileNotFoundError, match="no checkpoint"):
        open_training_checkpoint(tmp_path / "none.pt", "model")


@pytest.mark.parametrize("name", (eval, getattr, open, os.system, pickle.loads))
def test_a_function_is_no_record(tmp_path, name):
    data = dump({"model": {}, "args": {"function": name}})
    path = write_zip(tmp_path / "file.pt", data, {})
    with pytest.raises(ValueError, match="which no tensor needs; no code of it"):
        open_training_checkpoint(path, "model")
