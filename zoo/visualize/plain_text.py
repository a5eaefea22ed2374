"""Texts as they are shown: on one line, and without control characters."""

import unicodedata


def printable(text, limit=None):
    """A text on one line without control characters.

    Args:
        text: str.
        limit: int, the largest number of characters, or None.

    Returns:
        str. A text that is longer than `limit` ends with the number of its characters.
    """
    size = len(text)
    if limit is not None and size > limit:
        text = text[:limit]
    text = "".join(map(_visible, text))
    shortened = limit is not None and size > limit
    return f"{text}… ({size:,} characters)" if shortened else text


def _visible(character):
    category = unicodedata.category(character)
    if category in ("Zl", "Zp") or category == "Cc" and character.isspace():
        return " "
    # Control characters, halves of a surrogate pair, which UTF-8 cannot encode, and the
    # two others that XML forbids.
    bad = category in ("Cc", "Cs") or character in "\ufffe\uffff"
    return "\ufffd" if bad else character
