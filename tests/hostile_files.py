"""Files of a few kilobytes that ask for much more memory or time than they have."""

import io
import json
import pickle
import struct
import zipfile

import h5py
import numpy as np
import torch_pickles
from torch_pickles import Tensor, dump

from zoo.checkpoint.torch_files import LEGACY_MAGIC

MANY = 2**24  # bytes or values; the tests allow half of them
EMPTY = {"0": b"\0" * 16}


def tower(height, begin=b")", pair=b"\x86", mark=b""):
    """Opcodes of a value that holds another one twice, and so on; its hash takes long.

    Args:
        height: int, at most 254.
        begin: bytes, the opcodes of the innermost value.
        pair: bytes, the opcode that joins two values.
        mark: bytes, what stands before two values.
    """
    found = begin + b"q\0" + b"0"
    for i in range(height):
        inner = b"h" + bytes([i])
        found += mark + inner + inner + pair + b"q" + bytes([i + 1]) + b"0"
    return found + b"h" + bytes([height])


def colliding(count):
    """Opcodes of integers that all have one hash, each followed by None."""
    numbers = (k * (2**61 - 1) + 7 for k in range(1, count + 1))
    return b"".join(pickle.dumps(n, 2)[2:-1] + b"N" for n in numbers)


def pairs(count):
    """Opcodes of tuples, each followed by None."""
    return b"".join(pickle.dumps((n, n), 2)[2:-1] + b"N" for n in range(count))


PICKLES = {
    "a tower as a key": b"\x80\x02}" + tower(40) + b"Ns.",
    "a tower in items": b"\x80\x02}(" + tower(40) + b"Nu.",
    "a tower in a dict of protocol 0": b"(" + tower(40) + b"Nd.",
    "a tower in a set": b"\x80\x04\x8f(" + tower(40) + b"\x90.",
    "a tower in a frozenset": b"\x80\x04(" + tower(40) + b"\x91.",
    "a tower of frozensets": b"\x80\x04}" + tower(40, b"(\x91", b"\x91", b"(") + b"Ns.",
    "integers of one hash": b"\x80\x02}(" + colliding(2000) + b"u.",
    "many tuples as keys": b"\x80\x02}(" + pairs(2000) + b"u.",
    "a number of 2**31": b"\x80\x02Nr\xff\xff\xff\x7f.",
    "bytes of 2**40": b"\x80\x04\x8e" + struct.pack("<Q", 2**40) + b".",
}
REDUCED = b"ctorch._utils\n_rebuild_tensor_v2\n"
STORAGE = b"(X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0000X\3\0\0\0cpuK\4tQ"


def repeated(large, part, count=500):
    """A pickle that stores a large value as 0, and then uses it many times."""
    return b"\x80\x02}(" + large + b"q\0" + b"0" + part * count + b"u."


KEYS = [pickle.dumps(str(n), 2)[2:-3] for n in range(1000)]  # without a number
LARGE_TUPLE = b"(" + b"N" * 2000 + b"t"
LARGE_LIST = b"](" + b"".join(key + b"N\x86" for key in KEYS) + b"e"
LARGE_DICT = b"}(" + b"".join(key + b"N" for key in KEYS) + b"u"
TORCH_PICKLES = {
    **PICKLES,
    "a large identifier": repeated(LARGE_TUPLE, b"h\0Q0"),
    "a large shape": repeated(LARGE_LIST, REDUCED + b"(" + STORAGE + b"K\0h\0)tR0"),
    "a large tuple of arguments": repeated(LARGE_TUPLE, REDUCED + b"h\0R0"),
    "a large list of pairs": repeated(
        LARGE_LIST, b"ccollections\nOrderedDict\nh\0\x85R0"
    ),
}
# Only with the objects beside the tensors.
LARGE_STATE = repeated(LARGE_DICT, b"cargparse\nNamespace\n)Rh\0b0")


def write_members(path, members, method=zipfile.ZIP_DEFLATED, sizes=None):
    """Writes a zip archive; `sizes` are false sizes in its directory."""
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        for name, size in (sizes or {}).items():
            archive.getinfo(name).file_size = size
    return path


def torch_members(data, storage=bytes(16)):
    """The members of an archive of torch."""
    return {"a/data.pkl": data, "a/version": "3", "a/data/0": storage}


