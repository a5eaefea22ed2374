"""Cleans texts as GPT-1 does, inside the TensorFlow graph.

Two steps come before the words are split:

1. `ftfy.fix_text` repairs texts, see `_repair`. Most English texts do not need it.
2. `text_standardize` sets marks apart, and leaves single spaces and line breaks.
"""

import functools
import html
import html.entities
import re
import unicodedata

import tensorflow as tf
import tensorflow_text as tf_text

from zoo.text.english.html_entities import (
    WINDOWS,
    on_rows,
    string_table,
    substitute,
    unescape,
)
from zoo.text.wordpieces.double_array import normalizer_buffer

# Characters that the first step never changes.
PLAIN = r"[\t\n\f -%'-~]*"
ENTITY = "&#?[0-9A-Za-z]{1,24};"
NUMBER = "&#(?:[0-9]{1,24}|[xX][0-9A-Fa-f]{1,23});"
TERMINAL_ESCAPE = r"\x1b\[[\p{Nd};]*[a-zA-Z]"
CONTROLS = r"[\x00-\x08\x0b\x0e-\x1f\x7f\x{206a}-\x{206f}\x{feff}\x{fff9}-\x{fffc}]"
# White space outside of ASCII that the first step leaves.
WIDE_SPACES = r"[\x{a0}\x{1680}\x{2000}-\x{200a}\x{202f}\x{205f}]"
STANDARD = (("[–—―]", "-"), ("…", "..."), ("´", "'"), (WIDE_SPACES, " "))
MARKS = r'-+|~+|!+|"+|;+|\?+|\++|,+|\)+|\(+|/+|\*+|\[+|\]+|}+|{+|\|+|_+'
# All line breaks. Several in succession are joined later.
LINE_BREAKS = dict.fromkeys((0x85, 0x0D, 0x2028, 0x2029), "\n")
LIGATURES = "ĲĳŉǄǅǆǇǈǉǊǋǌǱǲǳﬀﬁﬂﬃﬄﬆ"


def clean(texts, normalizer, entities):
    """Applies both steps to texts (B,): words with single spaces between them."""
    # Radford et al. 2018, `text_utils.py` of the released code; ftfy 6.3.1, `fix_text`
    # with `fix_encoding=False`. A line break is a word, too. A backslash is not set
    # apart: the pattern of the released code is not a raw string. The tokenizers of
    # Hugging Face set it apart.
    texts = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8")
    hard = ~tf.strings.regex_full_match(texts, PLAIN)
    texts = on_rows(texts, hard, lambda part: _repair(part, normalizer, entities))
    texts = tf.strings.regex_replace(texts, MARKS, r" \0 ")
    texts = tf.strings.regex_replace(texts, r"\s*\n\s*", " \n ")
    texts = tf.strings.regex_replace(texts, r"[\t\f ][\t\f ]+|[\t\f]", " ")
    return tf.strings.strip(texts)


def entity_table():
    """The table from HTML entities, such as "&eacute;", to characters."""
    named = {n: c for n, c in html.entities.html5.items() if n[-1] == ";"}
    # ftfy also knows names in capitals, if they have no meaning of their own.
    capitals = {name.upper(): c.upper() for name, c in named.items() if name.islower()}
    kept = (name for name in capitals if html.unescape(f"&{name}") == f"&{name}")
    named |= {name: capitals[name] for name in kept}
    named = {name: c for name, c in named.items() if re.fullmatch(ENTITY, f"&{name}")}
    return string_table({f"&{name}": character for name, character in named.items()})


def character_normalizer():
    """Returns the op that applies all rules of ftfy about single characters."""
    with tf.init_scope(), tf.device("CPU:0"):
        model = tf.constant(_buffer())
        return tf_text.FastBertNormalizer(model_buffer=model)


@functools.cache
def _buffer():
    """The model of `FastBertNormalizer`."""
    # What one rule makes is subject to the next one, see `ŉ` and the apostrophe.
    rules = (WINDOWS, _ligatures(), _widths(), _quotes(), LINE_BREAKS)
    changed = {code for rule in rules for code in rule}
    written = {}
    for code in changed:
        text = chr(code)
        for rule in rules:
            text = text.translate(rule)
        written[code] = text
    return normalizer_buffer(sorted(written.items()))


def _ligatures():
    """Latin letters that are one character."""
    made = {ord(c): unicodedata.normalize("NFKC", c) for c in LIGATURES}
    return made | {ord("ﬅ"): "ſt"}


def _widths():
    """Characters of full and of half width."""
    codes = (0x3000, *range(0xFF01, 0xFFF0))
    return {code: unicodedata.normalize("NFKC", chr(code)) for code in codes}


def _quotes():
    """Curly quotes."""
    single = dict.fromkeys((0x2BC, *range(0x2018, 0x201C)), "'")
    return single | dict.fromkeys(range(0x201C, 0x2020), '"')


def _repair(texts, normalizer, entities):
    """Applies ftfy's rules until nothing changes, and replaces dashes and spaces."""
    # HTML entities are replaced before the first line that has a "<".
    # Some operations truncate texts at the character 0. All controls are removed alike.
    texts = tf.strings.regex_replace(texts, r"\x00", "\x01")
    head = tf.strings.regex_replace(texts, r"(?s)[^\n]*<.*", "", replace_global=False)
    length = tf.strings.length(head)
    tail = tf.strings.substr(texts, length, tf.strings.length(texts) - length)
    parts = tf.concat([head, tail], axis=0)
    escaped = tf.range(tf.size(parts)) < tf.size(head)

    def step(places, parts):
        old = tf.gather(parts, places)
        flags = tf.gather(escaped, places)
        new = _repair_once(old, flags, normalizer, entities)
        parts = tf.tensor_scatter_nd_update(parts, places[:, None], new)
        more = (old != new) & ~tf.strings.regex_full_match(new, PLAIN)
        return tf.boolean_mask(places, more), parts

    free = tf.TensorShape([None])
    state = tf.where(~tf.strings.regex_full_match(parts, PLAIN))[:, 0], parts
    _, parts = tf.while_loop(
        lambda places, _: tf.size(places) > 0, step, state, (free, free)
    )
    texts = tf.strings.join([parts[: tf.size(head)], parts[tf.size(head) :]])
    for pattern, replacement in STANDARD:
        texts = tf.strings.regex_replace(texts, pattern, replacement)
    return texts


def _repair_once(texts, escaped, normalizer, entities):
    """Applies each rule once; HTML entities are replaced in the rows `escaped`."""
    found = escaped & tf.strings.regex_full_match(texts, f"(?s).*{ENTITY}.*")
    texts = on_rows(
        texts, found, lambda part: substitute(part, ENTITY, _characters(entities))
    )
    texts = normalizer.normalize(texts)
    found = tf.strings.regex_full_match(texts, r"(?s).*\x1b.*")
    texts = on_rows(
        texts, found, lambda part: tf.strings.regex_replace(part, TERMINAL_ESCAPE, "")
    )
    texts = tf.strings.regex_replace(texts, CONTROLS, "")
    return tf_text.normalize_utf8(texts, "NFC")


def _characters(entities):
    """The function that returns the characters of entities, for `substitute`."""

    def numbered(parts):
        found = unescape(parts, entities)
        # ftfy does not replace an entity by a semicolon.
        return tf.where(found == ";", parts, found)

    def replace(parts):
        named = entities.lookup(parts)
        parts = tf.where(named == "", parts, named)
        return on_rows(parts, tf.strings.regex_full_match(parts, NUMBER), numbered)

    return replace
