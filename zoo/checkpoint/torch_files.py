"""Torch's files without torch, by an unpickler that admits tensors only."""

import collections
import dataclasses
import math
import pickle
import re
import zipfile

import numpy as np
from ml_dtypes import bfloat16

# What unpickling raises on bytes that are no pickle, or not one of tensors.
UNPICKLE_ERRORS = (
    pickle.UnpicklingError,
    ArithmeticError,
    AttributeError,
    EOFError,
    ImportError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)


# How every file before version 1.6 begins: the pickle of a number.
LEGACY_MAGIC = bytes.fromhex("80028a0a6cfc9c46f9206aa850192e")
LEGACY_VERSION = 1001


def open_torch(path):
    """Opens a file of `torch.save`, of any version from 0.4.

    Since version 1.6 it is a zip file, before that it was five pickles and the data.

    Args:
        path: `Path`.

    Returns:
        dict of str to a function without arguments that reads the array.

    Raises:
        ValueError: if it is no such file, or holds anything but one dict of tensors.
    """
    with open(path, "rb") as file:
        legacy = file.read(len(LEGACY_MAGIC)) == LEGACY_MAGIC
    if not legacy and not zipfile.is_zipfile(path):
        raise ValueError(
            f"`{path}` must be a file as torch 0.4 and later write it. Load it with "
            "torch and save it again, best as safetensors."
        )
    tensors, read = (_open_legacy if legacy else _open_zip)(path)
    if not isinstance(tensors, dict) or not all(
        isinstance(name, str) and isinstance(tensor, _TorchTensor)
        for name, tensor in tensors.items()
    ):
        raise ValueError("it holds something other than one dict of tensors")
    return {
        name: lambda tensor=tensor: tensor.read(read)
        for name, tensor in tensors.items()
    }


def _open_zip(path):
    """The object that a zip file holds, and a function of key to a storage's bytes."""
    archive = zipfile.ZipFile(path)
    pickles = [n for n in archive.namelist() if re.fullmatch(r"[^/]+/data\.pkl", n)]
    if len(pickles) != 1:
        raise ValueError("it holds no single `data.pkl`")
    root = pickles[0].split("/")[0]
    order = f"{root}/byteorder"
    if order in archive.namelist() and archive.read(order) != b"little":
        raise ValueError("its byte order is not little-endian")
    with archive.open(pickles[0]) as file:
        tensors = _load(_TensorUnpickler(file))
    return tensors, lambda key: archive.read(f"{root}/data/{key}")


def _open_legacy(path):
    """The same of a file before version 1.6.

    After the magic number: a version, a dict about the machine, the object, a list of
    keys; then for each key the number of elements, 8 bytes, and the elements.
    """
    places = {}
    with open(path, "rb") as file:
        file.seek(len(LEGACY_MAGIC))
        version, machine = (_load(_PlainUnpickler(file)) for _ in range(2))
        if version != LEGACY_VERSION:
            raise ValueError(f"its version is not {LEGACY_VERSION}")
        if not isinstance(machine, dict) or machine.get("little_endian") is not True:
            raise ValueError("its byte order is not little-endian")
        unpickler = _TensorUnpickler(file)
        tensors, keys = _load(unpickler), _load(_PlainUnpickler(file))
        if not isinstance(keys, list) or {*map(str, keys)} != {*unpickler.found}:
            raise ValueError("its list of storages is not the one of its tensors")
        for key in keys:
            dtype, size = unpickler.found[key]
            if int.from_bytes(file.read(8), "little") != size:
                raise ValueError(f"its storage {key!r} does not have {size} elements")
            places[key] = file.tell(), size * np.dtype(dtype).itemsize
            file.seek(places[key][1], 1)

    def read(key):
        start, length = places[key]
        with open(path, "rb") as file:
            file.seek(start)
            return file.read(length)

    return tensors, read


def _load(unpickler):
    """What a pickle holds; of its many errors one."""
    try:
        return unpickler.load()
    except UNPICKLE_ERRORS as error:
        raise ValueError(f"its pickle is refused: {error}") from error


