"""Replaces the character references of HTML, inside the TensorFlow graph."""

import functools
import html.entities

import numpy as np
import tensorflow as tf
import tensorflow_text as tf_text

from zoo.ragged_rows import join
from zoo.text.vocabulary import lookup
from zoo.text.words.word_tokenizer import to_lower

REFERENCE = r"&(?:#[0-9]+;?|#[xX][0-9a-fA-F]+;?|[^\t\n\f <&#;]{1,32};?)"
NUMBER = r"&#(?:[0-9]+|[xX][0-9a-fA-F]+);?"
# Names that are also known without a semicolon, such as "&ampx". Longest first.
BARE_NAMES = sorted((n for n in html.entities.html5 if n[-1] != ";"), key=len)[::-1]
MAX_CODE, REPLACEMENT, RETURN = 0x10FFFF, 0xFFFD, 0x0D
# The characters of Windows-1252 at the codes of control characters, by these codes.
WINDOWS = {
    code: bytes([code]).decode("cp1252", "ignore") or chr(code)
    for code in range(0x80, 0xA0)
}
MAX_DIGITS = 8  # more significant digits are above `MAX_CODE` in both bases


def substitute(texts, pattern, function):
    """Applies a function to the matches of a pattern, and to the texts between."""
    parts = tf_text.regex_split(texts, pattern, pattern)
    return join(parts.with_values(function(parts.values)))


def on_rows(texts, rows, function):
    """Applies a function of strings to the rows that are true, if there are any."""

    def update():
        places = tf.where(rows)
        changed = function(tf.gather_nd(texts, places))
        return tf.tensor_scatter_nd_update(texts, places, changed)

    return tf.cond(tf.reduce_any(rows), update, lambda: tf.identity(texts))


def lower_case(words):
    """Words (N,) in lower case; only those outside of ASCII take `to_lower`."""
    wide = ~tf.strings.regex_full_match(words, r"[\x00-\x7f]*")
    return on_rows(tf.strings.lower(words), wide, to_lower)


def string_table(entries):
    """A table of str to str; other keys have the value ""."""
    # An object that uses it must have it as an attribute, so that exports include it.
    return lookup(entries, "", entries.values())


def named_references():
    """The table that `unescape` needs, from names to characters."""
    return string_table(html.entities.html5)


def unescape(texts, names):
    """Replaces named and numeric character references by their characters."""

    # HTML Living Standard, section 13.5. Where it leaves a choice, the rules are those
    # of `html.unescape` in Python 3.
    def replace(parts):
        named = tf.strings.regex_full_match(parts, r"(?s)&[^#].*")
        parts = on_rows(parts, named, lambda part: _named(part, names))
        return on_rows(parts, tf.strings.regex_full_match(parts, NUMBER), _numbered)

    found = tf.strings.regex_full_match(texts, rf"(?s).*{REFERENCE}.*")
    return on_rows(texts, found, lambda part: substitute(part, REFERENCE, replace))


def _named(references, table):
    """Returns the characters of references such as &eacute; and &notin."""
    names = tf.strings.regex_replace(references, "^&", "")
    pattern = rf"(?s)^({'|'.join(BARE_NAMES)})(.*)$"
    short = tf.strings.regex_replace(names, pattern, r"\1")
    rest = tf.strings.regex_replace(names, pattern, r"\2")
    known = tf.strings.regex_full_match(names, pattern)
    short = tf.where(known, table.lookup(short) + rest, references)
    whole = table.lookup(names)
    return tf.where(whole == "", short, whole)


def _numbered(references):
    """Returns the characters of references such as &#233; and &#xe9;."""
    hexadecimal = tf.strings.regex_full_match(references, "&#[xX].*")
    digits = tf.strings.regex_replace(references, "^&#[xX]?0*|;$", "")
    count = tf.strings.length(digits)
    padded = tf.strings.substr(
        "0" * MAX_DIGITS + digits, count, tf.fill(tf.shape(count), MAX_DIGITS)
    )
    codes = tf.strings.unicode_decode(padded, "UTF-8").to_tensor(
        shape=(None, MAX_DIGITS)
    )
    values = tf.gather(_digit_values(), codes)
    base = tf.cast(tf.where(hexadecimal, 16, 10), tf.int64)
    powers = base[:, None] ** tf.range(MAX_DIGITS - 1, -1, -1, dtype=tf.int64)
    number = tf.reduce_sum(tf.cast(values, tf.int64) * powers, axis=1)
    large = (count > MAX_DIGITS) | (number > MAX_CODE)
    number = tf.cast(
        tf.where(large, tf.constant(REPLACEMENT, tf.int64), number), "int32"
    )
    replaced = tf.gather(_replacements(), number)
    codes = tf.where(replaced >= 0, replaced, REPLACEMENT)
    characters = tf.strings.unicode_encode(codes[:, None], "UTF-8")
    return tf.where(replaced >= 0, characters, "")


def _digit_values():
    values = np.zeros(128, np.int32)
    for value, digit in enumerate("0123456789abcdef"):
        values[ord(digit)] = values[ord(digit.upper())] = value
    return values


@functools.cache
def _replacements():
    """Returns the code point of each number, int32 (0x110000,); -1 for none."""
    codes = np.arange(MAX_CODE + 1, dtype=np.int32)
    low = codes & 0xFFFF
    invalid = (low >= 0xFFFE) | ((codes >= 0xFDD0) & (codes <= 0xFDEF))
    invalid |= (codes < 0x20) & ~np.isin(codes, (0x9, 0xA, 0xC, RETURN))
    invalid |= codes == 0x7F
    found = np.where(invalid, -1, codes)
    found[(codes >= 0xD800) & (codes <= 0xDFFF)] = REPLACEMENT
    found[0] = REPLACEMENT
    # Old documents give numbers of Windows-1252. Five of them have no character there.
    for code, character in WINDOWS.items():
        found[code] = ord(character)
    return found
