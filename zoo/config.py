"""Plain values, such as those of a JSON file, checked before a model is built."""

import contextlib
import dataclasses
import difflib
import inspect
import json
import reprlib
import types
import typing

LARGEST_INTEGER = 2**31 - 1  # of a field: what TensorFlow's int32 holds
LARGEST_FLOAT = 3.4e38  # of float32; no comparison with NaN holds
DEEPEST = 2  # lists in lists, such as the filters of a convolution
LARGEST_OPTION = 10**7  # of a task, such as its labels, where no weights are known
LONGEST_MESSAGE = 1000
# What code raises on values that describe no model.
ERRORS = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    RecursionError,
)
# How a message calls the types of JSON.
WORDS = {
    bool: "true or false",
    int: f"an integer of at most {LARGEST_INTEGER}",
    float: "a number that is finite in float32",
    str: "a string",
    tuple: "a list of numbers or strings, or of such lists",
    list: "a list of numbers or strings, or of such lists",
    types.NoneType: "null",
}


@contextlib.contextmanager
def naming(what, path="", errors=ERRORS):
    """Turns the errors of damaged values into one that names where they stand.

    Args:
        what: str, such as "`task` of my_preset/preset.json".
        path: the file; an error that names it already is raised as it is.
        errors: tuple of exceptions.

    Raises:
        ValueError: instead of what the block raises.
    """
    try:
        yield
    except errors as error:
        cause = error
        if isinstance(error, TypeError) and isinstance(error.__context__, TypeError):
            cause = error.__context__  # Keras' own message repeats the whole config
        text = str(cause.args[0] if isinstance(cause, KeyError) else cause)
        if isinstance(error, ValueError) and str(path or what) in text:
            raise
        if not isinstance(error, ValueError):
            text = f"{type(error).__name__}: {text}"
        if len(text) > LONGEST_MESSAGE:
            text = f"{text[:LONGEST_MESSAGE]}..."
        raise ValueError(f"{what} cannot be used: {text}") from error


def check_sizes(config, names, least=1):
    """Checks that fields of a config are integers.

    Args:
        config: the config of a family.
        names: iterable of str, fields.
        least: int, 1 or 0.

    Raises:
        ValueError: if one is not an integer, or less than `least`.
    """
    rule = "a positive integer" if least else "0 or a positive integer"
    for name in names:
        value = getattr(config, name)
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise ValueError(f"`{name}` must be {rule}. Received: {value!r}.")


def check_probabilities(config, names):
    """Checks that fields of a config are in [0, 1), as `check_sizes`."""
    for name in names:
        value = getattr(config, name)
        if not isinstance(value, (int, float)) or not 0 <= value < 1:
            raise ValueError(f"`{name}` must be in [0, 1). Received: {value!r}.")


def check_positive(config, names):
    """Checks that fields of a config are positive numbers, as `check_sizes`."""
    for name in names:
        value = getattr(config, name)
        if not isinstance(value, (int, float)) or not value > 0:
            raise ValueError(f"`{name}` must be positive. Received: {value!r}.")


def check_heads(config):
    """Checks that the heads of an attention divide the width, as `check_sizes`."""
    if config.hidden_dim % config.num_heads:
        raise ValueError(
            "`num_heads` must divide `hidden_dim`. Received: "
            f"num_heads={config.num_heads}, hidden_dim={config.hidden_dim}."
        )


def check_options(function, options, where, most=LARGEST_OPTION):
    """Checks saved arguments of a class before they are used.

    An argument must have the type of its default. Without a default, or if that is
    None, any plain value is admitted.

    Args:
        function: the constructor.
        options: dict of name to plain value.
        where: str, what the options stand in, for messages.
        most: int, the largest number that is admitted, and the most labels.

    Raises:
        ValueError: naming the option.
    """
    known = inspect.signature(function).parameters
    check_labels(options.get("labels"), where, most)
    for name, value in options.items():
        kind = type(known[name].default) if name in known else None
        if name in ("labels", "name") or value is None:
            continue
        if name == "sequence_length":
            kind = int
        if kind in (bool, int, float, str) and not _fits(value, kind):
            raise ValueError(
                f"`{name}` in {where} must be {WORDS[kind]}. Received: "
                f"{reprlib.repr(value)}."
            )
        if type(value) is int and abs(value) > most:
            raise ValueError(
                f"`{name}` in {where} must be at most {most}. Received: {value}."
            )


