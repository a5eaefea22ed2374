"""Checks of numbers that count something: rows, tokens, steps, epochs."""

import operator

from zoo.ranges import LARGEST_INTEGER


def whole_number(value, name, least=None, way="", most=LARGEST_INTEGER):
    """An integer, checked.

    Args:
        value: any value. The integers of NumPy are integers, booleans are not.
        name: str, of the argument.
        least: int, the smallest value, or None for any.
        way: str, what to use instead, for the message.
        most: int, the largest value.

    Returns:
        int.

    Raises:
        ValueError: if it is not an integer, too small or too large.
    """
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None or not (least is None or number >= least) or number > most:
        bound = "" if least is None else f" of at least {least}"
        bound += f" and at most {most}" * (number is not None and number > most)
        message = f"`{name}` must be an integer{bound}. Received: {value!r:.60}. {way}"
        raise ValueError(message.strip())
    return number