def write_deflated_opcodes(path):
    return write_members(
        path, torch_members(b"\x80\x02" + b"N0" * (MANY // 16) + b"}.")
    )


def write_deflated_storage(path):
    tensor = Tensor(0, (MANY // 4,), (1,), size=MANY // 4)
    return write_members(path, torch_members(dump({"a": tensor}), bytes(MANY)))


def write_compressed_by(method):
    def write(path):
        data = torch_members(dump({"a": Tensor(0, (4,), (1,))}))
        return write_members(path, data, method)

    return write


def write_false_size(path):
    """The directory says 16 bytes, and the member inflates to many."""
    data = torch_members(dump({"a": Tensor(0, (4,), (1,))}), bytes(MANY))
    return write_members(path, data, sizes={"a/data/0": 16})


def write_many_names(path):
    """Many tensors of one storage."""
    storage = bytes(2**16)
    one = Tensor(0, (2**14,), (1,), size=2**14)
    data = dump({str(i): one for i in range(2000)})
    return torch_pickles.write_zip(path, data, {"0": storage})


def write_many_axes(path):
    shape = (1,) * 30_000
    return torch_pickles.write_zip(path, dump({"a": Tensor(0, shape, shape)}), EMPTY)


def write_large_storage(path):
    """A storage that a file of torch 0.4 does not have."""
    data = dump({"a": Tensor(0, (4,), (1,), size=2**62, part=(None,))})
    path = torch_pickles.write_legacy(path, data, EMPTY)
    size = struct.pack("<Q", 2**62)
    path.write_bytes(path.read_bytes().replace(struct.pack("<Q", 4), size))
    return path


def write_containers_as_keys(path):
    """The list of storages of a file of torch 0.4 holds lists of lists."""
    lists = b"]" + tower(40, b"]", b"e", b"](") + b"a"
    head = [pickle.dumps(v, 2) for v in (1001, {"little_endian": True}, {})]
    path.write_bytes(LEGACY_MAGIC + b"".join(head) + b"\x80\x02" + lists + b".")
    return path


def npy(shape, content=b""):
    """A file of NumPy that says that it has a shape."""
    file = io.BytesIO()
    header = {"descr": "<f4", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    return file.getvalue() + content


def npy_header(text):
    """A file of NumPy with any text as its header."""
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text


def write_tensorflow(path):
    """The values of a large array are missing."""
    import tensorflow as tf

    prefix = str(path.with_suffix(""))
    array = np.ones(MANY // 16, "float32")
    tf.raw_ops.SaveV2(
        prefix=prefix, tensor_names=["a"], shape_and_slices=[""], tensors=[array]
    )
    path.with_suffix(".data-00000-of-00001").write_bytes(b"0000")
    return path


def write_hdf5(path, count=MANY, **options):
    """A dataset without values."""
    with h5py.File(path, "w") as file:
        file.create_dataset("a", (count,), "float32", chunks=(count // 64,), **options)
    return path


def write_deflated_hdf5(path):
    write_hdf5(path, compression="gzip")
    with h5py.File(path, "r+") as file:
        file["a"][: MANY // 64] = 0
    return path


def safetensors(header, content=b"0" * 8, size=None):
    text = json.dumps(header).encode()
    size = len(text) if size is None else size
    return struct.pack("<Q", size) + text + content


def tensor(begin, end, shape=(1,)):
    return {"dtype": "F32", "shape": list(shape), "data_offsets": [begin, end]}


def of(content):
    """A function that writes bytes."""

    def write(path):
        path.write_bytes(content)
        return path

    return write


# A kind of checkpoint and what is wrong with it, to its suffix and its writer.
CHECKPOINTS = {
    "torch: deflated opcodes": (".pt", write_deflated_opcodes),
    "torch: a deflated storage": (".pt", write_deflated_storage),
    "torch: bzip2": (".pt", write_compressed_by(zipfile.ZIP_BZIP2)),
    "torch: lzma": (".pt", write_compressed_by(zipfile.ZIP_LZMA)),
    "torch: a false size": (".pt", write_false_size),
    "torch: many names": (".pt", write_many_names),
    "torch: many axes": (".pt", write_many_axes),
    "torch: a large storage": (".pkl", write_large_storage),
    "torch: containers as keys": (".pkl", write_containers_as_keys),
    "npz: deflated": (
        ".npz",
        lambda p: write_members(p, {"a.npy": npy((MANY,), bytes(4 * MANY))}),
    ),
    "npz: a false shape": (
        ".npz",
        lambda p: write_members(p, {"a.npy": npy((2**40,))}),
    ),
    "npz: a false size": (
        ".npz",
        lambda p: write_members(
            p, {"a.npy": npy((4,), bytes(MANY))}, sizes={"a.npy": 2**10}
        ),
    ),
    "npz: a deep header": (
        ".npz",
        lambda p: write_members(p, {"a.npy": npy_header(b"(" * 9000)}),
    ),
    "npz: a header of another kind": (
        ".npz",
        lambda p: write_members(p, {"a.npy": npy_header(b"{'a': 'b'\n(")}),
    ),
    "npz: a single array": (".npz", of(npy((2**32,)))),
    "hdf5: unwritten": (".h5", write_hdf5),
    "hdf5: deflated": (".h5", write_deflated_hdf5),
    "tensorflow: missing values": (".index", write_tensorflow),
    "safetensors: a long header": (
        ".safetensors",
        of(safetensors({"a": tensor(0, 4)}, size=2**40)),
    ),
    "safetensors: a false shape": (
        ".safetensors",
        of(safetensors({"a": tensor(0, 8, (2**40,))})),
    ),
    "safetensors: one range for two": (
        ".safetensors",
        of(safetensors({"a": tensor(0, 8, (2,)), "b": tensor(0, 8, (2,))})),
    ),
    "safetensors: a deep header": (
        ".safetensors",
        of(struct.pack("<Q", 10**5) + b"[" * 10**5),
    ),
}
