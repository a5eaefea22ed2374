"""Writes state dicts in the format of `torch.save`, without torch."""

import math
import pickle
import zipfile

import numpy as np

ARCHIVE_ROOT = "archive"
STORAGES = {"float16": "HalfStorage", "float32": "FloatStorage"}
# The opcodes of a pickle that builds tensors by name, so that torch is not imported.
PROTOCOL, MARK, TUPLE, REDUCE, END = b"\x80\x02", b"(", b"t", b"R", b"."
ORDERED_DICT = b"ccollections\nOrderedDict\n)" + REDUCE
REBUILD = b"ctorch._utils\n_rebuild_tensor_v2\n"
PERSISTENT_ID, FALSE, SET_ITEMS = b"Q", b"\x89", b"u"


def write_torch(path, arrays):
    """Writes float16 or float32 arrays as a state dict, in torch's zip format (1.6).

    `torch.load(path, weights_only=True)` reads it. An array under several names is
    stored once, as torch stores shared weights. Files of equal arrays are equal.
    """
    storages, items = {}, []
    for name, array in arrays.items():
        if array.dtype.name not in STORAGES:
            raise ValueError(
                f"A state dict holds arrays of {', '.join(STORAGES)} here. Received: "
                f"{array.dtype} for {name!r}."
            )
        key = storages.setdefault(id(array), (str(len(storages)), array))[0]
        items += [_plain(name), _tensor(array, key)]
    data = PROTOCOL + ORDERED_DICT + MARK + b"".join(items) + SET_ITEMS + END
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        _add(archive, "data.pkl", data)
        _add(archive, "byteorder", b"little")
        for key, array in storages.values():
            little = np.asarray(array, array.dtype.newbyteorder("<"), order="C")
            _add(archive, f"data/{key}", little.tobytes())
        _add(archive, "version", b"3\n")


def _add(archive, name, content):
    # A `ZipInfo` of its own has a fixed date.
    archive.writestr(zipfile.ZipInfo(f"{ARCHIVE_ROOT}/{name}"), content)


def _tensor(array, key):
    """The opcodes that build a contiguous tensor over a whole storage."""
    strides = tuple(math.prod(array.shape[i + 1 :]) for i in range(array.ndim))
    storage = b"ctorch\n%s\n" % STORAGES[array.dtype.name].encode()
    storage = MARK + _plain("storage") + storage
    storage += _plain(key) + _plain("cpu") + _plain(array.size) + TUPLE + PERSISTENT_ID
    shape = _plain(0) + _plain(array.shape) + _plain(strides)
    arguments = MARK + storage + shape + FALSE + ORDERED_DICT + TUPLE
    return REBUILD + arguments + REDUCE


def _plain(value):
    """The opcodes of a str, an int or a tuple of ints."""
    return pickle.dumps(value, protocol=2)[len(PROTOCOL) : -len(END)]
