"""Reads files of `torch.save` without torch, by an unpickler that runs no stored code.

The errors of this module begin with "it" or "its". `zoo.checkpoint.formats` adds the
path of the file.
"""

import collections
import dataclasses
import math
import pickle
import re
import zipfile

import numpy as np
from ml_dtypes import bfloat16

from zoo.checkpoint.pickles import PlainUnpickler, load

# The first bytes of every file before version 1.6: the pickle of a number.
LEGACY_MAGIC = bytes.fromhex("80028a0a6cfc9c46f9206aa850192e")
LEGACY_VERSION = 1001
# The modules whose classes and functions may occur beside tensors, as records.
RECORDED = re.compile(
    r"(_codecs|argparse|collections|enum|fairseq|fastcore|numpy|omegaconf|pathlib|torch|"
    r"typing)(\..*)?"
)
CONTAINERS = ("bytearray", "complex", "dict", "frozenset", "list", "set", "tuple")


def open_torch(path):
    """Opens a file of `torch.save`, version 0.4 or later.

    Since version 1.6 the file is a zip archive. Before, it was five pickles and data.

    Args:
        path: pathlib.Path.

    Returns:
        dict of str to a function without arguments that reads the array.

    Raises:
        ValueError: if it is not such a file, or does not hold exactly one dict of
            tensors.
    """
    readers = _readers(*_open(path, _TensorUnpickler))
    if readers is None:
        raise ValueError("it does not hold exactly one dict of tensors")
    return readers


def open_torch_entries(path, key):
    """Opens a file of `torch.save` that holds a dict of tensors among other objects.

    Args:
        path: pathlib.Path.
        key: str, under which the tensors are in the dict that the file holds.

    Returns:
        dict of str to a function without arguments that reads the array; and dict of
        the other entries, in which every object is a `Record`.

    Raises:
        ValueError: if it is not such a file, or asks for a class or function of another
            module than those of `RECORDED`.
    """
    entries, read = _open(path, _RecordUnpickler)
    readers = (
        _readers(entries.pop(key, None), read) if isinstance(entries, dict) else None
    )
    if readers is None:
        raise ValueError(f"it does not hold a dict with a dict of tensors as {key!r}")
    return readers, entries


def open_torch_state(path, key):
    """Opens a file of `torch.save` that holds a dict of tensors, alone or in a dict.

    Args:
        path: pathlib.Path.
        key: str, under which the tensors are if the dict holds other objects too.

    Returns:
        dict of str to a function without arguments that reads the array.

    Raises:
        ValueError: as `open_torch_entries`.
    """
    entries, read = _open(path, _RecordUnpickler)
    inner = entries.get(key) if isinstance(entries, dict) else None
    readers = _readers(entries if inner is None else inner, read)
    if readers is None:
        raise ValueError(f"it holds neither a dict of tensors nor one as {key!r}")
    return readers


def _readers(tensors, read):
    """The functions that read the tensors of a dict; None if it holds anything else."""
    if not isinstance(tensors, dict) or not all(
        isinstance(name, str) and isinstance(tensor, _TorchTensor)
        for name, tensor in tensors.items()
    ):
        return None
    return {
        name: lambda tensor=tensor: tensor.read(read)
        for name, tensor in tensors.items()
    }


def _open(path, unpickler):
    """Opens a file of any version.

    Args:
        path: pathlib.Path.
        unpickler: `_TensorUnpickler` or a subclass.

    Returns:
        the object in it, and a function from the key of a storage to its bytes.
    """
    with open(path, "rb") as file:
        legacy = file.read(len(LEGACY_MAGIC)) == LEGACY_MAGIC
    if not legacy and not zipfile.is_zipfile(path):
        raise ValueError(
            f"`{path}` must be in the format of torch 0.4 or later. Received: another "
            "format. Load the file with torch and save it again as safetensors."
        )
    return (_open_legacy if legacy else _open_zip)(path, unpickler)


def _open_zip(path, unpickler):
    """Opens a zip archive; see `_open`."""
    archive = zipfile.ZipFile(path)
    pickles = [n for n in archive.namelist() if re.fullmatch(r"[^/]+/data\.pkl", n)]
    if len(pickles) != 1:
        raise ValueError("it does not hold exactly one `data.pkl`")
    root = pickles[0].split("/")[0]
    order = f"{root}/byteorder"
    if order in archive.namelist() and archive.read(order) != b"little":
        raise ValueError("its byte order is not little-endian")
    with archive.open(pickles[0]) as file:
        tensors = load(unpickler(file))
    return tensors, lambda key: archive.read(f"{root}/data/{key}")


