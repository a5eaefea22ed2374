"""Unpicklers of tensors and of the objects beside them, without torch.

The errors of this module begin with "it" or "its", as in `zoo.checkpoint.torch_files`.
"""

import dataclasses
import math
import pickle
import re
import reprlib

import numpy as np
from ml_dtypes import bfloat16

from zoo.checkpoint.pickles import PlainUnpickler

# The modules whose classes and functions may occur beside tensors, as records.
RECORDED = re.compile(
    r"(_codecs|argparse|collections|enum|fairseq|fastcore|numpy|omegaconf|pathlib|torch|"
    r"typing)(\..*)?"
)
CONTAINERS = ("bytearray", "complex", "dict", "frozenset", "list", "set", "tuple")
MAX_RANK = 32


@dataclasses.dataclass(frozen=True)
class Storage:
    """Stored elements, of which tensors are views."""

    dtype: type
    key: str
    size: int

    @property
    def num_bytes(self):
        """The number of bytes, int."""
        return self.size * np.dtype(self.dtype).itemsize


@dataclasses.dataclass(frozen=True)
class Tensor:
    """A view of a stored array; offset and strides are in elements."""

    storage: Storage
    offset: int
    shape: tuple
    strides: tuple

    def count(self, name):
        """The number of elements; ValueError if the view leaves its storage."""
        size, rank = self.storage.size, len(self.shape)
        numbers = (self.offset, *self.shape, *self.strides)
        if rank > MAX_RANK or rank != len(self.strides):
            raise ValueError(f"tensor {name!r:.80} has {rank} axes and other strides")
        if not all(isinstance(n, int) and 0 <= n < 2**63 for n in numbers):
            raise ValueError(
                f"the shape of tensor {name!r:.80} must hold integers that are not "
                "negative"
            )
        # With a stride of 0, a small storage could represent a huge array.
        count = math.prod(self.shape)
        if count > size:
            raise ValueError(f"the storage of tensor {name!r:.80} does not match it")
        last = self.offset + sum(
            (n - 1) * step for n, step in zip(self.shape, self.strides, strict=True)
        )
        if count and last >= size:
            raise ValueError(f"tensor {name!r:.80} exceeds its storage")
        return count

    def read(self, read_storage):
        """Reads the storage and returns a copy of the view."""
        base = np.frombuffer(read_storage(self.storage), self.storage.dtype)
        if len(base) != self.storage.size:
            raise ValueError("its storage does not match it")
        # NumPy does not check the bounds here. `count` protects other memory.
        strides = tuple(step * base.itemsize for step in self.strides)
        view = np.lib.stride_tricks.as_strided
        return view(base[self.offset :], self.shape, strides).copy()


class HeaderUnpickler(PlainUnpickler):
    """Reads the pickles of plain values in a file of a version before 1.6."""

    needs = "no tensor"


class TensorUnpickler(PlainUnpickler):
    """Accepts tensors in (ordered) dicts, but no other class or function.

    The data of a tensor is stored outside of the pickle. The pickle holds a persistent
    id for it: ("storage", type, key, device, number of elements). `found` has each
    `Storage` by its key.

    Source: `torch.serialization`.
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
            ("collections", "OrderedDict"): self.make_dict,
            ("torch._utils", "_rebuild_tensor"): self.rebuild_tensor,
            ("torch._utils", "_rebuild_tensor_v2"): self.rebuild_tensor,
            ("torch._utils", "_rebuild_parameter"): self.rebuild_parameter,
            **{("torch", storage): storage for storage in self.storages},
        }
        if (module, name) not in known:
            return super().find_class(module, name)
        return known[module, name]

    def persistent_load(self, identifier):
        """Returns the `Storage` of an identifier."""
        known = isinstance(identifier, tuple) and len(identifier) in (5, 6)
        kind, storage, key, _, size, *part = identifier if known else [None] * 5
        types = isinstance(storage, str), isinstance(key, str), isinstance(size, int)
        # The key becomes part of the name of a member of the archive.
        if kind != "storage" or not all(types) or not re.fullmatch(r"\w{1,80}", key):
            key = reprlib.repr(key)
            raise pickle.UnpicklingError(f"its storage {key} is not valid")
        found = Storage(self.storages[storage], key, size)
        # Old files may name a part of a storage. No tensor of a model needs that.
        if any(part) or self.found.setdefault(key, found) != found:
            raise pickle.UnpicklingError(f"it uses storage {key!r} in different ways")
        return found

    def make_dict(self, items=()):
        """Replaces `collections.OrderedDict`; Python 2 gives it a list of pairs."""
        pairs = items if isinstance(items, (list, tuple)) else [None]
        self.spend(len(pairs))
        if not all(isinstance(p, (list, tuple)) and len(p) == 2 for p in pairs):
            raise pickle.UnpicklingError("it has an OrderedDict without pairs")
        if not all(isinstance(key, str) for key, _ in pairs):
            raise pickle.UnpicklingError("it has an OrderedDict with other keys")
        return _Dict(pairs)

    def rebuild_tensor(
        self, storage, offset, shape, strides, gradient=None, hooks=None, data=None
    ):
        """Replaces `torch._utils._rebuild_tensor_v2` and its predecessor."""
        tuples = isinstance(shape, tuple) and isinstance(strides, tuple)
        if not tuples or not isinstance(storage, Storage):
            raise pickle.UnpicklingError("it has a tensor without a storage or a shape")
        return Tensor(storage, offset, shape, strides)

    def rebuild_parameter(self, tensor, gradient=None, hooks=None):
        """Replaces `torch._utils._rebuild_parameter`."""
        return tensor


class _Dict(dict):
    """A stored OrderedDict, without its attributes."""

    def __setstate__(self, state):
        """Leaves attributes such as `_metadata` out."""


class Record(dict):
    """The attributes of a stored object, whose class is never imported.

    Its items are also those of a stored mapping. What the class was made with, and the
    items of a stored list or set, are left out.
    """

    spend = None  # of the unpickler

    def __init__(self, *arguments, **options):
        super().__init__()

    def __setstate__(self, state):
        """Takes the attributes that a pickle holds: a dict, or a pair of them."""
        pair = isinstance(state, tuple) and len(state) == 2
        for part in state if pair else (state,):
            if isinstance(part, dict):
                self.spend(len(part))
                self.update(part)

    def append(self, item):
        """Leaves the item of a list or set out."""

    add = append

    def extend(self, items):
        """Leaves the items of a list out."""

    __hash__ = object.__hash__


class RecordUnpickler(TensorUnpickler):
    """Accepts also the classes and functions of some modules, as records."""

    def __init__(self, file):
        super().__init__(file)
        self._records = {}

    def find_class(self, module, name):
        """Looks up a global name; each of a recorded module is a class of its own."""
        try:
            return super().find_class(module, name)
        except pickle.UnpicklingError:
            container = module in ("builtins", "__builtin__") and name in CONTAINERS
            if not container and not RECORDED.fullmatch(module):
                raise
        key = module, name
        if key not in self._records:
            self._records[key] = type("Record", (Record,), {"spend": self.spend})
        return self._records[key]
