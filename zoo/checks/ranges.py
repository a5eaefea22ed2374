"""Types and ranges of values: declared once as annotations, checked in one place."""

import functools
import reprlib
import types
import typing
from collections.abc import Callable
from typing import Annotated, Literal, NamedTuple

LARGEST_INTEGER = 2**31 - 1  # what TensorFlow's int32 holds
LARGEST_FLOAT = 3.4e38  # of float32; no comparison with NaN holds
SMALLEST = 1.2e-38  # of float32; smaller positive numbers become 0
MAX_LAYERS = 1000  # Keras connects no graph that is deeper
MAX_LIST_DEPTH = 2  # lists in lists, such as the filters of a convolution
# How a message calls the types of JSON.
WORDS = {
    bool: "true or false",
    int: f"an integer of at most {LARGEST_INTEGER}",
    float: "a number that is finite in float32",
    str: "a string",
    tuple: "a list of numbers or strings, or of such lists",
    list: "a list of numbers or strings, or of such lists",
    dict: "an object",
    types.NoneType: "None",
}


class Range(NamedTuple):
    """The values of a type that are valid; use it as `Annotated[float, Range(...)]`.

    `words` is what a message calls them, such as "a positive number". `admits` is a
    function of a value of the type to bool, which may also check the type.
    """

    words: str
    admits: Callable = lambda value: True
    checks_type: bool = False


def _integers(least, most):
    """The annotation of the integers of a range."""
    words = f"an integer from {least} to {most}"
    return Annotated[int, Range(words, lambda n: least <= n <= most)]


Size = _integers(1, LARGEST_INTEGER)
Count = _integers(0, LARGEST_INTEGER)
Layers = _integers(1, MAX_LAYERS)
OptionalLayers = _integers(0, MAX_LAYERS)
Number = Annotated[float, Range(WORDS[float])]
Positive = Annotated[
    float, Range("a positive number that is finite in float32", lambda x: x >= SMALLEST)
]
NotNegative = Annotated[
    float, Range("0 or a positive number that is finite in float32", lambda x: x >= 0)
]
Probability = Annotated[float, Range("a number in [0, 1)", lambda x: 0 <= x < 1)]
Share = Annotated[float, Range("a number in (0, 1]", lambda x: 0 < x <= 1)]
Pairs = Annotated[
    tuple[tuple[Size, Size], ...],
    Range(
        f"a list of pairs of positive integers, at most {MAX_LAYERS}",
        lambda pairs: len(pairs) <= MAX_LAYERS,
    ),
]


class CheckedFields:
    """The base of a frozen dataclass that checks its fields by their annotations.

    NumPy's numbers become those of Python, and lists become tuples where the annotation
    is a tuple. ValueError names the first field that has another type or is out of its
    range.
    """

    def __post_init__(self):
        for name, kind in annotations(type(self)).items():
            value = check_value(name, getattr(self, name), kind)
            if isinstance(value, list) and list not in kinds_of(kind):
                value = _tuples(value)
            object.__setattr__(self, name, value)

    @classmethod
    def split(cls, options):
        """An object of those of the options that are fields, and a dict of the rest."""
        fields = annotations(cls)
        rest = {name: value for name, value in options.items() if name not in fields}
        return cls(**{name: options[name] for name in fields if name in options}), rest


@functools.cache
def annotations(checked_class):
    """The annotations of the fields of a class, with ranges, a dict."""
    return typing.get_type_hints(checked_class, include_extras=True)


def check_values(kind, /, **values):
    """Checks arguments of one kind; see `check_value`."""
    for name, value in values.items():
        check_value(name, value, kind)


def check_value(name, value, kind):
    """Checks a value by an annotation, such as `Size | None`.

    Returns:
        The value, in which NumPy's numbers are those of Python.

    Raises:
        ValueError: with `name`, if it has another type or is out of its range.
    """
    value = plain_value(value)
    if not fits(value, kind):
        raise ValueError(
            f"`{name}` must be {describe(kind)}. Received: {reprlib.repr(value)}."
        )
    return value


def check_choice(name, value, choices, way=""):
    """Returns a value that must be one of the choices; `way` ends the message."""
    choices = [*choices]  # a list also takes values that a dict cannot look up
    if value not in choices:
        known = ", ".join(map(repr, choices))
        message = f"`{name}` must be one of {known}. Received: {value!r:.80}. {way}"
        raise ValueError(message.strip())
    return value


def kinds_of(kind):
    """The types that an annotation admits, without their ranges, a tuple."""
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        return tuple(k for part in typing.get_args(kind) for k in kinds_of(part))
    if origin is Annotated:
        return kinds_of(typing.get_args(kind)[0])
    return (origin or kind,)


def describe(kind):
    """What a message calls the values of an annotation, str."""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin is Annotated:
        return parts[1].words
    if origin in (typing.Union, types.UnionType):
        return " or ".join(map(describe, parts))
    if origin is Literal:
        return f"one of {', '.join(map(repr, parts))}"
    if origin is dict:
        return f"{WORDS[dict]} whose values are {describe(parts[1])}"
    if origin in (list, tuple) and (origin is list or parts[-1] is Ellipsis):
        return f"a list whose items are {describe(parts[0])}"
    if origin is tuple:
        return f"a list of {len(parts)} items: {', '.join(map(describe, parts))}"
    return WORDS.get(origin or kind, str(kind))


def fits(value, kind, depth=0):
    """Whether a plain value has the type, and lies in the range, of an annotation.

    Any value has a type that JSON lacks.
    """
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin is Annotated:
        known = parts[1].checks_type or fits(value, parts[0])
        return known and parts[1].admits(value)
    if origin in (typing.Union, types.UnionType):
        return any(fits(value, part) for part in parts)
    if origin is Literal:
        return any(type(value) is type(part) and value == part for part in parts)
    if origin in (list, tuple):
        if not isinstance(value, (list, tuple)):
            return False
        if origin is list or parts[-1] is Ellipsis:
            return all(fits(item, parts[0]) for item in value)
        return len(value) == len(parts) and all(map(fits, value, parts))
    if origin is dict:
        return isinstance(value, dict) and all(
            fits(item, part)
            for pair in value.items()
            for item, part in zip(pair, parts, strict=True)
        )
    if kind in (list, tuple):
        return isinstance(value, (tuple, list)) and all(
            fits(item, tuple, depth + 1)
            if isinstance(item, (tuple, list)) and depth + 1 < MAX_LIST_DEPTH
            else fits(item, int | float | str)
            for item in value
        )
    if kind in (int, float):
        numbers = int if kind is int else (int, float)
        most = LARGEST_INTEGER if kind is int else LARGEST_FLOAT
        known = isinstance(value, numbers) and not isinstance(value, bool)
        return known and abs(value) <= most
    return kind not in WORDS or isinstance(value, kind)


def plain_value(value):
    """A value in which NumPy's numbers and strings are those of Python."""
    if isinstance(value, list):
        return [*map(plain_value, value)]
    if isinstance(value, tuple):
        return tuple(map(plain_value, value))
    if isinstance(value, dict):
        return {plain_value(key): plain_value(item) for key, item in value.items()}
    single = getattr(value, "shape", None) == () and hasattr(value, "item")
    return value.item() if single else value


def _tuples(value):
    """A list and the lists in it, as tuples."""
    return tuple(map(_tuples, value)) if isinstance(value, (list, tuple)) else value
