"""Splits words as spaCy's English tokenizer does, inside the TensorFlow graph."""

import functools

import tensorflow as tf

from zoo.text.html_entities import on_rows, substitute
from zoo.text.spacy_characters import (
    COMMA_GROUPS,
    ELLIPSIS,
    INFIX_GROUPS,
    PREFIX_GROUPS,
    patterns,
)
from zoo.text.spacy_exceptions import exceptions

_LETTERS = "[A-Za-z]+"


class EnglishSplitter(tf.Module):
    """Splits spans between white space into tokens.

    In rounds, a prefix and a suffix are taken from each span, until there is none, or
    the rest is an exception. A rest that is an exception has the tokens of that
    exception, and a rest that is a URL is a token. Any other rest is split at the marks
    inside it. Last, neighbouring tokens that are together an exception are replaced.

    Source: spaCy 3.8, `Tokenizer` with the rules of `spacy.blank("en")`; see
    `spacy_characters` and `spacy_exceptions` for the rules. Two differences: the last
    label of a domain may have more than 63 letters, and where exceptions overlap in
    the last step, the first one is used instead of the longest one. The second occurs
    in rows of emoticons, such as ":-):)".

    Args:
        cased: bool, whether spans have capitals.
    """

    def __init__(self, cased=False):
        super().__init__()
        self._cased = cased
        self._tokens = _table(exceptions(cased))
        self._joined = _table(_phrases(cased))

    def split(self, spans):
        """Splits spans.

        Args:
            spans: string (N,), valid UTF-8, without white space; in lower case unless
                the splitter is `cased`.

        Returns:
            tf.RaggedTensor string (N, None) of tokens.
        """
        known = self._tokens.lookup(spans)
        letters = tf.strings.regex_full_match(spans, _LETTERS)
        spans = tf.where(known == "", spans, known)
        hard = (known == "") & ~letters
        return tf.strings.split(on_rows(spans, hard, self._split_hard))

    def _split_hard(self, spans):
        tokens = _separate(spans, patterns(self._cased), self._tokens)
        found = tf.strings.regex_full_match(
            tokens, f".*{_phrase_pattern(self._cased)}.*"
        )
        return on_rows(tokens, found, self._join_phrases)

    def _join_phrases(self, tokens):
        def replace(parts):
            found = self._joined.lookup(parts)
            return tf.where(found == "", parts, found)

        return substitute(tokens, _phrase_pattern(self._cased), replace)


def _separate(spans, rules, table=None):
    """Returns the tokens of spans, each one between two spaces, string (N,)."""
    places = tf.range(tf.size(spans))
    empty = tf.fill(tf.shape(spans), "")
    state = places, spans, spans, empty, empty

    def step(places, active, rests, left, right):
        rest, prefix, suffix, more = _strip(active, rules, table)
        at = places[:, None]
        left_part = tf.strings.join([tf.gather(left, places), " ", prefix])
        right_part = tf.strings.join([suffix, " ", tf.gather(right, places)])
        rests = tf.tensor_scatter_nd_update(rests, at, rest)
        left = tf.tensor_scatter_nd_update(left, at, left_part)
        right = tf.tensor_scatter_nd_update(right, at, right_part)
        kept = tf.where(more)[:, 0]
        return tf.gather(places, kept), tf.gather(rest, kept), rests, left, right

    shapes = (tf.TensorShape([None]),) * 5
    *_, rests, left, right = tf.while_loop(
        lambda places, *_: tf.size(places) > 0, step, state, shapes
    )
    parts = [left, _split_inside(rests, rules, table), right]
    tokens = tf.strings.join(["", *parts, ""], " ")
    return tf.strings.regex_replace(tokens, " +", "  ")


