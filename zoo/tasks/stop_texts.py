"""Texts at which a generated text ends, found inside the graph."""

import tensorflow as tf


def has_stop(texts, stops):
    """Whether texts have one of the stop texts in them, bool (B,).

    Args:
        texts: string (B,).
        stops: tuple of str.
    """
    return tf.strings.regex_full_match(texts, rf"(?s).*{_any(stops)}.*")


def before_stop(texts, stops):
    """What stands before the first stop text, string (B,)."""
    return tf.strings.regex_replace(texts, rf"(?s){_any(stops)}.*", "", False)


def without_part_of_stop(texts, stops):
    """Texts without an end that may become a stop text, string (B,)."""
    parts = {stop[:n] for stop in stops for n in range(1, len(stop))}
    if not parts:
        return texts
    return tf.strings.regex_replace(texts, rf"{_any(sorted(parts))}\z", "", False)


def _any(texts):
    """An expression of RE2 that matches one of some texts."""
    return f"(?:{'|'.join(map(_escaped, texts))})"


def _escaped(text):
    """An expression of RE2 that matches a text."""
    return "".join(rf"\x{{{ord(character):x}}}" for character in text)
