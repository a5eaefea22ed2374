"""Configs from plain values."""

import dataclasses
import difflib


def check_fields(name, config_class, values):
    """Raises if `values` holds a key that is no field of `config_class`.

    Args:
        name: str, what to call the thing in the message.
        config_class: a dataclass.
        values: iterable of str.

    Raises:
        ValueError: naming the unknown key and the field nearest to it.
    """
    known = [field.name for field in dataclasses.fields(config_class)]
    for key in values:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1, cutoff=0.0)
            raise ValueError(
                f"Unknown option of {name}. Received: {key!r}. Did you mean "
                f"{near[0]!r}? It takes {', '.join(known)}."
            )
