"""Checks of numbers that count something: rows, tokens, steps, epochs."""

import operator


def whole_number(value, name, least=None, way=""):
    """An integer, checked.

    Args:
        value: any value. The integers of NumPy are integers, booleans are not.
        name: str, of the argument.
        least: int, the smallest value, or None for any.
        way: str, what to use instead, for the message.

    Returns:
        int.

    Raises:
        ValueError: if it is not an integer, or too small.
    """
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None or least is not None and number < least:
        bound = "" if least is None else f" of at least {least}"
        message = f"`{name}` must be an integer{bound}. Received: {value!r:.60}. {way}"
        raise ValueError(message.strip())
    return number
