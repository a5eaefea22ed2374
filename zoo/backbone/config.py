"""Plain values, such as those of a JSON file, checked before a model is built."""

import contextlib
import dataclasses
import difflib
import inspect
import reprlib

from zoo.checks.ranges import WORDS, annotations, describe, fits, plain_value

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


@contextlib.contextmanager
def naming(what, path="", errors=ERRORS):
    """Turns errors into a ValueError that names `what`, unless it names `path`."""
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


def check_heads(config):
    """Raises ValueError unless the heads of an attention divide the width."""
    if config.hidden_dim % config.num_heads:
        raise ValueError(
            "`num_heads` must divide `hidden_dim`. Received: "
            f"num_heads={config.num_heads}, hidden_dim={config.hidden_dim}."
        )


def check_options(function, options, where, most=LARGEST_OPTION):
    """Checks saved arguments by the types of their defaults, and numbers by `most`."""
    known = inspect.signature(function).parameters
    check_labels(options.get("labels"), where, most)
    for name, value in options.items():
        kind = type(known[name].default) if name in known else None
        if name in ("labels", "name") or value is None:
            continue
        if name == "sequence_length":
            kind = int
        if kind in (bool, int, float, str) and not fits(value, kind):
            raise ValueError(
                f"`{name}` in {where} must be {WORDS[kind]}. Received: "
                f"{reprlib.repr(value)}."
            )
        if type(value) is int and abs(value) > most:
            raise ValueError(
                f"`{name}` in {where} must be at most {most}. Received: {value}."
            )


def check_labels(labels, where, most=LARGEST_OPTION):
    """Checks saved labels: different strings or their number, at most `most`."""
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
    """A config of plain values; `names` are those of fields in the file `where`."""
    if not isinstance(values, dict):
        raise ValueError(
            f"{where} must be an object. Received: {reprlib.repr(values)}."
        )
    values = check_fields(where, config_class, values, names)
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


def check_fields(where, config_class, values, names=None):
    """The values of some fields of a config, checked, without NumPy's types."""
    known, kinds = dataclasses.fields(config_class), annotations(config_class)
    known = [field.name for field in known]
    with naming(where):
        values = plain_value(values)
    for key, value in values.items():
        if key not in known:
            near = difflib.get_close_matches(str(key)[:80], known, n=1, cutoff=0.0)
            raise ValueError(
                f"Unknown option of {where}. Received: {reprlib.repr(key)}. Did you "
                f"mean {near[0]!r}? It takes {', '.join(known)}."
            )
        if not fits(value, kinds[key]):
            called = (names or {}).get(key, key)
            raise ValueError(
                f"`{called}` of {where} must be {describe(kinds[key])}. Received: "
                f"{reprlib.repr(value)}."
            )
    return values
