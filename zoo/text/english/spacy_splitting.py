"""Splits words as spaCy's English tokenizer does, inside the TensorFlow graph."""

import functools

import tensorflow as tf

from zoo.ragged_rows import join, keep, row_ids, shifted
from zoo.text.english.html_entities import on_rows, string_table
from zoo.text.english.spacy_rules import (
    COMMA_GROUPS,
    ELLIPSIS,
    INFIX_GROUPS,
    PREFIX_GROUPS,
    exceptions,
    patterns,
)

_LETTERS = "[A-Za-z]+"


class EnglishSplitter(tf.Module):
    """Splits spans between white space into tokens.

    In rounds, a prefix and a suffix are taken from each span, until there is none, or
    the rest is an exception. A rest that is an exception has the tokens of that
    exception, and a rest that is a URL is a token. Any other rest is split at the marks
    inside it. Last, neighbouring tokens that are together an exception are replaced.

    Source: spaCy 3.8, `Tokenizer` with the rules of `spacy.blank("en")`. One
    difference: the last label of a domain may have more than 63 letters. In the last
    step, spaCy ignores spaces: in "a'' ''b", it joins the first two apostrophes only.
    `split_texts` does the same; `split` does not look beyond a span.

    Args:
        cased: bool, whether spans have capitals.
    """

    def __init__(self, cased=False):
        super().__init__()
        self._cased = cased
        self._tokens = string_table(exceptions(cased))
        self._joined = string_table(_phrases(cased))

    def split(self, spans):
        """Splits spans (N,) without white space into tokens, ragged (N, None)."""
        return tf.strings.split(self._join(self._apart(spans)))

    def split_texts(self, spans):
        """Splits spans, ragged (B, None), with regard to those beside them.

        A span may also be white space of ASCII, and is a token then. Returns tokens,
        ragged (N, None), and the number int32 (B, None) of the row of `tokens` of each
        span.
        """
        distinct, number = tf.unique(spans.values)
        space = tf.strings.regex_full_match(distinct, r"\s+")
        apart = self._apart(tf.where(space, "", distinct))
        joined = self._join(apart)
        tokens = _tokens(joined, distinct, space)
        # Texts without a joined span do not need the spans beside them.
        changed = tf.gather(apart != joined, number)

        def across():
            rows = row_ids(spans)
            found = tf.math.segment_max(tf.cast(changed, tf.int32), rows)
            places = tf.where(tf.gather(found, rows) > 0)[:, 0]
            parts = _tokens(apart, distinct, space)
            parts = tf.gather(parts, tf.gather(number, places))
            owner = row_ids(parts)
            texts = tf.gather(tf.gather(rows, places), owner)
            parts = parts.with_values(self._replace(parts.values, texts, owner))
            parts = parts.with_values(tf.strings.split(parts.values)).merge_dims(1, 2)
            kept = tf.gather(changed, places)
            new = tf.boolean_mask(places, kept)
            fresh = tf.size(distinct) + tf.range(tf.size(new))
            numbers = tf.tensor_scatter_nd_update(number, new[:, None], fresh)
            return tf.gather(parts, tf.where(kept)[:, 0]), numbers

        extra, number = tf.cond(
            tf.reduce_any(changed), across, lambda: (tokens[:0], number)
        )
        return tf.concat([tokens, extra], axis=0), spans.with_values(number)

    def _apart(self, spans):
        """The tokens of spans before the last step, between spaces, string (N,)."""
        known = self._tokens.lookup(spans)
        letters = tf.strings.regex_full_match(spans, _LETTERS)
        spans = tf.where(known == "", spans, known)
        hard = (known == "") & ~letters
        rules = patterns(self._cased)
        return on_rows(spans, hard, lambda part: _separate(part, rules, self._tokens))

    def _join(self, tokens):
        """Replaces the exceptions among the tokens of each span, string (N,)."""
        pattern = f".*{_phrase_pattern(self._cased)}.*"

        def replace(tokens):
            parts = tf.strings.split(tokens)
            spans = row_ids(parts)
            parts = parts.with_values(self._replace(parts.values, spans, spans))
            return join(parts, " ")

        return on_rows(tokens, tf.strings.regex_full_match(tokens, pattern), replace)

    def _replace(self, tokens, texts, spans):
        """Replaces exceptions among tokens (T,) by their tokens between spaces."""
        # Longer exceptions come first, then earlier ones. An exception is not replaced
        # if it begins or ends in one that comes before it, even if that one is not
        # replaced itself, or has spaces in it.
        written, seen = tokens, tf.zeros_like(tokens, tf.bool)
        for length in _phrase_lengths(self._cased):
            parts = [shifted(tokens, -i) for i in range(length)]
            found = self._joined.lookup(
                tf.strings.join([" ", tf.strings.join(parts, "  "), " "])
            )
            last = shifted(texts + 1, 1 - length), shifted(spans + 1, 1 - length)
            match = (found != "") & (texts + 1 == last[0])
            earlier = _spread(match, length)
            used = match & ~earlier & ~seen & ~shifted(seen, 1 - length)
            used &= spans + 1 == last[1]
            written = tf.where(used, found, written)
            written = tf.where(_spread(used, length), "", written)
            seen |= match | earlier
        return written


def _tokens(written, spans, space):
    """Splits tokens between spaces; white space is a token, ragged string (N, None)."""
    tokens = tf.concat(
        [tf.where(space, spans, "")[:, None], tf.strings.split(written)], 1
    )
    return keep(tokens, tokens.values != "")


def _spread(starts, length):
    """Whether one of the `length` - 1 values before each one is true."""
    before = [shifted(starts, i) for i in range(1, length)]
    return functools.reduce(tf.logical_or, before)


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
    """The rest, prefix and suffix of spans (N,), and whether there may be more."""
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
    def without_urls(part):
        return tf.where(tf.strings.regex_full_match(part, rules.url), "", part)

    found = tf.strings.regex_full_match(rests, r"(?s).+\..+")
    found = on_rows(rests, found, without_urls)
    split = tf.strings.regex_replace(rests, ELLIPSIS, r" \1 ")
    # A neighbour of a mark may be the neighbour of the next mark, too.
    for _ in range(2):
        for pattern, groups in (
            (rules.infix, INFIX_GROUPS),
            (rules.comma, COMMA_GROUPS),
        ):
            split = tf.strings.regex_replace(split, pattern, groups)
    return tf.where(found == "", rests, split)


@functools.cache
def _phrases(cased):
    """Returns the exceptions of several tokens, as `_separate` writes them."""
    known = exceptions(cased)
    with tf.init_scope(), tf.device("CPU:0"):
        apart = _separate(tf.constant([*known]), patterns(cased)).numpy().tolist()
    phrases = {}
    for word, tokens in zip(known, apart, strict=True):
        spaced = f"  {known[word]}  ".replace(" ", "  ")
        tokens = tokens.decode()
        # An exception that changes nothing still takes precedence over shorter ones.
        if len(tokens.split()) > 1:
            phrases[f" {'  '.join(tokens.split())} "] = f" {'  '.join(spaced.split())} "
    return phrases


@functools.cache
def _phrase_lengths(cased):
    """The numbers of tokens of exceptions of several tokens, the largest first."""
    return sorted({len(phrase.split()) for phrase in _phrases(cased)}, reverse=True)


@functools.cache
def _phrase_pattern(cased):
    phrases = sorted(_phrases(cased), key=lambda phrase: -len(phrase.split()))
    return f"(?:{'|'.join(map(_escape, phrases))})"


def _escape(text):
    return "".join(c if c.isalnum() or c == " " else rf"\x{{{ord(c):x}}}" for c in text)