def check_labels(labels, where, most=LARGEST_OPTION):
    """Checks the labels of a saved task: different strings, or their number.

    Raises:
        ValueError: if they are something else, or more than `most`.
    """
    number = labels if type(labels) is int else None
    if isinstance(labels, (list, tuple)):
        words = all(isinstance(label, str) for label in labels)
        number = len(labels) if words and len({*labels}) == len(labels) else None
    if labels is not None and number is None:
        raise ValueError(
            f"`labels` in {where} must be a list of different strings. Received: "
            f"{reprlib.repr(labels)}."
        )
    if number is not None and number > most:
        raise ValueError(
            f"`labels` in {where} must be at most {most}, as many as there are values "
            f"for them. Received: {number} labels."
        )


def make_config(config_class, values, where, names=None):
    """Makes a config of plain values, and checks them.

    Args:
        config_class: a dataclass.
        values: dict of the name of a field to a plain value.
        where: what the values are, for messages, such as the path of a file.
        names: dict of the name of a field to its name in the file, where it differs.

    Returns:
        config_class.

    Raises:
        ValueError: if `values` is not a dict, or a field is unknown, missing, of
            another type or out of its range. The message names `where` and the field.
    """
    if not isinstance(values, dict):
        raise ValueError(
            f"{where} must be an object. Received: {reprlib.repr(values)}."
        )
    check_fields(where, config_class, values)
    hints = typing.get_type_hints(config_class)
    defaults = {f.name: f.default for f in dataclasses.fields(config_class)}
    for name, value in values.items():
        kinds = _kinds(hints[name])
        if not any(_fits(value, kind) for kind in kinds):
            words = " or ".join(WORDS.get(kind, str(kind)) for kind in kinds)
            called = (names or {}).get(name, name)
            raise ValueError(
                f"`{called}` of {where} must be {words}. Received: "
                f"{reprlib.repr(value)}."
            )
        if isinstance(value, (tuple, list)) and not _is_like(value, defaults[name]):
            raise ValueError(
                f"`{name}` of {where} must be a list of the form of "
                f"{json.dumps(defaults[name])}. Received: {reprlib.repr(value)}."
            )
    missing = [
        (names or {}).get(field.name, field.name)
        for field in dataclasses.fields(config_class)
        if field.name not in values
        and field.default is dataclasses.MISSING
        and field.default_factory is dataclasses.MISSING
    ]
    if missing:
        raise ValueError(f"{where} must have {', '.join(missing)}. Received: none.")
    with naming(where):
        return config_class(**values)


def _kinds(hint):
    """The types that an annotation admits, a tuple."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return tuple(k for part in typing.get_args(hint) for k in _kinds(part))
    return (typing.get_origin(hint) or hint,)


def _fits(value, kind, depth=0):
    """Whether a plain value has a type; of a type that JSON lacks, any value does."""
    if kind in (tuple, list):
        return isinstance(value, (tuple, list)) and all(
            _fits(item, kind, depth + 1)
            if isinstance(item, (tuple, list)) and depth + 1 < DEEPEST
            else any(_fits(item, plain) for plain in (int, float, str))
            for item in value
        )
    if kind not in WORDS:
        return True
    if kind is float:
        kind = (int, float)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        return False
    if isinstance(value, int):
        return abs(value) <= LARGEST_INTEGER
    return not isinstance(value, float) or abs(value) <= LARGEST_FLOAT


def _is_like(value, default):
    """Whether the items of a list have the types, and lengths, of a default's items."""
    if not isinstance(default, tuple) or not default:
        return True
    first = default[0]
    if not isinstance(first, tuple):
        return all(_fits(item, type(first)) for item in value)
    return all(
        isinstance(item, (tuple, list))
        and len(item) == len(first)
        and all(_fits(i, type(k)) for i, k in zip(item, first, strict=True))
        for item in value
    )


def check_fields(name, config_class, values):
    """Checks that all keys are fields of a config.

    Args:
        name: str, what to call the values in the message.
        config_class: a dataclass.
        values: iterable of str.

    Raises:
        ValueError: naming the unknown key and the nearest field.
    """
    known = [field.name for field in dataclasses.fields(config_class)]
    for key in values:
        if key not in known:
            near = difflib.get_close_matches(str(key)[:80], known, n=1, cutoff=0.0)
            raise ValueError(
                f"Unknown option of {name}. Received: {reprlib.repr(key)}. Did you "
                f"mean {near[0]!r}? It takes {', '.join(known)}."
            )
