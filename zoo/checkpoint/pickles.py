"""Reads pickles of plain values, without running code that is stored in them."""

import io
import pickle
import pickletools
import reprlib

from zoo.files.buckets import local_path
from zoo.files.whole_files import replacing

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
PUTS = ("PUT", "BINPUT", "LONG_BINPUT")
GETS = ("GET", "BINGET", "LONG_BINGET")
FREE_OPCODES = ("PROTO", "FRAME")
TUPLES = ("EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "FROZENSET")
SETS = ("ADDITEMS", "FROZENSET")
KEYED = ("SETITEM", "SETITEMS", "DICT", *SETS)
# Hashing a tuple visits the tuples in it, and many of them can have one hash.
MAX_COMPOUND_KEYS = 1000
# Integers have different hashes up to this one.
MAX_PLAIN_INTEGER = 2**60
# Uses of a tuple that is stored once, in values for each opcode of the pickle.
REUSE_PER_VALUE, FREE_REUSE = 16, 1000


class PlainUnpickler(pickle.Unpickler):
    """Accepts numbers, strings and containers of them, but no class or function.

    A pickle that uses a value many times can cause work that its size does not bound:
    `budget` is how many items functions of a subclass may still copy.
    """

    needs = "no plain value"

    def __init__(self, file):
        super().__init__(file)
        self._file = file
        self.budget = 0

    def load(self):
        """Loads the next pickle of the file, which must be able to seek."""
        start = self._file.tell()
        self.budget += REUSE_PER_VALUE * _check_opcodes(self._file) + FREE_REUSE
        self._file.seek(start)
        return super().load()

    def spend(self, count):
        """Subtracts from the budget; raises an error when it is exhausted."""
        self.budget -= count
        if self.budget < 0:
            raise pickle.UnpicklingError("it copies its values too often")

    def find_class(self, module, name):
        """Refuses every global name."""
        raise pickle.UnpicklingError(
            f"it asks for {module:.80}.{name:.80}, which {self.needs} needs; no code "
            "of it was executed"
        )


def _check_opcodes(file):
    """Refuses a pickle that takes much more time or memory than its size suggests.

    The pickle is not executed. The stack holds, for each value, how many values a hash
    of it visits: 1, or for a tuple the sum of its items and 1. Such sums grow without
    bound if a tuple holds another one several times. Also, `pickle` reserves memory up
    to the largest number of a stored value; a program that writes a pickle counts.
    Returns the number of opcodes.
    """
    stack, marks, memo, reused, compound, count = [], [], {}, 0, 0, 0
    for count, (opcode, argument, _) in enumerate(pickletools.genops(file), start=1):
        name = opcode.name
        if name in PUTS:
            if argument >= count:
                raise pickle.UnpicklingError(
                    f"value {count - 1} has the number {argument}"
                )
            memo[argument] = stack[-1]
        elif name == "MEMOIZE":
            memo[len(memo)] = stack[-1]
        elif name in GETS or name == "DUP":
            stack.append(stack[-1] if name == "DUP" else memo[argument])
            reused += stack[-1] - 1
        elif name == "MARK":
            marks.append(len(stack))
        elif name not in FREE_OPCODES:
            items = _take(opcode, stack, marks) if opcode.stack_before else []
            if name in KEYED:
                keys = items if name in SETS else items[name != "DICT" :: 2]
                compound += sum(weight > 1 for weight in keys)
            if name in TUPLES:
                stack.append(1 + sum(items))
            elif opcode.stack_after:
                large = isinstance(argument, int) and abs(argument) > MAX_PLAIN_INTEGER
                stack.append(1 + large)
        most = REUSE_PER_VALUE * count + FREE_REUSE
        if reused > most or compound > MAX_COMPOUND_KEYS:
            raise pickle.UnpicklingError(
                "its tuples hold each other too often, or too many of them are keys"
            )
    return count


def _take(opcode, stack, marks):
    """Removes what an opcode takes from the stack; returns the weights of it."""
    if opcode.name == "POP" and marks and marks[-1] == len(stack):
        marks.pop()
        return []
    taken = opcode.stack_before
    begin = len(stack) - len(taken)
    if pickletools.markobject in taken:
        begin = marks.pop() - taken.index(pickletools.markobject)
    items = stack[begin:]
    del stack[begin:]
    return items


def load(unpickler):
    """Loads a pickle, and raises one ValueError for all errors."""
    try:
        return unpickler.load()
    except UNPICKLE_ERRORS as error:
        reason = str(error)[:300] or type(error).__name__
        raise ValueError(f"its pickle was refused: {reason}") from error


def read_strings(path):
    """Reads a pickled list of strings, such as fastai's vocabularies; executes no code.

    FileNotFoundError if there is no such file; ValueError if it is damaged, asks for a
    class or a function, or holds anything else.
    """
    path = local_path(path)
    if not path.is_file():
        raise FileNotFoundError(f"There is no pickle at `{path}`. Check the path.")
    rule = f"`{path}` must hold a pickled list of str"
    advice = "Save the list alone: `pickle.dump(list(vocabulary), file)`."
    try:
        values = load(PlainUnpickler(io.BytesIO(path.read_bytes())))
    except ValueError as error:
        raise ValueError(f"{rule}. Received: {error}. {advice}") from error
    if not isinstance(values, list) or not all(isinstance(v, str) for v in values):
        raise ValueError(f"{rule}. Received: {reprlib.repr(values)}. {advice}")
    return values


def write_strings(path, strings):
    """Writes a pickled list of strings, completely or not at all."""
    with replacing(path) as partial:
        partial.write_bytes(pickle.dumps([*strings], protocol=2))
