"""Reads files of `torch.save` without torch, by an unpickler that runs no stored code.

Errors begin with "it" or "its"; `zoo.checkpoint.formats` adds the path of the file.
"""

import io
import re
import zipfile

from zoo.checkpoint.pickles import load
from zoo.checkpoint.tensor_pickles import (
    HeaderUnpickler,
    RecordUnpickler,
    Tensor,
    TensorUnpickler,
)
from zoo.files.inflation import check_members, read_member

# The first bytes of every file before version 1.6: the pickle of a number.
LEGACY_MAGIC = bytes.fromhex("80028a0a6cfc9c46f9206aa850192e")
LEGACY_VERSION = 1001
# How many bytes the pickle of a zip archive may have more than the whole file. Each of
# them can be an opcode, and torch does not compress it.
FREE_OPCODES = 2**18
# How often the elements of a file may occur in its tensors. Tied weights occur twice to
# four times.
MAX_VIEWS = 16


def open_torch(path):
    """Opens a file of `torch.save`, version 0.4 or later: functions that read arrays.

    Since version 1.6 the file is a zip archive. Before, it was five pickles and data.
    ValueError if it is not such a file, or does not hold exactly one dict of tensors.
    """
    tensors, read = _open(path, TensorUnpickler)
    return _readers(tensors, read, "it does not hold exactly one dict of tensors")


def open_torch_entries(path, key):
    """Opens a file of `torch.save` whose entry `key` is a dict of tensors.

    Returns the functions that read the tensors, by name, and the other entries, where
    every object is a `Record`. ValueError if it is not such a file, or asks for a class
    or function of another module than those of `RECORDED`.
    """
    entries, read = _open(path, RecordUnpickler)
    problem = f"it does not hold a dict with a dict of tensors as {key!r}"
    tensors = entries.pop(key, None) if isinstance(entries, dict) else None
    return _readers(tensors, read, problem), entries


def open_torch_state(path, key):
    """As `open_torch_entries` without entries; the dict may also stand alone."""
    entries, read = _open(path, RecordUnpickler)
    inner = entries.get(key) if isinstance(entries, dict) else None
    problem = f"it holds neither a dict of tensors nor one as {key!r}"
    return _readers(entries if inner is None else inner, read, problem)


def _readers(tensors, read, problem):
    """The functions that read the tensors of a dict; ValueError if it holds others."""
    if not isinstance(tensors, dict) or not all(
        isinstance(name, str) and isinstance(tensor, Tensor)
        for name, tensor in tensors.items()
    ):
        raise ValueError(problem)
    sizes, shared, seen = {}, {}, 0
    for name, tensor in tensors.items():
        key = tensor.storage.key
        if key in sizes:
            shared[key] = None
        sizes[key] = tensor.storage.size
        seen += tensor.count(name)
    if seen > MAX_VIEWS * sum(sizes.values()):
        raise ValueError(
            f"its {len(tensors)} tensors hold more than {MAX_VIEWS} times the elements "
            "of its storages"
        )

    def read_once(storage):
        content = shared.get(storage.key)
        if content is None:
            content = read(storage)
            if storage.key in shared:
                shared[storage.key] = content
        return content

    return {
        name: lambda tensor=tensor: tensor.read(read_once)
        for name, tensor in tensors.items()
    }


def _open(path, unpickler):
    """The object in a file of any version, and a function of a Storage to its bytes."""
    with open(path, "rb") as file:
        legacy = file.read(len(LEGACY_MAGIC)) == LEGACY_MAGIC
    if not legacy and not zipfile.is_zipfile(path):
        raise ValueError(
            f"`{path}` must be in the format of torch 0.4 or later. Received: another "
            "format. Load the file with torch and save it again as safetensors."
        )
    return _open_legacy(path, unpickler) if legacy else _open_zip(path, unpickler)


def _open_zip(path, unpickler):
    """Opens a zip archive; see `_open`."""
    archive, size = zipfile.ZipFile(path), path.stat().st_size
    check_members(archive, size)
    pickles = [n for n in archive.namelist() if re.fullmatch(r"[^/]+/data\.pkl", n)]
    if len(pickles) != 1:
        raise ValueError("it does not hold exactly one `data.pkl`")
    if archive.getinfo(pickles[0]).file_size > size + FREE_OPCODES:
        raise ValueError("its pickle is larger than the file")
    root = pickles[0].split("/")[0]
    order = f"{root}/byteorder"
    if order in archive.namelist() and read_member(archive, order) != b"little":
        raise ValueError("its byte order is not little-endian")
    tensors = load(unpickler(io.BytesIO(read_member(archive, pickles[0]))))

    def read(storage):
        name = f"{root}/data/{storage.key}"
        if archive.getinfo(name).file_size != storage.num_bytes:
            raise ValueError("its storage does not match it")
        return read_member(archive, name)

    return tensors, read


def _open_legacy(path, unpickler):
    """Opens a file of a version before 1.6; see `_open`.

    After the magic number it holds four pickles: a version, a dict about the machine,
    the object, and a list of keys. Then it holds, for each key, the number of elements
    as 8 bytes, and the elements.
    """
    places, end = {}, path.stat().st_size
    with open(path, "rb") as file:
        file.seek(len(LEGACY_MAGIC))
        version, machine = (load(HeaderUnpickler(file)) for _ in range(2))
        if version != LEGACY_VERSION:
            raise ValueError(f"its version is not {LEGACY_VERSION}")
        if not isinstance(machine, dict) or machine.get("little_endian") is not True:
            raise ValueError("its byte order is not little-endian")
        unpickler = unpickler(file)
        tensors, keys = load(unpickler), load(HeaderUnpickler(file))
        texts = isinstance(keys, list) and all(isinstance(key, str) for key in keys)
        if not texts or {*keys} != {*unpickler.found}:
            raise ValueError("its list of storages does not match its tensors")
        for key in keys:
            storage = unpickler.found[key]
            if int.from_bytes(file.read(8), "little") != storage.size:
                raise ValueError(
                    f"its storage {key!r} does not have {storage.size} elements"
                )
            places[key] = file.tell()
            if places[key] + storage.num_bytes > end:
                raise ValueError(f"it ends in storage {key!r}")
            file.seek(storage.num_bytes, 1)

    def read(storage):
        with open(path, "rb") as file:
            file.seek(places[storage.key])
            return file.read(storage.num_bytes)

    return tensors, read


def add_biases(arrays):
    """Adds `bias_ih_l0` and `bias_hh_l0` of each LSTM of torch to `bias_l0`."""
    for name in [name for name in arrays if "bias_ih_" in name]:
        other = name.replace("bias_ih_", "bias_hh_")
        if other in arrays and arrays[other].shape == arrays[name].shape:
            total = arrays.pop(name).astype("float32") + arrays.pop(other)
            arrays[name.replace("bias_ih_", "bias_")] = total
    return arrays
