"""Texts at which a generated text ends, found inside the graph.

They are given as two expressions of RE2, from `stop_patterns`, each a str or a string
scalar of a graph that serves all of them.
"""

import tensorflow as tf


def stop_patterns(stops):
    """Expressions for a stop text, and for the beginning of one; "" for no stop texts.

    Args:
        stops: tuple of str.

    Returns:
        two str.
    """
    parts = {stop[:length] for stop in stops for length in range(1, len(stop))}
    return _any(stops), _any(sorted(parts))


def has_stop(texts, patterns):
    """Whether texts have one of the stop texts in them, bool (B,).

    Args:
        texts: string (B,).
        patterns: see the module.
    """
    pattern = _join("(?s).*", patterns[0], ".*")
    return tf.strings.regex_full_match(texts, pattern)


def trim_at_stop(texts, patterns):
    """What stands before the first stop text, string (B,)."""
    pattern = _join("(?s)", patterns[0], ".*")
    return tf.strings.regex_replace(texts, pattern, "", False)


def trim_partial_stop(texts, patterns):
    """Texts without an end that may become a stop text, string (B,)."""
    # Without such an end, the expression matches the empty end.
    pattern = _join("(?:", patterns[1], r")\z")
    return tf.strings.regex_replace(texts, pattern, "", False)


def _join(*parts):
    """One expression of several, a str if none of them is a tensor."""
    plain = all(isinstance(part, str) for part in parts)
    return "".join(parts) if plain else tf.strings.join(parts)


def _any(texts):
    """An expression that matches one of some texts."""
    return f"(?:{'|'.join(map(_escape, texts))})" if texts else ""


def _escape(text):
    """An expression that matches a text."""
    return "".join(rf"\x{{{ord(character):x}}}" for character in text)