def _strip(spans, rules, table):
    """Takes a prefix and a suffix from spans.

    Returns:
        rest, prefix, suffix: string (N,).
        more: boolean (N,), whether there may be further prefixes and suffixes.
    """
    rest = tf.strings.regex_replace(spans, rules.prefix, PREFIX_GROUPS, False)
    head = tf.strings.regex_replace(rest, rules.suffix, rules.suffix_groups, False)
    length = tf.strings.length(spans)
    prefix_length = length - tf.strings.length(rest)
    suffix_length = tf.strings.length(rest) - tf.strings.length(head)
    start = tf.zeros_like(length)
    body = tf.strings.substr(spans, start, length - suffix_length)
    # An exception ends the rounds. Only what precedes or follows it is taken.
    whole = _is_known(spans, table)
    last = ~whole & (prefix_length > 0) & _is_known(rest, table)
    first = ~whole & ~last & (suffix_length > 0) & _is_known(body, table)
    prefix_length = tf.where(whole | first, 0, prefix_length)
    suffix_length = tf.where(whole | last, 0, suffix_length)
    rest = tf.where(last, rest, tf.where(first, body, tf.where(whole, spans, head)))
    prefix = tf.strings.substr(spans, start, prefix_length)
    suffix = tf.strings.substr(spans, length - suffix_length, suffix_length)
    more = (prefix_length + suffix_length > 0) & (rest != "")
    return rest, prefix, suffix, more & ~whole & ~first & ~last


def _is_known(spans, table):
    return tf.zeros_like(spans, tf.bool) if table is None else table.lookup(spans) != ""


def _split_inside(rests, rules, table):
    """Splits rests without prefixes and suffixes, string (N,)."""
    known = tf.fill(tf.shape(rests), "") if table is None else table.lookup(rests)
    plain = tf.strings.regex_full_match(rests, f"{_LETTERS}|")
    rests = tf.where(known == "", rests, known)
    hard = (known == "") & ~plain
    return on_rows(rests, hard, lambda part: _split_infixes(part, rules))


def _split_infixes(rests, rules):
    found = tf.strings.regex_full_match(rests, r"(?s).+\..+")
    found = on_rows(rests, found, lambda part: _mark(part, rules.url))
    split = tf.strings.regex_replace(rests, ELLIPSIS, r" \1 ")
    # A neighbour of a mark may be the neighbour of the next mark, too.
    for _ in range(2):
        for pattern, groups in (
            (rules.infix, INFIX_GROUPS),
            (rules.comma, COMMA_GROUPS),
        ):
            split = tf.strings.regex_replace(split, pattern, groups)
    return tf.where(found == "", rests, split)


def _mark(rests, pattern):
    """Returns "" for the rests that match."""
    return tf.where(tf.strings.regex_full_match(rests, pattern), "", rests)


@functools.cache
def _phrases(cased):
    """Returns the exceptions of several tokens, as `_separate` writes them."""
    words = [*exceptions(cased)]
    with tf.init_scope(), tf.device("CPU:0"):
        apart = _separate(tf.constant(words), patterns(cased)).numpy().tolist()
    phrases = {}
    for word, tokens in zip(words, apart, strict=True):
        spaced = f"  {exceptions(cased)[word]}  ".replace(" ", "  ")
        tokens = tokens.decode()
        # An exception that changes nothing still takes precedence over shorter ones.
        if len(tokens.split()) > 1:
            phrases[f" {'  '.join(tokens.split())} "] = f" {'  '.join(spaced.split())} "
    return phrases


@functools.cache
def _phrase_pattern(cased):
    phrases = sorted(_phrases(cased), key=lambda phrase: -len(phrase.split()))
    return f"(?:{'|'.join(map(_escape, phrases))})"


def _escape(text):
    return "".join(c if c.isalnum() or c == " " else rf"\x{{{ord(c):x}}}" for c in text)


def _table(entries):
    """Makes a table of str to str; other keys have the value ""."""
    with tf.init_scope(), tf.device("CPU:0"):
        initializer = tf.lookup.KeyValueTensorInitializer(
            tf.constant([*entries]), tf.constant([*entries.values()])
        )
        return tf.lookup.StaticHashTable(initializer, "")
