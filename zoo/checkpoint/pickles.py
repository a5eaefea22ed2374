"""Reads pickles of plain values, without running code that is stored in them."""

import pickle
import pickletools
import reprlib
from pathlib import Path

from zoo.files import replacing

# The exceptions that unpickling raises if bytes are not a pickle of plain values.
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


class PlainUnpickler(pickle.Unpickler):
    """Accepts numbers, strings and containers of them, but no class or function."""

    needs = "no plain value"

    def __init__(self, file):
        super().__init__(file)
        self._file = file

    def load(self):
        """Loads the next pickle of the file, which must be able to seek."""
        _check_memo(self._file)
        return super().load()

    def find_class(self, module, name):
        """Refuses every global name."""
        raise pickle.UnpicklingError(
            f"it asks for {module}.{name}, which {self.needs} needs; no code of it was "
            "executed"
        )


def _check_memo(file):
    """Refuses a pickle that would use much more memory than its size.

    A pickle gives numbers to its values, and `pickle` reserves memory up to the largest
    number. A program that writes a pickle just counts.
    """
    start = file.tell()
    for count, (opcode, number, _) in enumerate(pickletools.genops(file)):
        if opcode.name in ("PUT", "BINPUT", "LONG_BINPUT") and number > count:
            raise pickle.UnpicklingError(f"value {count} has the number {number}")
    file.seek(start)


def load(unpickler):
    """Loads a pickle, and raises one ValueError for all errors."""
    try:
        return unpickler.load()
    except UNPICKLE_ERRORS as error:
        raise ValueError(f"its pickle was refused: {error}") from error


def read_strings(path):
    """Reads a pickled list of strings, such as fastai's vocabularies.

    Args:
        path: str or pathlib.Path.

    Returns:
        list of str.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if the file is damaged, asks for a class or a function, or holds
            anything but a list of strings. No code in it is executed.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"There is no pickle at `{path}`. Check the path.")
    rule = f"`{path}` must hold a pickled list of str"
    advice = "Save the list alone: `pickle.dump(list(vocabulary), file)`."
    with open(path, "rb") as file:
        try:
            values = load(PlainUnpickler(file))
        except ValueError as error:
            raise ValueError(f"{rule}. Received: {error}. {advice}") from error
    if not isinstance(values, list) or not all(isinstance(v, str) for v in values):
        raise ValueError(f"{rule}. Received: {reprlib.repr(values)}. {advice}")
    return values


def write_strings(path, strings):
    """Writes a pickled list of strings, completely or not at all.

    Args:
        path: str or pathlib.Path.
        strings: iterable of str.

    Raises:
        OSError: if the disk is full or the permission to write is missing.
    """
    with replacing(path) as partial:
        partial.write_bytes(pickle.dumps([*strings], protocol=2))
