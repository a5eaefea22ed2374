"""Torch's zip files without torch, by an unpickler that admits tensors only."""

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


def open_torch(path):
    """Opens a zip file of `torch.save`, as torch writes them since version 1.6.

    Args:
        path: `Path`.

    Returns:
        dict of str to a function without arguments that reads the array.

    Raises:
        ValueError: if it is no such file, or holds anything but one dict of tensors.
    """
    if not zipfile.is_zipfile(path):
        raise ValueError(
            f"`{path}` must be a zip file as torch 1.6 and later write it. Load it "
            "with torch and save it again, best as safetensors."
        )
    archive = zipfile.ZipFile(path)
    pickles = [n for n in archive.namelist() if re.fullmatch(r"[^/]+/data\.pkl", n)]
    if len(pickles) != 1:
        raise ValueError("it holds no single `data.pkl`")
    root = pickles[0].split("/")[0]
    order = f"{root}/byteorder"
    if order in archive.namelist() and archive.read(order) != b"little":
        raise ValueError("its byte order is not little-endian")
    with archive.open(pickles[0]) as file:
        try:
            tensors = _TensorUnpickler(file).load()
        except UNPICKLE_ERRORS as error:
            raise ValueError(f"its pickle is refused: {error}") from error
    if not isinstance(tensors, dict) or not all(
        isinstance(name, str) and isinstance(tensor, _TorchTensor)
        for name, tensor in tensors.items()
    ):
        raise ValueError("it holds something other than one dict of tensors")
    return {
        name: lambda tensor=tensor: tensor.read(archive, root)
        for name, tensor in tensors.items()
    }


@dataclasses.dataclass(frozen=True)
class _TorchTensor:
    """A view of a stored array: offset, shape and strides count elements."""

    dtype: type
    key: str
    size: int
    offset: int
    shape: tuple
    strides: tuple

    def read(self, archive, root):
        """Reads the storage and takes the view, which must lie inside of it."""
        base = np.frombuffer(archive.read(f"{root}/data/{self.key}"), self.dtype)
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


class _TensorUnpickler(pickle.Unpickler):
    """Admits tensors in (ordered) dicts and no other class or function.

    Source: `torch.serialization`, which stores the data of a tensor beside the pickle
    and in it a persistent id ("storage", type, key, device, number of elements).
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

    def find_class(self, module, name):
        """Looks a global up in a closed list."""
        # A pickle may set attributes of what it is given: bound methods and str
        # take none, so that no load can change a later one.
        known = {
            ("collections", "OrderedDict"): collections.OrderedDict,
            ("torch._utils", "_rebuild_tensor_v2"): self.rebuild_tensor,
            ("torch._utils", "_rebuild_parameter"): self.rebuild_parameter,
            **{("torch", storage): storage for storage in self.storages},
        }
        if (module, name) not in known:
            raise pickle.UnpicklingError(
                f"it asks for {module}.{name}, which is no part of a tensor; nothing "
                "of it was executed"
            )
        return known[module, name]

    def persistent_load(self, identifier):
        """A storage: its dtype, key and number of elements."""
        kind, storage, key, _, size = identifier
        # The key becomes the name of a member of the archive.
        if kind != "storage" or not re.fullmatch(r"\w+", key):
            raise pickle.UnpicklingError(f"it names a storage {key!r}")
        return self.storages[storage], key, size

    @staticmethod
    def rebuild_tensor(storage, offset, shape, strides, *unused):
        """Stands for `torch._utils._rebuild_tensor_v2`."""
        return _TorchTensor(*storage, offset, tuple(shape), tuple(strides))

    @staticmethod
    def rebuild_parameter(tensor, *unused):
        """Stands for `torch._utils._rebuild_parameter`."""
        return tensor
