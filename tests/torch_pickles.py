"""Pickles of torch's kind, written without torch, and one that must not be run."""

import io
import math
import pickle
import sys
import types
import zipfile
from unittest import mock

import numpy as np

from zoo.checkpoint.torch_files import LEGACY_MAGIC


class Touch:
    """Unpickles into a file at `path`, wherever pickles are trusted."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


class Pickler(pickle.Pickler):
    """Writes tensors with a shape and strides of one's own."""

    def persistent_id(self, item):
        """Names the storage."""
        is_storage = isinstance(item, tuple) and item[:1] == ("storage",)
        return ("storage", FloatStorage, *item[1:]) if is_storage else None


class FloatStorage:
    """Pickles as torch's."""


FloatStorage.__module__, FloatStorage.__qualname__ = "torch", "FloatStorage"


def _rebuild_tensor_v2():
    """Pickles as torch's."""


_rebuild_tensor_v2.__module__ = "torch._utils"


class Tensor:
    """Pickles as a torch tensor, by default over storage "0" of four numbers."""

    def __init__(self, offset, shape, strides, key="0", size=4, *, part=()):
        storage = ("storage", key, "cpu", size, *part)
        self.arguments = (storage, offset, shape, strides, False, {})

    def __reduce__(self):
        return _rebuild_tensor_v2, self.arguments


def dump(value):
    """Pickles with the names of torch, which need not be installed."""
    modules = {
        "torch": types.SimpleNamespace(FloatStorage=FloatStorage),
        "torch._utils": types.SimpleNamespace(_rebuild_tensor_v2=_rebuild_tensor_v2),
    }
    file = io.BytesIO()
    with mock.patch.dict(sys.modules, modules):
        Pickler(file, protocol=2).dump(value)
    return file.getvalue()


def write_zip(path, data, storages):
    """Writes a torch zip file from a pickle and the bytes of its storages."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", data)
        archive.writestr("archive/version", "3")
        for key, storage in storages.items():
            archive.writestr(f"archive/data/{key}", storage)
    return path


def write_legacy(path, data, storages, *, keys=None, version=1001, little=True):
    """Writes a file as torch before 1.6 did, of float32."""
    keys = [*storages] if keys is None else keys
    head = (version, {"little_endian": little})
    parts = [LEGACY_MAGIC, *(pickle.dumps(value, 2) for value in head)]
    parts += [data, pickle.dumps(keys, 2)]
    for storage in storages.values():
        parts += [(len(storage) // 4).to_bytes(8, "little"), storage]
    path.write_bytes(b"".join(parts))
    return path


def write_state(path, arrays, legacy=False):
    """Writes a dict of arrays as `torch.save` does a state dict of float32."""
    tensors, storages = {}, {}
    for number, (name, array) in enumerate(arrays.items()):
        array = np.ascontiguousarray(array, "float32")
        strides = [math.prod(array.shape[i + 1 :]) for i in range(array.ndim)]
        place = (tuple(strides), str(number), array.size)
        part = (None,) if legacy else ()
        tensors[name] = Tensor(0, array.shape, *place, part=part)
        storages[str(number)] = array.tobytes()
    (write_legacy if legacy else write_zip)(path, dump(tensors), storages)