@dataclasses.dataclass(frozen=True)
class _TorchTensor:
    """A view of a stored array: offset, shape and strides count elements."""

    dtype: type
    key: str
    size: int
    offset: int
    shape: tuple
    strides: tuple

    def read(self, read_storage):
        """Reads the storage and takes the view, which must lie inside of it."""
        base = np.frombuffer(read_storage(self.key), self.dtype)
        numbers = (self.offset, *self.shape, *self.strides)
        if not all(isinstance(n, int) and n >= 0 for n in numbers):
            raise ValueError("its shape is not of numbers from 0")
        # A stride of 0 could make a small storage look like a huge array.
        count = math.prod(self.shape)
        if len(base) != self.size or count > self.size:
            raise ValueError("its storage does not fit its shape")
        last = self.offset + sum(
            (n - 1) * step for n, step in zip(self.shape, self.strides, strict=True)
        )
        if count and last >= self.size:
            raise ValueError("it reaches outside of its storage")
        # NumPy checks nothing here: without the above it would read foreign memory.
        strides = tuple(step * base.itemsize for step in self.strides)
        view = np.lib.stride_tricks.as_strided
        return view(base[self.offset :], self.shape, strides).copy()


class _PlainUnpickler(pickle.Unpickler):
    """Admits numbers, strings and what holds them, and no class or function."""

    def find_class(self, module, name):
        """Refuses every global."""
        raise pickle.UnpicklingError(
            f"it asks for {module}.{name}, which is no part of a tensor; nothing of it "
            "was executed"
        )


class _TensorUnpickler(_PlainUnpickler):
    """Admits tensors in (ordered) dicts and no other class or function.

    Source: `torch.serialization`, which stores the data of a tensor beside the pickle
    and in it a persistent id ("storage", type, key, device, number of elements).

    Args:
        file: binary file.

    Attributes:
        found: dict of each storage's key to its dtype and number of elements.
    """

    storages = {
        "FloatStorage": np.float32,
        "DoubleStorage": np.float64,
        "HalfStorage": np.float16,
        "BFloat16Storage": bfloat16,
        "LongStorage": np.int64,
        "IntStorage": np.int32,
        "ShortStorage": np.int16,
        "CharStorage": np.int8,
        "ByteStorage": np.uint8,
        "BoolStorage": np.bool_,
    }

    def __init__(self, file):
        super().__init__(file)
        self.found = {}

    def find_class(self, module, name):
        """Looks a global up in a closed list."""
        # A pickle may set attributes of what it is given: bound methods and str
        # take none, so that no load can change a later one.
        known = {
            ("collections", "OrderedDict"): collections.OrderedDict,
            ("torch._utils", "_rebuild_tensor"): self.rebuild_tensor,
            ("torch._utils", "_rebuild_tensor_v2"): self.rebuild_tensor,
            ("torch._utils", "_rebuild_parameter"): self.rebuild_parameter,
            **{("torch", storage): storage for storage in self.storages},
        }
        if (module, name) not in known:
            return super().find_class(module, name)
        return known[module, name]

    def persistent_load(self, identifier):
        """A storage: its dtype, key and number of elements."""
        kind, storage, key, _, size, *part = identifier
        # The key becomes the name of a member of the archive.
        if kind != "storage" or not re.fullmatch(r"\w+", key):
            raise pickle.UnpicklingError(f"it names a storage {key!r}")
        found = self.storages[storage], size
        # Old files may name a part of a storage, which no tensor of a model needs.
        if any(part) or self.found.setdefault(key, found) != found:
            raise pickle.UnpicklingError(f"it takes storage {key!r} for several")
        return self.storages[storage], key, size

    def rebuild_tensor(self, storage, offset, shape, strides, *unused):
        """Stands for `torch._utils._rebuild_tensor_v2` and its predecessor."""
        return _TorchTensor(*storage, offset, tuple(shape), tuple(strides))

    def rebuild_parameter(self, tensor, *unused):
        """Stands for `torch._utils._rebuild_parameter`."""
        return tensor