def _open_legacy(path, unpickler):
    """Opens a file of a version before 1.6; see `_open`.

    After the magic number it holds four pickles: a version, a dict about the machine,
    the object, and a list of keys. Then it holds, for each key, the number of elements
    as 8 bytes, and the elements.
    """
    places = {}
    with open(path, "rb") as file:
        file.seek(len(LEGACY_MAGIC))
        version, machine = (load(_HeaderUnpickler(file)) for _ in range(2))
        if version != LEGACY_VERSION:
            raise ValueError(f"its version is not {LEGACY_VERSION}")
        if not isinstance(machine, dict) or machine.get("little_endian") is not True:
            raise ValueError("its byte order is not little-endian")
        unpickler = unpickler(file)
        tensors, keys = load(unpickler), load(_HeaderUnpickler(file))
        if not isinstance(keys, list) or {*map(str, keys)} != {*unpickler.found}:
            raise ValueError("its list of storages does not match its tensors")
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


@dataclasses.dataclass(frozen=True)
class _TorchTensor:
    """A view of a stored array.

    Args:
        dtype: NumPy type of the elements.
        key: str, the key of the storage.
        size: int, number of elements of the storage.
        offset: int, the index of the first element of the view.
        shape: tuple of int.
        strides: tuple of int, in elements.
    """

    dtype: type
    key: str
    size: int
    offset: int
    shape: tuple
    strides: tuple

    def read(self, read_storage):
        """Reads the storage and returns a copy of the view, which must be inside it."""
        base = np.frombuffer(read_storage(self.key), self.dtype)
        numbers = (self.offset, *self.shape, *self.strides)
        if not all(isinstance(n, int) and n >= 0 for n in numbers):
            raise ValueError("its shape must hold integers that are not negative")
        # With a stride of 0, a small storage could represent a huge array.
        count = math.prod(self.shape)
        if len(base) != self.size or count > self.size:
            raise ValueError("its storage does not match its shape")
        last = self.offset + sum(
            (n - 1) * step for n, step in zip(self.shape, self.strides, strict=True)
        )
        if count and last >= self.size:
            raise ValueError("it exceeds its storage")
        # NumPy does not check the bounds here. The checks above protect other memory.
        strides = tuple(step * base.itemsize for step in self.strides)
        view = np.lib.stride_tricks.as_strided
        return view(base[self.offset :], self.shape, strides).copy()


class _HeaderUnpickler(PlainUnpickler):
    """Reads the pickles of plain values in a file of a version before 1.6."""

    needs = "no tensor"


class _TensorUnpickler(PlainUnpickler):
    """Accepts tensors in (ordered) dicts, but no other class or function.

    The data of a tensor is stored outside of the pickle. The pickle holds a persistent
    id for it: ("storage", type, key, device, number of elements).

    Source: `torch.serialization`.

    Args:
        file: binary file.

    Attributes:
        found: dict from the key of a storage to its dtype and number of elements.
    """

    needs = "no tensor"
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
        """Looks up a global name in a fixed list."""
        # A pickle can set attributes of the objects that it gets. Bound methods and
        # str have no attributes to set, so one load cannot change a later one.
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
        """Returns the dtype, the key and the number of elements of a storage."""
        kind, storage, key, _, size, *part = identifier
        # The key becomes part of the name of a member of the archive.
        if kind != "storage" or not re.fullmatch(r"\w+", key):
            raise pickle.UnpicklingError(f"its storage {key!r} is not valid")
        found = self.storages[storage], size
        # Old files may name a part of a storage. No tensor of a model needs that.
        if any(part) or self.found.setdefault(key, found) != found:
            raise pickle.UnpicklingError(f"it uses storage {key!r} in different ways")
        return self.storages[storage], key, size

    def rebuild_tensor(self, storage, offset, shape, strides, *unused):
        """Replaces `torch._utils._rebuild_tensor_v2` and its predecessor."""
        return _TorchTensor(*storage, offset, tuple(shape), tuple(strides))

    def rebuild_parameter(self, tensor, *unused):
        """Replaces `torch._utils._rebuild_parameter`."""
        return tensor


class Record(dict):
    """The attributes of a stored object, whose class is never imported.

    Its items are also those of a stored mapping. What the class was made with, and the
    items of a stored list or set, are left out.
    """

    def __init__(self, *arguments, **options):
        super().__init__()

    def __setstate__(self, state):
        """Takes the attributes that a pickle holds."""
        parts = state if isinstance(state, tuple) else (state,)
        for part in parts:
            if isinstance(part, dict):
                self.update(part)

    def append(self, item):
        """Leaves the item of a list or set out."""

    add = append

    def extend(self, items):
        """Leaves the items of a list out."""

    __hash__ = object.__hash__


class _RecordUnpickler(_TensorUnpickler):
    """Accepts also the classes and functions of some modules, as records."""

    def find_class(self, module, name):
        """Looks up a global name; an object of a recorded module is a new class."""
        try:
            return super().find_class(module, name)
        except pickle.UnpicklingError:
            container = module in ("builtins", "__builtin__") and name in CONTAINERS
            if not container and not RECORDED.fullmatch(module):
                raise
        return type("Record", (Record,), {})
