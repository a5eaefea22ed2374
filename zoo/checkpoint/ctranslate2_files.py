"""Reads the weights of a CTranslate2 model."""

import io
import struct

import numpy as np

# The kinds of numbers by their code in files of version 4 and later, and by their size
# in earlier ones.
KINDS = ("float32", "int8", "int16", "int32", "float16", "bfloat16")
SIZES = {4: "float32", 1: "int8", 2: "int16"}
VERSIONS = range(2, 7)
MAX_NAMES = 16  # of each array, on average; a shared table has three


def read_ctranslate2(path):
    """Reads a `model.bin`, whose path is a pathlib.Path.

    Source: `python/ctranslate2/specs/model_spec.py` of OpenNMT/CTranslate2.

    Returns the name of the model, such as "TransformerBase"; the version of the file,
    int; and a dict of name to array. Names of one array have the same array. ValueError
    if the file is damaged, or of an unknown version or kind of numbers.
    """
    content = path.read_bytes()
    try:
        return _read(content, io.BytesIO(content))
    except (struct.error, ValueError, LookupError) as error:
        raise ValueError(
            f"`{path}` must be a model of CTranslate2. Received: a file that cannot be "
            f"read: {error}"
        ) from error


def _read(content, file):
    """The fields of a file; `content` is all of it."""
    version = _number(file, "I")
    if version not in VERSIONS:
        raise ValueError(f"its version is {version}")
    name, _ = _string(file), _number(file, "I")
    arrays = {}
    for _ in range(_number(file, "I")):
        known = _string(file)
        arrays[known] = _array(content, file, version, known)
    if version >= 3:
        for _ in range(_number(file, "I")):
            other, known = _string(file), _string(file)
            arrays[other] = arrays[known]
        if sum(a.nbytes for a in arrays.values()) > MAX_NAMES * len(content):
            raise ValueError("its arrays have too many names")
    return name, version, arrays


def _number(file, form):
    (value,) = struct.unpack(f"<{form}", file.read(struct.calcsize(f"<{form}")))
    return value


def _string(file):
    """A string with its length before it and a zero after it."""
    return file.read(_number(file, "H")).rstrip(b"\0").decode()


def _array(content, file, version, name):
    shape = [_number(file, "I") for _ in range(_number(file, "B"))]
    code = _number(file, "B")
    kind = KINDS[code] if version >= 4 else SIZES[code]
    if kind == "bfloat16":
        raise ValueError(f"{name} is bfloat16")
    size = _number(file, "I")
    count = size // np.dtype(kind).itemsize if version >= 4 else size
    array = np.frombuffer(content, kind, count, file.tell())
    file.seek(array.nbytes, io.SEEK_CUR)
    return array.reshape(shape)
