"""Reads the weights of a CTranslate2 model."""

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
    content = memoryview(path.read_bytes())
    try:
        return _Reader(content).read()
    except (struct.error, ValueError, LookupError) as error:
        raise ValueError(
            f"`{path}` must be a model of CTranslate2. Received: a file that cannot be "
            f"read: {error}"
        ) from error


class _Reader:
    """Reads the fields of a file one after the other."""

    def __init__(self, content):
        self.content = content
        self.place = 0

    def number(self, form):
        """A number in the format of `struct`."""
        (value,) = struct.unpack_from(f"<{form}", self.content, self.place)
        self.place += struct.calcsize(f"<{form}")
        return value

    def string(self):
        """A string with its length before it and a zero after it."""
        length = self.number("H")
        raw = bytes(self.content[self.place : self.place + length])
        self.place += length
        return raw.rstrip(b"\0").decode()

    def read(self):
        """All fields."""
        version = self.number("I")
        if version not in VERSIONS:
            raise ValueError(f"its version is {version}")
        name, _ = self.string(), self.number("I")
        arrays = dict(self._array(version) for _ in range(self.number("I")))
        if version >= 3:
            for _ in range(self.number("I")):
                other, known = self.string(), self.string()
                arrays[other] = arrays[known]
            if sum(a.nbytes for a in arrays.values()) > MAX_NAMES * len(self.content):
                raise ValueError("its arrays have too many names")
        return name, version, arrays

    def _array(self, version):
        """A name and an array."""
        name = self.string()
        shape = [self.number("I") for _ in range(self.number("B"))]
        code = self.number("B")
        kind = KINDS[code] if version >= 4 else SIZES[code]
        if kind == "bfloat16":
            raise ValueError(f"{name} is bfloat16")
        size = self.number("I")
        count = size // np.dtype(kind).itemsize if version >= 4 else size
        array = np.frombuffer(self.content, kind, count, self.place)
        self.place += array.nbytes
        return name, array.reshape(shape)
